"""A disk that is full: writes are refused and nothing acknowledged is lost; with room again, all goes on by itself."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability.chaos import end
from tests.reliability.platform_under_load import new_key, started
from tests.reliability.test_faults import ask

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk"),
]

#: PostgreSQL, its log of 16 MB files, Redis and the logs of the processes fit in.
DISK_MEGABYTES = 400
RECOVERY_MAX_SECONDS = 120.0
CHUNK = b"\0" * 65536


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk in memory of so many megabytes."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no room there; removing the file gives it back."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(CHUNK)
    return filler


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    folder = tmp_path_factory.mktemp("disk")
    folder.chmod(0o711)
    with small_disk(folder / "small", DISK_MEGABYTES) as disk:
        start = started(disk, WEB_CONCURRENCY="1")
        yield start
        end(start)


def test_full_disk_refuses_writes_and_loses_nothing(running: Start) -> None:
    key = new_key(running)
    kept: list[str] = []

    def write(number: int) -> int:
        body = {"content": f"Box {number} holds {'a lamp, ' * 500}", "source_id": f"box-{number}"}
        status, headers, answer = ask(running, key, "POST", "memories", body)
        if status == 201:
            kept.append(answer["id"])
        else:
            assert (status, bool(headers["Retry-After"])) == (503, True), answer
        return status

    assert write(0) == 201
    filler = fill(running.data_dir)
    statuses = [write(number) for number in range(1, 40)]
    assert 503 in statuses
    assert running.status_of("/healthz") == 200
    filler.unlink()
    deadline = time.monotonic() + RECOVERY_MAX_SECONDS
    while write(1000) != 201:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    found = [ask(running, key, "GET", f"memories/{each}")[0] for each in kept]
    assert found == [200] * len(kept)
