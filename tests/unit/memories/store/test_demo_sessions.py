"""The demo's sessions as data: ordered, complete, in relative time, and valid for an append."""

from datetime import UTC, datetime
from itertools import pairwise

from compaction.services.sessions.drafts import NewMessage, new_message_problems, tool_call_problems
from memories.services.store.demo import read_demo
from memory_platform.management.commands.load_demo import messages_of

NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)
SESSIONS = read_demo("sessions", NOW)
MESSAGES: list[list[NewMessage]] = [messages_of(session["at"], session["messages"]) for session in SESSIONS]


def test_every_message_can_be_appended() -> None:
    for messages in MESSAGES:
        assert new_message_problems(messages, now=NOW) == []
        assert tool_call_problems(dict(enumerate(messages)), called=(), answered=()) == []


def test_what_happened_lies_in_the_past_and_in_order() -> None:
    assert [session["at"] for session in SESSIONS] == sorted(session["at"] for session in SESSIONS)
    for session, messages in zip(SESSIONS, MESSAGES, strict=True):
        times = [message.created_at for message in messages if message.created_at]
        assert session["at"] < times[0]
        assert times == sorted(times)
        assert times[-1] < session.get("compacted_at", NOW) <= NOW


def test_every_call_of_a_tool_has_its_output_next_to_it() -> None:
    for messages in MESSAGES:
        for message, following in pairwise(messages):
            if message.tool_calls:
                assert following.tool_call_id == message.tool_calls[0]["id"]
                assert following.content


def test_dates_in_texts_are_written_out() -> None:
    text = "\n".join(message.content for messages in MESSAGES for message in messages)
    assert "{{" not in text
    assert "14 June 2026" in text or "15 June 2026" in text
