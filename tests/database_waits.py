"""Count how often a block waits for the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from psycopg import Connection


@contextmanager
def counted_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record each wait for a result."""
    waits: list[str] = []
    fetch = Connection.wait

    def wait(self: Connection[Any], generator: Any, **options: Any) -> Any:
        name = getattr(generator, "__name__", "")
        # in a pipeline the first three only send; the last asks no one
        if name not in {"_enter_gen", "_execute_gen", "_exec_command", "_set_autocommit_gen"}:
            waits.append(name)
        return fetch(self, generator, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "wait", wait)
        yield waits
