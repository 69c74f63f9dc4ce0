"""Child processes: a clean stop ends them; after an unclean one, the watcher or the next start does."""

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

from memory_platform.embedded.files import StartError, write_private
from memory_platform.embedded.forks import ForkedProcess

CREATE_TIME_TOLERANCE_SECONDS = 2.0
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class ChildProcess:
    """A started process, leader of its own session so that Ctrl-C in the terminal reaches only the supervisor."""

    name: str
    process: subprocess.Popen[bytes] | ForkedProcess
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM
    kill_signal: signal.Signals = signal.SIGKILL

    def is_running(self) -> bool:
        """Whether the process is still running."""
        return self.process.poll() is None


def spawn_process(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: str | None = None,
    stdin: int = subprocess.DEVNULL,
    inherited_fds: Sequence[int] = (),
) -> ChildProcess:
    """Start a command with its output in `log`; `user` is another OS user to run it as (root only)."""
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            pass_fds=inherited_fds,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )
    return ChildProcess(name, process, log)


def wait_until_ready(
    child: ChildProcess, probe: Callable[[], object], *, errors: tuple[type[Exception], ...], timeout_seconds: float
) -> None:
    """Repeat `probe` while it raises one of `errors`. If it never succeeds, end the child and raise `StartError`."""
    deadline = time.monotonic() + timeout_seconds
    try:
        while child.is_running() and time.monotonic() < deadline:
            with suppress(*errors):
                probe()
                return
            time.sleep(POLL_SECONDS)
        raise StartError(f"{child.name} did not start. See the end of {child.log}.")
    except BaseException:
        stop_processes([child], timeout_seconds=1)
        raise


def stop_processes(children: Sequence[ChildProcess], *, timeout_seconds: float) -> None:
    """Send each process its stop signal, wait for all, then kill the process groups of the rest."""
    deadline = time.monotonic() + timeout_seconds
    for child in children:
        if child.is_running():
            child.process.send_signal(child.stop_signal)
    for child in children:
        try:
            child.process.wait(max(0.01, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            signal_group(child.process.pid, child.kill_signal)
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(1)
        # The leader, and remaining processes of its group, such as a worker that ignored its end.
        signal_group(child.process.pid, signal.SIGKILL)
        child.process.wait()


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to a process group, which may have ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


# --- Records: how the watcher and the next start find what a SIGKILL left ------------------------------------------

#: Name, process id, time of its start and command line.
ProcessRecord = dict[str, Any]


def records_file(data_dir: Path) -> Path:
    """Return the file of the running processes; a clean stop deletes it."""
    return data_dir / "run" / "processes.json"


def describe_processes(children: Sequence[ChildProcess]) -> list[ProcessRecord]:
    """Return the data that identifies each process."""
    rows: list[ProcessRecord] = []
    for child in children:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(child.process.pid)
            rows.append(
                {
                    "name": child.name,
                    "pid": process.pid,
                    "created": process.create_time(),
                    "command": _command_line(process),
                }
            )
    return rows


def record_processes(data_dir: Path, rows: Sequence[ProcessRecord]) -> None:
    """Store the list of processes for the next start. Raises `OSError` if the disk is full; the former list stays."""
    write_private(records_file(data_dir), json.dumps(rows))


def _command_line(process: psutil.Process) -> list[str]:
    """Return the command line, which is empty for a moment after the start."""
    deadline = time.monotonic() + 1.0
    while not (command := process.cmdline()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS / 10)
    return list(command)


def stop_recorded_processes(data_dir: Path) -> list[int]:
    """End the recorded processes that are still running; return their ids."""
    try:
        rows = json.loads(records_file(data_dir).read_text())
    except FileNotFoundError:
        return []
    ended = end_processes(rows)
    records_file(data_dir).unlink(missing_ok=True)
    return ended


def end_processes(rows: Sequence[ProcessRecord], *, timeout_seconds: float = 10.0) -> list[int]:
    """End those processes that are still running, except ids that now belong to other programs; return their ids."""
    found = [process for row in rows if (process := _recorded_process(**row))]
    # In reverse order of their start: the web process before the database that it uses.
    for process in reversed(found):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT if process.name() == "postgres" else signal.SIGTERM)
    _, alive = psutil.wait_procs(found, timeout=timeout_seconds)
    for process in alive:
        signal_group(process.pid, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=5)
    return [process.pid for process in found]


def _recorded_process(pid: int, created: float, command: list[str], **_: str) -> psutil.Process | None:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(pid)
        is_same = abs(process.create_time() - created) < CREATE_TIME_TOLERANCE_SECONDS and process.cmdline() == command
        return process if is_same and process.status() != psutil.STATUS_ZOMBIE else None
    return None
