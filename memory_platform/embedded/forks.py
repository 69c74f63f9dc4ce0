"""Processes that are forked from the supervisor, which has loaded the application once (ADR-0194)."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memory_platform.embedded.stops import STOP_SIGNALS

POLL_SECONDS = 0.02
_PR_SET_NAME, _M_ARENA_MAX = 15, -8


@dataclass
class ForkedProcess:
    """A child of this process, with the part of the interface of `subprocess.Popen` that the supervisor uses."""

    pid: int
    returncode: int | None = None
    stdin: None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises `subprocess.TimeoutExpired`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to the process if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


def fork(name: str, main: Callable[[], object], *, log: Path) -> ForkedProcess:
    """Run `main` in a child, leader of its own session, with its output in `log`."""
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    sys.stdout.flush()
    sys.stderr.flush()
    # Until the child has its own handlers, a signal would run those of the supervisor in it.
    former = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        pid = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
        raise
    if pid:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)
        except BaseException:  # raised by the handler of a pending signal
            os.kill(pid, signal.SIGKILL)
            raise
        return ForkedProcess(pid)
    code = 1
    try:
        _detach(name, log)
        main()
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        code = 1 if isinstance(end.code, str) else end.code or 0
    except BaseException:  # noqa: BLE001 - nothing of the supervisor may run in its child
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _detach(name: str, log: Path) -> None:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with log.open("ab") as output, Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def limit_memory_arenas() -> None:
    """Use two arenas of the C library: each keeps what its threads took once; by default there are eight per core."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(AttributeError):  # the C library is another one
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
