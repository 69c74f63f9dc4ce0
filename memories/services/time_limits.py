"""A time limit for loops that grow with their input: set by the caller, checked by the loops (ADR-0164)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_is_over: ContextVar[Callable[[], bool] | None] = ContextVar("is_over", default=None)


class TimeIsUpError(Exception):
    """The time limit of the work has been reached."""


@contextmanager
def work_until(is_over: Callable[[], bool]) -> Iterator[None]:
    """Make loops of the block that use `in_time` end once `is_over` returns true."""
    former = _is_over.set(is_over)
    try:
        yield
    finally:
        _is_over.reset(former)


def in_time(items: Iterable[T]) -> Iterator[T]:
    """Return the items; raises `TimeIsUpError` before the next one once the time limit is reached."""
    is_over = _is_over.get()
    return iter(items) if is_over is None else _checked(items, is_over)


def while_in_time(items: Iterable[T]) -> Iterator[T]:
    """Return the items until the time limit is reached: a sweep leaves the others to its next run."""
    with suppress(TimeIsUpError):
        yield from in_time(items)


def _checked(items: Iterable[T], is_over: Callable[[], bool]) -> Iterator[T]:
    for item in items:
        if is_over():
            raise TimeIsUpError
        yield item
