"""Which messages can be appended to a session, and how the budget of its context is divided."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from compaction.services.pipeline.generations import generation_warning
from compaction.services.sessions.drafts import NewMessage, new_message_problems, tool_call_problems
from compaction.services.sessions.session_budget import (
    MARKER_TOKENS,
    default_budget,
    marker_tokens,
    newest_unit_tokens,
    order_by_tool_units,
    session_section_budgets,
)
from compaction.services.sessions.tool_calls import CALLS_BYTES_MAX, CallError, canonical_calls
from compaction.services.sessions.turns import SessionTurn

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def call(call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"} | fields}


def faults(*rows: NewMessage) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in new_message_problems(rows, now=NOW)]


def test_plain_messages_have_no_faults() -> None:
    assert faults(NewMessage("user", "x"), NewMessage("assistant", "", tool_calls=[call()])) == []
    assert faults(NewMessage("tool", "x", tool_call_id="c1", created_at=NOW + timedelta(days=1))) == []


@pytest.mark.parametrize(
    ("row", "field", "code"),
    [
        (NewMessage("robot", "x"), "role", "invalid_choice"),
        (NewMessage("user"), "content", "blank"),
        (NewMessage("user", "a\ud800"), "content", "lone_surrogate"),
        (NewMessage("user", "a" * 262_145), "content", "too_long"),
        (NewMessage("user", "x", source_id="a" * 256), "source_id", "too_long"),
        (NewMessage("user", "x", name="a\u2028b"), "name", "bad_characters"),
        (NewMessage("user", "x", metadata={"a": float("nan")}), "metadata", "not_json"),
        (NewMessage("user", "x", created_at=NOW.replace(tzinfo=None)), "created_at", "no_offset"),
        (
            NewMessage("user", "x", created_at=NOW.astimezone(timezone(timedelta(hours=9))) + timedelta(days=2)),
            "created_at",
            "too_far_ahead",
        ),
    ],
)
def test_fault_is_named_by_place_field_and_code(row: NewMessage, field: str, code: str) -> None:
    assert faults(NewMessage("user", "fine"), row) == [(f"messages.1.{field}", code)]


def test_content_of_exactly_the_limit_is_taken() -> None:
    assert faults(NewMessage("user", "é" * 131_072)) == []


def test_calls_are_canonical_whatever_the_order_of_their_keys() -> None:
    mixed = {"function": {"arguments": "{}", "name": "f"}, "type": "function", "id": "c1"}
    assert list(canonical_calls([mixed])[0]) == ["id", "type", "function"]
    assert canonical_calls([mixed]) == [call()] == canonical_calls(canonical_calls([mixed]))
    assert (
        NewMessage("assistant", tool_calls=[mixed]).content_fields
        == NewMessage("assistant", tool_calls=[call()]).content_fields
    )


@pytest.mark.parametrize(
    ("calls", "place", "code"),
    [
        (None, "", "not_a_list"),
        ([call(str(number)) for number in range(129)], "", "too_many"),
        ([call(arguments="x" * CALLS_BYTES_MAX)], "", "too_long"),
        ([call() | {"index": 0}], "0", "unknown_field"),
        ([call(), call("c2", name="")], "1.function.name", "bad_text"),
        ([call(arguments="\udfff")], "0.function.arguments", "lone_surrogate"),
    ],
)
def test_calls_of_another_shape_are_refused(calls: Any, place: str, code: str) -> None:
    with pytest.raises(CallError) as caught:
        canonical_calls(calls)
    assert (caught.value.place, caught.value.code) == (place, code)


def test_calls_and_results_are_paired_in_order() -> None:
    rows = {
        0: NewMessage("tool", "x", tool_call_id="stored"),
        2: NewMessage("assistant", tool_calls=[call("new"), call("stored")]),
        3: NewMessage("tool", "x", tool_call_id="new"),
        4: NewMessage("tool", "x", tool_call_id="new"),
        5: NewMessage("tool", "x", tool_call_id="never"),
    }
    found = tool_call_problems(rows, called={"stored"}, answered=set())
    assert [(problem.field, problem.code) for problem in found] == [
        ("messages.2.tool_calls.1.id", "call_id_taken"),
        ("messages.4.tool_call_id", "call_already_answered"),
        ("messages.5.tool_call_id", "unknown_tool_call"),
    ]


@pytest.mark.parametrize(
    ("window", "output", "is_exact", "expected"),
    [
        (128_000, 16_384, True, (123_904, 4_096)),
        (10_000, None, False, (8_000, 1_500)),
        (8_192, 8_192, True, (6_964, 1_228)),
        (1_000, None, True, (850, 150)),
        (256, None, True, (218, 38)),
    ],
)
def test_default_budget_is_the_window_without_reserve_and_safety(
    window: int, output: int | None, is_exact: bool, expected: tuple[int, int]
) -> None:
    assert default_budget(window, output, is_exact=is_exact) == expected


@pytest.mark.parametrize(
    ("sections", "available"),
    [
        ({}, 250),
        ({"memories": {"share": 0.1}}, 250),
        ({"memories": {"tokens": 600}}, 600),
        ({"memories": {"share": 0.1}, "tenant_memo": {"tokens": 20}}, 120),
        ({"memories": {"share": 0.0}, "tenant_memo": {"share": 0.0}}, 0),
    ],
)
def test_memories_get_a_quarter_or_what_the_profile_gives_them(sections: dict[str, Any], available: int) -> None:
    assert session_section_budgets(sections, 1000)["memories"] == {"tokens": available}


def test_results_follow_their_calls_and_the_newest_whole_unit_is_kept() -> None:
    turns = [
        SessionTurn(0, "assistant", "", 5, tool_calls=[call("c1")]),
        SessionTurn(1, "user", "x", 3),
        SessionTurn(2, "tool", "y", 7, tool_call_id="c1"),
        SessionTurn(3, "assistant", "", 9, tool_calls=[call("c2")]),
    ]
    assert [turn.id for turn in order_by_tool_units(turns)] == [0, 2, 1, 3]
    assert newest_unit_tokens(turns) == 3
    assert newest_unit_tokens(turns[:1]) == 0
    assert marker_tokens(turns[1]) == MARKER_TOKENS < marker_tokens(turns[2])


@pytest.mark.parametrize("generation", range(6))
def test_readers_are_warned_from_the_third_generation_on(generation: int) -> None:
    assert bool(generation_warning(generation)) == (generation >= 3)
