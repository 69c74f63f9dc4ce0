"""Child processes that outlive no clean stop and are found again after an unclean one."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from memory_platform.embedded.files import write_private

CREATE_TIME_TOLERANCE_SECONDS = 2.0
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class ChildProcess:
    """A started process, leader of its own session so that Ctrl-C in the terminal reaches the supervisor alone."""

    name: str
    process: subprocess.Popen[bytes]
    stop_signal: signal.Signals = signal.SIGTERM
    kill_signal: signal.Signals = signal.SIGKILL

    def is_running(self) -> bool:
        return self.process.poll() is None


def spawn_process(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: str | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    kill_signal: signal.Signals = signal.SIGKILL,
) -> ChildProcess:
    """Start a command with its output in `log`; `user` is another OS user to run it as (root only)."""
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            start_new_session=True,
            **as_user(user),
        )
    return ChildProcess(name, process, stop_signal, kill_signal)


def wait_until_ready(
    child: ChildProcess, probe: Callable[[], object], *, errors: tuple[type[Exception], ...], patience_seconds: float
) -> bool:
    """Repeat `probe` while it raises one of `errors`; return whether it succeeded before the child or the time ended.

    Stops the child when the wait is interrupted, as by Ctrl-C.
    """
    deadline = time.monotonic() + patience_seconds
    try:
        while child.is_running() and time.monotonic() < deadline:
            with suppress(*errors):
                probe()
                return True
            time.sleep(POLL_SECONDS)
    except BaseException:
        stop_processes([child], patience_seconds=1)
        raise
    stop_processes([child], patience_seconds=1)
    return False


def as_user(user: str | None) -> dict[str, Any]:
    return {"user": user, "group": user, "extra_groups": []} if user else {}


def stop_processes(children: Sequence[ChildProcess], *, patience_seconds: float) -> None:
    """Ask all at once, wait together, then end what is left with its whole process group."""
    deadline = time.monotonic() + patience_seconds
    for child in children:
        if child.is_running():
            child.process.send_signal(child.stop_signal)
    for child in children:
        try:
            child.process.wait(max(0.01, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            signal_group(child.process.pid, child.kill_signal)
    for child in children:
        try:
            child.process.wait(1)
        except subprocess.TimeoutExpired:
            signal_group(child.process.pid, signal.SIGKILL)
            child.process.wait()
        # What the leader left behind in its group, such as a worker that ignored its end.
        signal_group(child.process.pid, signal.SIGKILL)


def signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


# --- Records: how the next start finds what a SIGKILL left ----------------------------------------------------------


def _records_file(data_dir: Path) -> Path:
    return data_dir / "run" / "processes.json"


def record_processes(data_dir: Path, children: Sequence[ChildProcess]) -> None:
    rows = []
    for child in children:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(child.process.pid)
            rows.append({"pid": process.pid, "created": process.create_time(), "command": process.cmdline()})
    write_private(_records_file(data_dir), json.dumps(rows))


def delete_process_record(data_dir: Path) -> None:
    _records_file(data_dir).unlink(missing_ok=True)


def stop_recorded_processes(data_dir: Path, *, patience_seconds: float = 10.0) -> list[int]:
    """End the recorded processes that still run; a process id that now means something else is left alone."""
    try:
        rows = json.loads(_records_file(data_dir).read_text())
    except FileNotFoundError:
        return []
    found = [process for row in rows if (process := _recorded_process(row))]
    # The last started goes first: the web process before the database it uses.
    for process in reversed(found):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT if process.name() == "postgres" else signal.SIGTERM)
    _, alive = psutil.wait_procs(found, timeout=patience_seconds)
    for process in alive:
        signal_group(process.pid, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=5)
    delete_process_record(data_dir)
    return [process.pid for process in found]


def _recorded_process(row: Mapping[str, Any]) -> psutil.Process | None:
    try:
        process = psutil.Process(row["pid"])
        is_same = (
            abs(process.create_time() - row["created"]) < CREATE_TIME_TOLERANCE_SECONDS
            and process.cmdline() == row["command"]
            and process.status() != psutil.STATUS_ZOMBIE
        )
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return process if is_same else None
