"""The contents of a seal: published values with which auditors can compute it from a downloaded log."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from memories.services.tenancy.audit_seals import FIRST_HASH, content_hash, seal_hash

AT = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
ID = UUID("7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11")


@dataclass(frozen=True)
class Entry:
    id: UUID = ID
    at: datetime = AT
    actor_kind: str = "operator"
    actor_id: str = "1"
    actor_label: str = "zoë"
    verb: str = "archive_memory"
    target_kind: str = "memory"
    target_ids: list[str] = field(default_factory=lambda: ["a", "b"])
    fields: list[str] = field(default_factory=list)
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Seal:
    number: int = 1
    entry_id: UUID = ID
    is_redaction: bool = False
    content_hash: str = "c" * 64
    seal_hash: str = ""
    sealed_at: datetime = AT


def test_hashes_stay_the_same_for_ever() -> None:
    assert content_hash(Entry()) == "04dabe54326f1a19c74f9b018884dc01d8d9721037431a55f96312fcc1575c5a"
    assert seal_hash(FIRST_HASH, Seal()) == "0069784a1537e0ae2d189d63d5e6a53d5de5c7abf0cbad6931ec39643b2be259"


@pytest.mark.parametrize(
    "change",
    [
        {"id": UUID(int=1)},
        {"at": AT + timedelta(microseconds=1)},
        {"actor_id": "2"},
        {"actor_label": "zoe"},
        {"verb": "x"},
        {"target_ids": ["a,b"]},
        {"target_ids": ["a"], "fields": ["b"]},
        {"reason": "x"},
        {"details": {"days": 30}},
    ],
)
def test_every_value_of_an_entry_counts(change: dict[str, Any]) -> None:
    assert content_hash(replace(Entry(), **change)) != content_hash(Entry())


@pytest.mark.parametrize(
    "change", [{"number": 2}, {"entry_id": UUID(int=1)}, {"is_redaction": True}, {"sealed_at": AT.replace(year=2027)}]
)
def test_every_value_of_a_seal_counts(change: dict[str, Any]) -> None:
    assert seal_hash(FIRST_HASH, replace(Seal(), **change)) != seal_hash(FIRST_HASH, Seal())


def test_time_zone_of_a_connection_does_not_count() -> None:
    assert content_hash(Entry(at=AT.astimezone(timezone(timedelta(hours=2))))) == content_hash(Entry())
