"""Errors of a new memory, by field and code."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memories.services.store.drafts import (
    MAX_LINKS,
    NewLink,
    NewMemory,
    is_kind_name,
    memory_change_problems,
    new_memory_problems,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def problems(**fields: Any) -> list[tuple[str, str]]:
    found = new_memory_problems(NewMemory(**({"content": "x"} | fields)), now=NOW)
    return [(problem.field, problem.code) for problem in found]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"confidence": 0},
        {"confidence": 1.0},
        {"created_at": NOW + timedelta(days=1)},
        {"created_at": datetime(1, 1, 2, tzinfo=UTC)},
        {"created_at": NOW - timedelta(days=9), "expires_at": NOW - timedelta(days=8)},
        {"expires_at": datetime.max.replace(tzinfo=UTC)},
        {"position": 0},
        {"position": 2_147_483_647},
        {"source_id": "ü" * 255},
        {"kind": "a_word-2"},
        {"links": tuple(NewLink(None) for _ in range(MAX_LINKS))},  # type: ignore[arg-type]
    ],
)
def test_good_memory_has_no_problems(fields: dict[str, Any]) -> None:
    assert problems(**fields) == []


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        ({"content": ""}, "content", "blank"),
        ({"content": 7}, "content", "not_text"),
        ({"content": "a\ud800"}, "content", "lone_surrogate"),
        ({"content": "ä" * 16385}, "content", "too_long"),
        ({"confidence": 1.5}, "confidence", "out_of_range"),
        ({"confidence": -0.1}, "confidence", "out_of_range"),
        ({"confidence": float("nan")}, "confidence", "out_of_range"),
        ({"confidence": float("inf")}, "confidence", "out_of_range"),
        ({"confidence": True}, "confidence", "not_a_number"),
        ({"confidence": "0.5"}, "confidence", "not_a_number"),
        ({"pinned": "yes"}, "pinned", "not_a_boolean"),
        ({"metadata": {"a": float("nan")}}, "metadata", "not_json"),
        ({"kind": ""}, "kind", "bad_kind"),
        ({"kind": "fact\n"}, "kind", "bad_kind"),
        ({"kind": "x" * 33}, "kind", "bad_kind"),
        ({"partition": "user=alex"}, "partition", "bad_partition"),
        ({"created_at": "2026-01-01"}, "created_at", "not_a_time"),
        ({"created_at": NOW.replace(tzinfo=None)}, "created_at", "no_offset"),
        ({"created_at": NOW + timedelta(days=1, seconds=1)}, "created_at", "too_far_ahead"),
        ({"created_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))}, "created_at", "out_of_range"),
        ({"expires_at": NOW}, "expires_at", "before_creation"),
        ({"expires_at": datetime.max.replace(tzinfo=timezone(-timedelta(hours=5)))}, "expires_at", "out_of_range"),
        ({"source_id": "x" * 256}, "source_id", "too_long"),
        ({"source_id": None}, "source_id", "not_text"),
        ({"session": "a\udfff"}, "session", "bad_characters"),
        ({"position": -1}, "position", "out_of_range"),
        ({"position": 2**31}, "position", "out_of_range"),
        ({"position": 1.0}, "position", "not_an_integer"),
        ({"links": (NewLink(None, "No"),)}, "links", "bad_kind"),  # type: ignore[arg-type]
        ({"links": tuple(NewLink(None) for _ in range(MAX_LINKS + 1))}, "links", "too_many"),  # type: ignore[arg-type]
    ],
)
def test_bad_field_is_named_with_a_code(fields: dict[str, Any], field: str, code: str) -> None:
    assert (field, code) in problems(**fields)


def test_all_problems_are_reported_together() -> None:
    assert len(problems(content=" ", confidence=2, kind="A", position=-1)) == 4


def test_changes_are_checked_against_what_stays() -> None:
    def of(**changes: Any) -> list[tuple[str, str]]:
        found = memory_change_problems(changes, created_at=NOW, expires_at=NOW + timedelta(days=1), now=NOW)
        return [(problem.field, problem.code) for problem in found]

    assert of() == of(content="y") == of(expires_at=None) == []
    assert of(created_at=NOW + timedelta(days=1)) == [("expires_at", "before_creation")]
    assert of(expires_at=NOW) == [("expires_at", "before_creation")]
    assert of(created_at=None) == [("created_at", "required")]
    assert of(id=1, embedding=[]) == [("id", "unknown_field"), ("embedding", "unknown_field")]


def test_word_is_lower_case_and_bounded() -> None:
    assert is_kind_name("synthesis")
    assert not any(is_kind_name(value) for value in ("", "A", "1a", "a b", "x" * 33, None, 3))
