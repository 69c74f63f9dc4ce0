"""Written and generated conversations for the tests of the compaction rules."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from compaction.services.sessions.turns import SessionTurn

START = datetime(2026, 11, 20, 9, tzinfo=UTC)


def plain(place, tokens=10, **given):
    values = {"role": "user", "content": "x" * tokens, **given}
    return SessionTurn(id=place, tokens=tokens, sequence=place, created_at=START + timedelta(minutes=place), **values)


def call(place, *ids, tokens=10, **given):
    calls = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return plain(place, tokens, role="assistant", content="", tool_calls=calls or [{"id": ""}], **given)


def tool_result_turn(place, call_id, tokens=10, content=None, **given):
    text = "x" * (tokens * 4) if content is None else content
    return plain(place, tokens, role="tool", content=text, tool_call_id=call_id, placeholder_tokens=12, **given)


@st.composite
def conversations(draw, max_size=40):
    """Generate turns with or without calls of one or two tools, late or missing results, pins and long outputs."""
    turns = []
    waiting = []
    number = st.integers(0, 400)
    for place in range(draw(st.integers(0, max_size))):
        kinds = ["plain", "plain", "call", *(["result"] * 3 if waiting else []), "orphan"]
        kind = draw(st.sampled_from(kinds))
        pinned = draw(st.integers(0, 9)) == 0
        tokens = draw(number)
        if kind == "call":
            ids = [f"c{place}-{n}" for n in range(draw(st.integers(1, 2)))]
            waiting += ids
            turns.append(call(place, *ids, tokens=tokens, pinned=pinned))
        elif kind == "result":
            answered = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            turns.append(tool_result_turn(place, answered, tokens, pinned=pinned))
        elif kind == "orphan":
            turns.append(tool_result_turn(place, f"lost{place}", tokens, pinned=pinned))
        else:
            role = draw(st.sampled_from(["user", "assistant", "system"]))
            turns.append(plain(place, tokens, role=role, pinned=pinned))
    return turns
