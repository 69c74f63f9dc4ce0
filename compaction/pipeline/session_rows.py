"""Rows of sessions and messages: find, lock, count in tokens of the session's model (ADR-0052), convert to turns."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from compaction.models import Message, Session
from compaction.services.pipeline.generations import generation_warning
from compaction.services.pipeline.masking import PLACEHOLDER
from compaction.services.sessions.drafts import NewMessage
from compaction.services.sessions.pressure import PressureParts, reserved_tokens
from compaction.services.sessions.session_budget import (
    default_budget,
    head_marker_tokens,
    marker_tokens,
    newest_unit_tokens,
)
from compaction.services.sessions.tool_calls import canonical_calls
from compaction.services.sessions.transcript import shown_message_text
from compaction.services.sessions.turns import SessionTurn, UnreadTurns
from context.profiles.token_counters import budget_calculator
from context.services.assembly.model_catalog import family_of
from memories.tenancy.exceptions import Conflict, NotFound
from memories.tenancy.required_rows import find_row

_CLOSED = "The session is closed; POST to its /restore opens it again."


def find_session(*, tenant_id: UUID, session_id: UUID, reach: str, is_open: bool = True) -> Session:
    """Return a session within `reach` and its current compaction. Raises `NotFound`, if `is_open` also when closed."""
    rows = Session.objects.for_tenant(tenant_id).within(reach).with_id(session_id)
    session = find_row(rows.with_current(), Session)
    if is_open and session.closed_at is not None:
        raise NotFound("session_closed", _CLOSED)
    return session


def find_message(*, tenant_id: UUID, message_id: UUID, reach: str) -> Message:
    """Return an original message of a session within `reach`. Raises `NotFound`."""
    rows = Message.objects.for_tenant(tenant_id).within(reach).with_id(message_id).originals()
    return find_row(rows.without_vectors(), Message)


def lock_session(session_id: UUID, *, is_open: bool = True) -> Session:
    """Lock the session until the transaction ends. Raises `NotFound`, or `Conflict` for a closed one."""
    session = find_row(Session.objects.with_id(session_id).locked(), Session)
    if is_open and session.closed_at is not None:
        raise Conflict("session_closed", _CLOSED)
    return session


def lock_session_to_append(tenant_id: UUID, session_id: UUID, reach: str) -> Session:
    """Lock an open session within `reach` until the transaction ends. Raises `NotFound`."""
    session: Session | None = Session.objects.lock_to_append(tenant_id, session_id, reach)
    if session is None:
        raise NotFound("not_found", "There is no such session.")
    if session.closed_at is not None:
        raise NotFound("session_closed", _CLOSED)
    return session


def count_text_tokens(text: str, model: str) -> int:
    """Return the number of tokens in a text, counted for `model`."""
    return budget_calculator().count_tokens(text, model)


def count_message_tokens(message: Message | NewMessage, model: str) -> int:
    """Return the tokens of an original message as a context shows it: name, content and tool calls."""
    calls = canonical_calls(message.tool_calls)
    return count_text_tokens(shown_message_text(message.name, message.content, calls), model)


def count_placeholder_tokens(name: str, model: str) -> int:
    """Return the tokens of the placeholder of a masked tool output."""
    return count_text_tokens(shown_message_text(name, PLACEHOLDER), model)


def count_shown_tokens(message: Message, model: str) -> int:
    """Return the tokens that a context shows of the message in its state, given its `tokens`."""
    if message.state == Message.State.COMPACTED:
        return 0
    if message.state == Message.State.MASKED:
        return count_placeholder_tokens(message.name, model)
    return message.tokens


#: The counts of a session's context.
CONTEXT_COUNTS = ("context_tokens", "summary_tokens", "marker_tokens")


def recount_context(session: Session) -> Sequence[str]:
    """Set `CONTEXT_COUNTS` from the rows, and return these names for saving."""
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    head = head_marker_tokens(session.model)
    session.summary_tokens, session.marker_tokens = 0, head if session.directive else 0
    if session.current is not None:
        note = generation_warning(session.current.generation)
        session.summary_tokens = messages.of_compaction(session.current.pk).tokens_shown()
        session.marker_tokens += head + (count_text_tokens(note, session.model) if note else 0)
    shown = messages.shown()
    session.context_tokens = session.directive_tokens + session.summary_tokens + shown.tokens_shown()
    session.marker_tokens += sum(marker_tokens(labels, session.model) for labels in shown.labels())
    return CONTEXT_COUNTS


def pressure_parts(session: Session) -> PressureParts:
    """Return the tokens that the session's next context needs, by part."""
    window, model = session.max_context_tokens, session.model
    is_exact = budget_calculator().measure("", model).exact
    budget, _ = default_budget(window, family_of(model).max_output_tokens, is_exact=is_exact)
    messages = session.message_tokens + session.marker_tokens
    memories = reserved_tokens(window) - (window - budget)
    return PressureParts(messages, session.directive_tokens, session.summary_tokens, memories, window - budget)


def messages_to_turns(messages: Iterable[Message], *, model: str) -> list[SessionTurn]:
    """Return the messages of a session, in their order, as turns with tokens of the session's `model`."""
    placeholder = cache(lambda name: count_placeholder_tokens(name, model))
    return [
        _message_to_turn(message, placeholder(message.name) if message.role == Message.Role.TOOL else 0, model)
        for message in messages
    ]


def _message_to_turn(message: Message, placeholder: int, model: str) -> SessionTurn:
    is_masked = message.state == Message.State.MASKED
    return SessionTurn(
        id=message.pk,
        role=message.role,
        content=message.content,
        tokens=message.tokens,
        state=message.state,
        pinned=message.pinned,
        tool_calls=tuple(message.tool_calls),
        tool_call_id=message.tool_call_id,
        placeholder_tokens=message.shown_tokens if is_masked else placeholder,
        created_at=message.created_at,
        name=message.name,
        sequence=message.sequence,
        marker_tokens=marker_tokens(message, model),
    )


def outlines_to_turns(rows: Iterable[Any], *, model: str) -> list[SessionTurn]:
    """Return turns without texts and times from `outlines`, ten times as fast; their tokens include the marker."""
    turns = []
    for row in rows:
        tokens = row.shown_tokens + marker_tokens(row, model)
        shown = (row.id, row.role, "", tokens, row.state, row.pinned)
        turns.append(SessionTurn(*shown, row.tool_calls, row.tool_call_id, tokens, None, row.name, row.sequence))
    return turns


def read_newest_turns(session: Session, tokens: int) -> tuple[list[SessionTurn], UnreadTurns]:
    """Return outlined turns of a session in order, and what is not among them.

    These are the newest turns with the given tokens, older ones that are pinned or of tools, and all turns if the
    newest ones contain no whole unit.
    """
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    start = 0
    if session.context_tokens > tokens:
        start = messages.tail_start(session.tenant_id, session.pk, tokens)
    turns = outlines_to_turns(messages.shown().without_plain_before(start).outlines(), model=session.model)
    if not start:
        return turns, UnreadTurns()
    if not newest_unit_tokens([turn for turn in turns if (turn.sequence or 0) >= start]):
        return outlines_to_turns(messages.shown().outlines(), model=session.model), UnreadTurns()
    totals = messages.shown().plain_before(start)
    plain, named = (marker_tokens(SessionTurn(None, "", "", 0, name=name), session.model) for name in ("", "x"))
    markers = plain * (totals["count"] - totals["named"]) + named * totals["named"]
    return turns, UnreadTurns(start, totals["count"], totals["tokens"] + markers)


def read_all_turns(session: Session) -> list[SessionTurn]:
    """Return every message of the session in order, in any state."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).originals()
    return messages_to_turns(rows.without_vectors(), model=session.model)
