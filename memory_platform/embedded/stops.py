"""Stop signals: the first one ends the supervisor, but never between the start of a process and its record."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """A stop signal; not an `Exception`, so that no handler mistakes it for a failure."""


class _State:
    is_requested = False
    postponements = 0


def handle_stop_signals() -> None:
    """Make the first stop signal raise `StopRequested` in the main thread.

    A SIGHUP that was ignored when the program started stays ignored: `nohup` asks for that (ADR-0353).
    """
    for number in STOP_SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _request)


def ignore_stop_signals() -> None:
    """From now on, stop signals have no effect."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def raise_if_requested() -> None:
    """Raise `StopRequested` if a signal arrived before; Python ignores what a handler raises in a finaliser."""
    if _State.is_requested:
        ignore_stop_signals()  # the first one is enough: the end must not be interrupted
        raise StopRequested


@contextmanager
def postponed_stop() -> Iterator[None]:
    """Raise `StopRequested` only at the end of the block: a process that starts in it has been recorded by then."""
    _State.postponements += 1
    try:
        yield
    finally:
        _State.postponements -= 1
    if not _State.postponements:
        raise_if_requested()


def _request(_number: int, _frame: FrameType | None) -> None:
    _State.is_requested = True
    if not _State.postponements:
        raise_if_requested()
