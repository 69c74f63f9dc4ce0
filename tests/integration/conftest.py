"""What all integration tests share: the statements of conversations that this process has read before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from compaction.services.pipeline.statements import extraction
from compaction.services.pipeline.statements.model import Statement, StatementMessage

#: Conversations whose statements are remembered.
EXTRACTIONS_KEPT = 500


@pytest.fixture(scope="package", autouse=True)
def remembered_extractions() -> Iterator[None]:
    """Hundreds of tests compact the same few conversations under other ids, which statements only hand on.

    Which statements a conversation has, and how long they take, is tested in `tests/unit/compaction`.
    """
    own: Any = extraction._extract
    remembered = lru_cache(EXTRACTIONS_KEPT)(own.__wrapped__)

    def extract(messages: Sequence[StatementMessage], earlier: Sequence[Statement]) -> list[Statement]:
        ids = [*(each.id for each in messages), *(one for each in earlier for one in _ids_of(each))]
        numbers = {one: str(number) for number, one in enumerate(dict.fromkeys(ids))}
        found = remembered(
            tuple(replace(each, id=numbers[each.id], created_at=_day_of(each)) for each in messages),
            tuple(_renamed(each, numbers) for each in earlier),
        )
        names = {number: one for one, number in numbers.items()}
        return [_renamed(each, names) for each in found]

    changed: Any = extraction
    changed._extract = extract
    changed._extract.cache_clear = own.cache_clear
    yield
    changed._extract = own


def _day_of(message: StatementMessage) -> Any:
    """All that counts of the time of a message."""
    return message.created_at and message.created_at.replace(hour=0, minute=0, second=0, microsecond=0)


def _ids_of(statement: Statement) -> list[str]:
    return [*statement.message_ids, *(one for each in statement.replaces for one in each.message_ids)]


def _renamed(statement: Statement, names: Mapping[str, str]) -> Statement:
    def of(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(names.__getitem__, ids))

    replaces = tuple(replace(each, message_ids=of(each.message_ids)) for each in statement.replaces)
    return replace(statement, message_ids=of(statement.message_ids), replaces=replaces)
