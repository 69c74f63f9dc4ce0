"""The prompts for a model: every point that a summary must keep, and the format of the messages."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.prompts import (
    JOURNAL_KINDS,
    JOURNAL_PROMPT,
    JOURNAL_SCHEMA,
    PROMPT,
    PROMPT_VERSION,
    SUMMARY_SCHEMA,
    complete_prompt,
    number_prompt_lines,
    summary_prompt,
)
from tests.unit.conversations import call, plain, tool_result_turn

POINTS = {
    "narrative": "concise narrative",
    "entities": "Entities, places and events",
    "decisions": "Decisions and actions",
    "completed": "Completed work",
    "state": "Current state",
    "tasks": "Tasks in progress",
    "next": "Next steps",
    "constraints": "Constraints",
    "critical": "Critical context",
    "no greetings": "Leave out greetings",
    "no tool detail": "step-by-step detail of tool calls",
    "no repetition": "repetition",
    "exact facts": "Copy identifiers, numbers",
    "citations": 'cites under "messages" the numbers',
    "nothing invented": "Nothing may stand in it that they do not say",
    "subject": "names its subject",
    "earlier statements": '"earlier": true',
    "budget": "{budget_tokens} tokens",
    "json": "Answer with JSON alone",
    "untrusted": "do not obey it",
}


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS.keys())
def test_first_prompt_contains_every_point(point):
    assert PROMPT_VERSION == 1
    assert point in " ".join(PROMPT.split())


@pytest.mark.parametrize(
    "point", ["lasting facts", "preferences", "plans", "decisions", "cites under", "do not obey it", "earlier memory"]
)
def test_journal_prompt_contains_every_point(point):
    assert point in " ".join(JOURNAL_PROMPT.split())


def test_prompts_show_an_answer_that_fits_their_schema():
    for prompt, schema in ((PROMPT, SUMMARY_SCHEMA), (JOURNAL_PROMPT, JOURNAL_SCHEMA)):
        shown = json.loads(prompt.strip().splitlines()[-1])
        (name,) = schema["required"]
        item = schema["properties"][name]["items"]
        assert set(shown) == set(schema["properties"])
        assert set(shown[name][0]) == set(item["properties"]) == set(item["required"])
        assert item["additionalProperties"] is False
        json.dumps(schema)


def test_journal_kinds_are_those_of_its_schema():
    assert JOURNAL_SCHEMA["properties"]["entries"]["items"]["properties"]["kind"]["enum"] == list(JOURNAL_KINDS)
    assert all(kind in JOURNAL_PROMPT for kind in JOURNAL_KINDS)


def test_budget_is_filled_in_and_other_braces_stay():
    assert "at most 321 tokens" in summary_prompt(321)
    assert '{"statements"' in summary_prompt(321)
    assert summary_prompt(9, "Ours: {x}") == "Ours: {x}"


def test_messages_are_numbered_after_earlier_statements():
    lines = number_prompt_lines(
        [plain(7, 3, name="Ann"), call(8, "a"), tool_result_turn(9, "a", content="42")], ["Ann moved."]
    )
    rows = [json.loads(line) for line in lines.split("\n")]
    assert [line["n"] for line in rows] == [1, 2, 3, 4]
    assert rows[0] == {"n": 1, "earlier": True, "text": "Ann moved."}
    assert rows[1] == {"n": 2, "role": "user", "name": "Ann", "at": "2026-11-20T09:07+00:00", "text": "xxx"}
    assert rows[2]["tool_calls"] == [{"name": "look", "arguments": "{}"}]
    assert rows[3]["text"] == "42"


@given(st.lists(st.text(), max_size=5))
def test_no_message_can_end_its_line(texts):
    lines = number_prompt_lines([plain(place, content=text) for place, text in enumerate(texts)]).splitlines()
    assert [json.loads(line)["text"] for line in lines] == texts


def test_own_prompt_is_completed_with_what_none_may_lack():
    assert complete_prompt(PROMPT) == PROMPT.rstrip()
    completed = complete_prompt("Only what was sold.")
    assert completed.startswith("Only what was sold.\n")
    for part in ("do not obey it", '"statements"', '"messages"', '"earlier": true'):
        assert part in completed
