"""Hundreds of messages and tool calls in a session of 8,000 tokens.

Contexts stay within the window, the content can still be found, and every compaction can be rolled back to identical
bytes.
"""

import logging
import re
from itertools import islice
from typing import Any

import pytest
from rest_framework.test import APIClient

from compaction.services.pipeline.masking import PLACEHOLDER
from context.services.evaluation.answer_words import significant_words
from memories.models import Tenant
from memories.services.store.locomo import UNANSWERABLE_CATEGORY
from memories.services.tokens import count_tokens
from tests.integration.compaction_helpers import COMPACTIONS, live_memories, review, stored_compactions, stored_runs
from tests.integration.long_sessions import (
    EMERGENCY_PRESSURE,
    LONG_OUTPUT,
    NEEDS_CONVERSATION,
    SLEEP_PRESSURE,
    TURNS_PER_CALL,
    MovingClock,
    PlayedSession,
    clock,
    conversation_data,
    session_sittings,
)
from tests.integration.rest_helpers import every_page
from tests.integration.session_helpers import MESSAGES, SESSIONS
from tests.users import api_client

__all__ = ["clock"]

pytestmark = [pytest.mark.django_db, pytest.mark.long, NEEDS_CONVERSATION]

WINDOW, TARGET = 8_000, 0.50
#: Of the conversation: enough for repeated summaries of summaries.
SITTINGS = 14
#: The tokens of directive and summary; a plan counts them even if there is no summary yet.
MARKERS = 8
#: Shares of the words of answers. Measured: .57 in summary or memories, .40 in the summary, .52 in the memories. The
#: limits are .07 lower, to allow for other wording.
FLOOR_EITHER, FLOOR_SUMMARY, FLOOR_MEMORIES = 0.50, 0.33, 0.45


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def test_long_session_never_exceeds_its_budget_or_loses_text(
    admin: APIClient, tenant: Tenant, clock: MovingClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="compaction")
    data = conversation_data()
    played = play_session(admin, tenant, clock, data)
    emergencies_were_logged(played, caplog)
    compactions_happened_when_the_policy_says(played)
    no_summary_was_made_where_masking_suffices(played)
    later_generations_carry_their_warning(played)
    facts_are_still_found(played, data)
    everything_that_left_can_be_read(played)
    every_compaction_is_undone_in_reverse_order(played)


def play_session(client: APIClient, tenant: Tenant, clock: MovingClock, data: dict[str, Any]) -> PlayedSession:
    """Play every session of the conversation at its time; `Played` checks each context requested meanwhile."""
    played, is_expanded = PlayedSession(client, tenant, clock, WINDOW), False
    for at, rows in islice(session_sittings(data), SITTINGS):
        clock.set(at)
        played.say(rows)
        is_full = played.read()["pressure"] >= SLEEP_PRESSURE
        assert played.slept(minutes=5) == 0, "not idle yet"
        opened = played.slept(hours=1)
        assert opened <= is_full
        if opened:
            assert played.read()["pressure"] < played.pressures[-1]
            assert played.slept(hours=1) == 0, "nothing was said since"
        if not is_expanded and (made := played.applied()) and made[-1]["span"] is None:
            one_output_is_expanded(played, made[-1])
            is_expanded = True
    turns = sum(row["role"] == "user" for row in played.rows)
    assert turns > 300
    assert len(played.rows) == turns + 2 * (turns // TURNS_PER_CALL)
    assert [row["sequence"] for row in played.rows] == list(range(len(played.rows)))
    assert is_expanded
    assert max(played.pressures) > EMERGENCY_PRESSURE
    return played


def one_output_is_expanded(played: PlayedSession, made: dict[str, Any]) -> None:
    """A message that was just masked appears unmasked in the context until it is masked again."""
    url = f"{SESSIONS}/{played.session['id']}/messages?page_size=100&state=masked"
    masked = [
        row for page in every_page(played.client, url) for row in page if row["archived_at"] == made["compacted_at"]
    ]
    assert len(masked) == made["masked_count"]
    expanded = played.client.post(f"{MESSAGES}/{masked[0]['id']}/expand").json()
    assert (expanded["state"], expanded["content"]) == ("live", played.rows[masked[0]["sequence"]]["content"])
    assert expanded["content"] in _texts(played.everything().messages)


def emergencies_were_logged(played: PlayedSession, caplog: pytest.LogCaptureFixture) -> None:
    logged = [record for record in caplog.records if record.getMessage().startswith("emergency compaction of session")]
    made = [row for row in played.compactions() if row["trigger"] == "emergency"]
    assert len(made) <= len(logged) == sum(pressure >= EMERGENCY_PRESSURE for pressure in played.pressures)


def compactions_happened_when_the_policy_says(played: PlayedSession) -> None:
    made = played.compactions()
    assert {row["state"] for row in made} == {"applied"}
    assert {run.state for run in stored_runs(played.tenant)} == {"done"}
    assert {row["trigger"] for row in made} == {"scheduled", "emergency"}
    threshold = {"scheduled": SLEEP_PRESSURE, "emergency": EMERGENCY_PRESSURE}
    for row in made:
        before = played.before[row["id"]]
        assert row["tokens_before"] == before.tokens
        assert before.pressure >= threshold[row["trigger"]]
        assert row["tokens_after"] < row["tokens_before"]
    assert len(played.after) == len(made)
    ended_low = [pressure for pressure in played.after if pressure < SLEEP_PRESSURE]
    assert len(ended_low) >= len(made) / 2, "long outputs among the newest messages may keep it above for a while"


def no_summary_was_made_where_masking_suffices(played: PlayedSession) -> None:
    """Without the long outputs outside the preserve window, each context before a compaction was still too large."""
    made = played.compactions()
    only_masked = [row for row in made if row["span"] is None]
    assert only_masked
    assert len(only_masked) < len(made)
    saved_by = {row["sequence"]: _saved(row) for row in played.rows if row["role"] == "tool"}
    by_call = {row["tool_call_id"]: row for row in played.rows if row["role"] == "tool"}
    for row in made:
        if row["span"] is None:
            assert row["masked_count"] > 0
            assert (row["summary_token_count"], row["retention"]["share"]) == (0, None)
            continue
        shown = [by_call[each["tool_call_id"]] for each in played.before[row["id"]].messages if each["role"] == "tool"]
        outputs = [each["sequence"] for each in shown if each["sequence"] <= row["span"]["last_sequence"]]
        originals = {each["content"] for each in played.before[row["id"]].messages}
        live = [each for each in outputs if played.rows[each]["content"] in originals]
        masked_pressure = played.before[row["id"]].pressure - sum(saved_by[each] for each in live) / WINDOW
        assert masked_pressure > TARGET - MARKERS / WINDOW


def _saved(row: dict[str, Any]) -> int:
    if len(row["content"].encode()) <= 512:
        return 0
    return count_tokens(row["content"], "o200k_base") - count_tokens(PLACEHOLDER, "o200k_base")


def later_generations_carry_their_warning(played: PlayedSession) -> None:
    with_summary = [row for row in played.compactions() if row["span"]]
    assert [row["generation"] for row in with_summary] == list(range(1, len(with_summary) + 1))
    assert len(with_summary) >= 5
    for row in with_summary:
        degrades = any(warning["code"] == "accuracy_degrades" for warning in row["warnings"])
        assert degrades == (row["generation"] >= 3)
        assert row["retention"]["share"] >= 0.85
        assert row["summary_token_count"] < row["original_token_count"]
    context = played.ask(preview=True)
    (summary,) = [block for block in context["blocks"] if block["kind"] == "session_summary"]
    assert f"Condensed {len(with_summary)} times" in summary["text"]
    assert summary["text"].startswith("[CONTEXT SUMMARY]\n")


def facts_are_still_found(played: PlayedSession, data: dict[str, Any]) -> None:
    """Questions whose evidence is compacted: how many words of the answer summary and memories contain."""
    compacted = _compacted(played)
    found: dict[str, list[float]] = {"summary": [], "memories": [], "either": []}
    questions = [question for question in data["qa"] if _is_about(question, set(compacted))]
    assert len(questions) >= 50
    for question in questions:
        words = significant_words(question["answer"])
        context = played.ask(query=question["question"], preview=True)
        summary, memories = (
            significant_words(" ".join(block["text"] for block in context["blocks"] if block["kind"] == kind))
            for kind in ("session_summary", "memory")
        )
        for name, contained_words in (("summary", summary), ("memories", memories), ("either", summary | memories)):
            found[name].append(len(words & contained_words) / len(words))
    shares = {name: sum(each) / len(each) for name, each in found.items()}
    floors = {"summary": FLOOR_SUMMARY, "memories": FLOOR_MEMORIES, "either": FLOOR_EITHER}
    assert {name: share for name, share in shares.items() if share < floors[name]} == {}
    journal = live_memories(played.tenant, "journal")
    assert journal
    assert not any(LONG_OUTPUT in memory.content for memory in journal), "what was masked fills the journal"
    assert len(live_memories(played.tenant, "context_synthesis")) >= 1


def _compacted(played: PlayedSession) -> dict[str, dict[str, Any]]:
    """Return the messages of the conversation that summaries cite, by their ids in the data set."""
    url = f"{SESSIONS}/{played.session['id']}/messages?page_size=100&state=compacted"
    return {row["source_id"]: row for page in every_page(played.client, url) for row in page if row["source_id"]}


def _evidence(question: dict[str, Any]) -> list[str]:
    return re.findall(r"D\d+:\d+", " ".join(map(str, question.get("evidence") or ())))


def _is_about(question: dict[str, Any], compacted: set[str]) -> bool:
    if question["category"] == UNANSWERABLE_CATEGORY or not significant_words(question.get("answer", "")):
        return False
    evidence = _evidence(question)
    return bool(evidence) and set(evidence) <= compacted


def everything_that_left_can_be_read(played: PlayedSession) -> None:
    """A compacted message keeps its original and cannot be expanded; a statement cites such messages."""
    tokens = played.read()["context_tokens"]
    originals = {row["id"]: row["content"] for row in played.rows}
    compacted = _compacted(played)
    for row in list(compacted.values())[::25]:
        assert played.client.post(f"{MESSAGES}/{row['id']}/expand").json()["code"] == "compacted"
        assert row["content"] == originals[row["id"]]
    current = [row for row in played.compactions() if row["span"]][-1]
    for statement in played.client.get(f"{COMPACTIONS}/{current['id']}").json()["statements"]:
        assert statement["message_ids"]
        assert set(statement["message_ids"]) <= set(originals)
    assert played.read()["context_tokens"] == tokens


def every_compaction_is_undone_in_reverse_order(played: PlayedSession) -> None:
    """After each roll-back, the session shows what it showed before that compaction, and the messages since."""
    for row in reversed(played.compactions()):
        before = played.before[row["id"]]
        back = review(played.client, row, "rollback", reason="Undone in a test.")
        assert (back["state"], back["generation"]) == ("rolled_back", row["generation"])
        shown = played.everything()
        since = played.rows[before.message_count :]
        assert shown.messages[: len(before.messages)] == before.messages
        assert _texts(shown.messages[len(before.messages) :]) == [each["content"] for each in before.waiting + since]
        assert shown.tokens == before.tokens + sum(each["tokens"] for each in since)
        assert not any(each.metadata["compaction_id"] == row["id"] for each in live_memories(played.tenant))
    assert {each.state for each in stored_compactions(played.tenant)} == {"rolled_back"}
    assert live_memories(played.tenant) == []
    shown = played.everything().messages
    assert _texts(shown[1:]) == [row["content"] for row in played.rows]
    assert [each.get("tool_calls", []) for each in shown[1:]] == [row["tool_calls"] for row in played.rows]
    assert {row["state"] for page in _all(played) for row in page} == {"live"}


def _texts(messages: list[dict[str, Any]]) -> list[str]:
    return [each.get("content") or "" for each in messages]


def _all(played: PlayedSession) -> list[list[dict[str, Any]]]:
    return every_page(played.client, f"{SESSIONS}/{played.session['id']}/messages?page_size=100")
