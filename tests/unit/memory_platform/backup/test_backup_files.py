"""The file of a backup is read back unchanged, and rejected if it was cut off or changed."""

import resource
from io import BytesIO
from pathlib import Path

import pytest

from memory_platform.backup import files
from memory_platform.backup.files import BackupError, new_private_file, read_backup, write_backup

MANIFEST = {"settings": {"SECRET_KEY": "käse"}}
CHUNK = 64


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", CHUNK)
    monkeypatch.setattr(files, "SCRYPT", {"n": 2, "r": 1, "p": 1})


def written(dump: bytes, passphrase: str = "") -> bytes:
    file = BytesIO()
    write_backup(file, MANIFEST, BytesIO(dump), passphrase=passphrase)
    return file.getvalue()


def read(data: bytes, passphrase: str = "") -> bytes:
    manifest, dump = read_backup(BytesIO(data), passphrase=lambda: passphrase)
    assert manifest == MANIFEST
    return b"".join(iter(lambda: dump.read(7), b""))


@pytest.mark.parametrize("passphrase", ["", "correct horse"])
@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, 3 * CHUNK, 3 * CHUNK + 5])
def test_dump_comes_back(size: int, passphrase: str) -> None:
    dump = bytes(range(256))[:size] * 1
    assert read(written(dump, passphrase), passphrase) == dump


def test_full_disk_leaves_no_file_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "monday.backup"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * CHUNK, hard))
    try:
        with pytest.raises(BackupError, match=r"monday\.backup cannot be written: "), new_private_file(path) as file:
            write_backup(file, MANIFEST, BytesIO(b"x" * 99 * CHUNK))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_file_without_passphrase_is_two_lines_and_the_dump() -> None:
    assert written(b"PGDMP\n...").split(b"\n", 2)[2] == b"PGDMP\n..."


def test_encrypted_file_shows_nothing() -> None:
    data = written(b"memory text " * 50, "correct horse")
    assert b"memory text" not in data
    assert b"SECRET_KEY" not in data


@pytest.mark.parametrize("passphrase", ["", "wrong"])
def test_wrong_passphrase_is_refused(passphrase: str) -> None:
    with pytest.raises(BackupError, match="passphrase is wrong"):
        read(written(b"dump", "correct horse"), passphrase)


def test_every_cut_of_an_encrypted_file_is_noticed() -> None:
    data = written(b"x" * (3 * CHUNK), "p")
    for size in range(data.index(b"\n") + 1, len(data)):
        with pytest.raises(BackupError):
            read(data[:size], "p")


def test_changed_byte_of_an_encrypted_file_is_noticed() -> None:
    data = written(b"x" * (3 * CHUNK), "p")
    for place in range(data.index(b"\n") + 1, len(data)):
        with pytest.raises(BackupError):
            read(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :], "p")


def test_swapped_chunks_are_noticed() -> None:
    data = written(b"x" * (5 * CHUNK), "p")
    start = data.index(b"\n") + 1
    size = CHUNK + files.TAG_BYTES
    first, second = data[start : start + size], data[start + size : start + 2 * size]
    with pytest.raises(BackupError):
        read(data[:start] + second + first + data[start + 2 * size :], "p")


@pytest.mark.parametrize("data", [b"", b"PGDMP", b"[]\n", b'{"format": "other"}\n', b"\xff\xfe"])
def test_another_file_is_refused(data: bytes) -> None:
    with pytest.raises(BackupError, match="not a backup"):
        read(data)


def test_file_appears_when_complete_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a.backup"
    with pytest.raises(TypeError), new_private_file(path) as file:
        file.write("neither half nor whole")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    with new_private_file(path) as file:
        file.write(b"whole")
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BackupError, match="exists"), new_private_file(path):
        pass
