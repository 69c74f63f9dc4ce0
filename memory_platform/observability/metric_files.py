"""The files in which the processes of one machine count; a new process continues those of one that has ended."""

import fcntl
import os
from contextlib import suppress
from itertools import count
from pathlib import Path

#: More than the series of every route, task and step take; a larger file grows without reserved space.
RESERVED_BYTES = {"counter": 256 * 1024, "histogram": 1024 * 1024}


class ProcessNumbers:
    """Numbers processes from 0: each gets the lowest number that no running process has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = self._number = -1

    def own_number(self) -> int:
        """Return the number of this process, also after a fork. Raises `OSError` if no space can be reserved."""
        if self._process != os.getpid():
            self._number, self._process = self._claim(), os.getpid()
        return self._number

    def _claim(self) -> int:
        # The lock of a byte belongs to the process, not to a forked one, and ends with it. The file stays open.
        locks = os.open(self._folder / "numbers.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for number in count():
            with suppress(BlockingIOError, PermissionError):
                fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
                break
        for kind, size in RESERVED_BYTES.items():
            _reserve(self._folder / f"{kind}_{number}.db", size)
        return number


def _reserve(file: Path, size: int) -> None:
    """Allocate the file's space: on a full disk, a write to a mapped file without space ends the process (SIGBUS)."""
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    with file.open("ab") as opened:
        os.posix_fallocate(opened.fileno(), 0, size)
