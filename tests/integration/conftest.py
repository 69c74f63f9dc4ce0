"""Fixtures of all integration tests: enough time to compact, and a cache of extracted statements."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from compaction.pipeline import orchestrator
from compaction.services.pipeline.statements import extraction
from compaction.services.pipeline.statements.model import Statement, StatementMessage

#: The number of conversations whose statements are cached.
EXTRACTIONS_KEPT = 500


@pytest.fixture(scope="package", autouse=True)
def time_to_compact() -> Iterator[None]:
    """Let requests wait for compactions as long as a worker may take, because these are slow on a busy machine.

    `tests/unit/test_time_limits.py` compares the limits themselves.
    """
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("WAITING_TIME_LIMIT", "EMERGENCY_TIME_LIMIT"):
            patch.setattr(orchestrator, limit, orchestrator.WORK_TIME_LIMIT)
        yield


@pytest.fixture(scope="package", autouse=True)
def remembered_extractions() -> Iterator[None]:
    """Cache extracted statements: hundreds of tests compact the same few conversations under other ids.

    `tests/unit/compaction` tests which statements a conversation has, and how long their extraction takes.
    """
    original: Any = extraction._extract
    remembered = lru_cache(EXTRACTIONS_KEPT)(original.__wrapped__)

    def extract(messages: Sequence[StatementMessage], earlier: Sequence[Statement]) -> list[Statement]:
        ids = [*(message.id for message in messages), *(id_ for statement in earlier for id_ in _ids_of(statement))]
        numbers = {id_: str(number) for number, id_ in enumerate(dict.fromkeys(ids))}
        statements = remembered(
            tuple(replace(message, id=numbers[message.id], created_at=_day_of(message)) for message in messages),
            tuple(_with_ids(statement, numbers) for statement in earlier),
        )
        ids_by_number = {number: id_ for id_, number in numbers.items()}
        return [_with_ids(statement, ids_by_number) for statement in statements]

    module: Any = extraction
    module._extract = extract
    module._extract.cache_clear = original.cache_clear
    yield
    module._extract = original


def _day_of(message: StatementMessage) -> Any:
    """Return the day of a message, the only part of its time that matters."""
    return message.created_at and message.created_at.replace(hour=0, minute=0, second=0, microsecond=0)


def _ids_of(statement: Statement) -> list[str]:
    return [*statement.message_ids, *(id_ for replaced in statement.replaces for id_ in replaced.message_ids)]


def _with_ids(statement: Statement, new_ids: Mapping[str, str]) -> Statement:
    def renamed(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(new_ids.__getitem__, ids))

    replaces = tuple(replace(replaced, message_ids=renamed(replaced.message_ids)) for replaced in statement.replaces)
    return replace(statement, message_ids=renamed(statement.message_ids), replaces=replaces)
