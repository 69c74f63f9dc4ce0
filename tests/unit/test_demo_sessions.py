"""The demo's sessions as data: in order, complete, in relative time, and acceptable to an append."""

from datetime import UTC, datetime

from compaction.services.demo import read_sessions
from compaction.services.drafts import problems_of_calls, problems_of_messages

NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)


def test_every_message_can_be_appended() -> None:
    for session in read_sessions(NOW):
        assert problems_of_messages(session.messages, now=NOW) == []
        assert problems_of_calls(dict(enumerate(session.messages)), called=(), answered=()) == []


def test_what_happened_lies_in_the_past_and_in_order() -> None:
    sessions = read_sessions(NOW)
    assert [session.at for session in sessions] == sorted(session.at for session in sessions)
    for session in sessions:
        times = [message.created_at for message in session.messages if message.created_at]
        assert session.at < times[0]
        assert times == sorted(times)
        assert session.compacted_at is None or session.ended_at < session.compacted_at < NOW


def test_every_call_of_a_tool_has_its_output_next_to_it() -> None:
    for session in read_sessions(NOW):
        for message, following in zip(session.messages, session.messages[1:], strict=False):
            if message.tool_calls:
                assert following.tool_call_id == message.tool_calls[0]["id"]
                assert following.content


def test_dates_in_texts_are_written_out() -> None:
    text = "\n".join(message.content for session in read_sessions(NOW) for message in session.messages)
    assert "{{" not in text
    assert "14 June 2026" in text or "15 June 2026" in text
