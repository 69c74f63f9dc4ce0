"""Results that the searches of one page share, because both sides of a comparison run the same searches (ADR-0217)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from memories.tenancy.queries.prepared import SentStatement, send_prepared

_Result = TypeVar("_Result")

_known_results: ContextVar[list[tuple[Any, Any]] | None] = ContextVar("shared_results", default=None)


@contextmanager
def shared_results() -> Iterator[None]:
    """Inside, equal searches of a tenant at one time, their equal statements and equal embeddings run once."""
    token = _known_results.set(known if (known := _known_results.get()) is not None else [])
    try:
        yield
    finally:
        _known_results.reset(token)


def is_sharing() -> bool:
    return _known_results.get() is not None


def shared_result(key: object, compute: Callable[[], _Result]) -> _Result:
    """Return the result of an equal `key` in this block of `shared_results`, else compute it."""
    known = _known_results.get()
    if known is None:
        return compute()
    for other, result in known:
        if other == key:
            found: _Result = result
            return found
    computed = compute()
    known.append((key, computed))
    return computed


def send_shared(statement: str, values: Mapping[str, Any]) -> SentStatement:
    """Send a statement that reads, as `send_prepared` does, unless this block has read the rows of an equal one."""
    known = _known_results.get()
    if known is None:
        return send_prepared(statement, values)
    key = (statement, values)
    sent: SentStatement | None = next((each for other, each in known if other == key and each.is_read), None)
    if sent is None:
        sent = send_prepared(statement, values)
        known.append((key, sent))
    return sent
