"""Labelled sessions: what is read and refused, and how a compaction of one is measured."""

from typing import Any

import pytest

from compaction.services.evaluation.labels import (
    LabelledSession,
    LabelledSessionError,
    has_words,
    is_labelled_session,
)
from compaction.services.evaluation.scores import COMPACTION_MEASURES, CompactedSession, Share, score_session
from compaction.services.pipeline.stored_statements import CitedStatement

NUMBERS = {f"id-{number}": number for number in range(5)}


def session_data() -> dict[str, Any]:
    contents = (
        "We open at 8. The gate code is 4417.",
        "Never park in front of the gate.",
        "> We close at noon.",
        "We open at 9 instead.",
        "The gate squeaks, by the way.",
    )
    messages = [
        {"n": number, "role": "user", "name": "Ann", "day": "2026-03-09", "content": content}
        for number, content in enumerate(contents)
    ]
    return {
        "id": "gate-en",
        "genre": "planning",
        "language": "en",
        "start": "2026-03-09T14:10:00Z",
        "messages": messages,
        "keys": [
            {
                "id": "k1",
                "kind": "value",
                "message": 0,
                "needs": [["gate code"], ["4417"]],
                "text": "The code is 4417.",
            },
            {"id": "k2", "kind": "constraint", "messages": [1], "needs": [["never", "not"], ["park"]], "text": "No."},
        ],
        "changes": [
            {
                "id": "c1",
                "current": {"message": 3, "needs": [["open at 9"]]},
                "stale": {"message": 0, "needs": [["open at 8"]]},
            }
        ],
        "never": [{"id": "x1", "why": "quote", "message": 2, "needs": [["close at noon"]]}],
        "labels": [
            {"message": 1, "sentence": "Never park in front of the gate.", "label": "constraint"},
            {"message": 3, "sentence": "We open at 9 instead.", "label": "decision"},
            {"message": 0, "sentence": "We open at 8.", "label": "decision"},
            {"message": 4, "sentence": "The gate squeaks, by the way.", "label": "other"},
        ],
    }


def cited(text: str, number: int, kind: str = "fact") -> CitedStatement:
    return CitedStatement(f"Ann: {text}", (f"id-{number}",), kind, "Ann")


def scores(*, summary: list[CitedStatement], facts: list[CitedStatement]) -> dict[str, tuple[int, int]]:
    extracted = [*summary, *facts]
    found = score_session(LabelledSession.of(session_data()), CompactedSession(summary, facts, extracted, NUMBERS))
    assert list(found) == list(COMPACTION_MEASURES)
    return {name: (share.count, share.of) for name, share in found.items()}


def test_keys_and_changes_are_looked_up_in_summary_and_facts() -> None:
    found = scores(
        summary=[cited("The gate code is 4417.", 0), cited("We open at 8.", 0), cited("We open at 9 instead.", 3)],
        facts=[cited("Never park in front of the gate.", 1, "constraint")],
    )
    assert (found["keys_in_summary"], found["keys_in_facts"], found["keys_in_either"]) == ((1, 2), (1, 2), (2, 2))
    assert (found["current_in_summary"], found["stale_in_summary"]) == ((1, 1), (1, 1))
    assert (found["current_in_facts"], found["stale_in_facts"]) == ((0, 1), (0, 1))


def test_words_of_different_messages_do_not_make_a_key() -> None:
    apart = [cited("The gate code is secret.", 0), cited("I counted to 4417.", 4)]
    assert scores(summary=apart, facts=[])["keys_in_summary"] == (0, 2)
    same = [cited("The gate code:", 0), cited("it is 4417.", 0)]
    assert scores(summary=same, facts=[])["keys_in_summary"] == (1, 2)


def test_quotes_are_counted_in_facts_and_summary() -> None:
    quote = cited("We close at noon.", 2)
    assert scores(summary=[quote], facts=[quote])["never_quote"] == (1, 1)
    assert scores(summary=[quote], facts=[])["never_in_summary"] == (1, 1)


def test_labels_are_compared_with_the_kinds_of_what_was_extracted() -> None:
    found = scores(
        summary=[
            cited("park in front of the gate.", 1, "constraint"),
            cited("We open at 9 instead.", 3, "decision"),
            cited("The gate squeaks, by the way.", 4, "decision"),
        ],
        facts=[],
    )
    assert found["constraint_labels"] == (1, 1)
    assert found["decision_labels"] == (1, 1), "the replaced sentence does not count"
    assert found["false_labels"] == (1, 1)
    assert scores(summary=[cited("We open at 9 instead.", 3)], facts=[])["decision_labels"] == (0, 1)
    assert scores(summary=[cited("We open at 9 instead.", 4, "decision")], facts=[])["decision_labels"] == (0, 1)


def test_shares_add_up() -> None:
    total = Share.where({"a": True, "b": False}) + Share.where({"c": True})
    assert (str(total), total.true, total.false) == ("2 of 3", ("a", "c"), ("b",))
    assert str(Share.where({})) == "-"


def test_needs_are_met_whatever_the_case() -> None:
    assert has_words((("never", "not"), ("PARK",)), "Do NOT park here")
    assert not has_words((("never", "not"), ("park",)), "Park here")


def test_messages_keep_their_days_and_order() -> None:
    data = session_data()
    data["messages"][4]["day"] = "2026-03-11"
    times = [message.created_at.isoformat() for message in LabelledSession.of(data).messages]
    assert times[0] == "2026-03-09T14:10:00+00:00"
    assert times[4] == "2026-03-11T14:10:04+00:00"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": None}, "wrong type"),
        ({"genre": ...}, "'genre' is missing"),
        ({"keys": [{"id": "k1", "kind": "value", "message": 1, "needs": [["4417"]], "text": ""}]}, "k1: its words"),
        ({"keys": [{"id": "k1", "kind": "value", "message": 1, "needs": [], "text": ""}]}, "k1: its words"),
        ({"never": [{"id": "x1", "why": "spite", "message": 2, "needs": [["noon"]]}]}, "spite is unknown"),
        ({"labels": [{"message": 1, "sentence": "Never park.", "label": "constraint"}]}, "does not contain"),
        ({"labels": [{"message": 1, "sentence": "Never", "label": "rule"}]}, "rule is unknown"),
        ({"messages": [{"n": 1, "role": "user", "day": "2026-03-09", "content": "x"}]}, "has the number 1"),
    ],
)
def test_bad_file_is_refused(change: dict[str, Any], words: str) -> None:
    data = {name: value for name, value in (session_data() | change).items() if value is not ...}
    assert is_labelled_session(data)
    with pytest.raises(LabelledSessionError, match=words):
        LabelledSession.of(data)
