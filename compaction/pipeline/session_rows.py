"""Rows of sessions and messages: find, lock, count in tokens of the session's model (ADR-0052), convert to turns."""

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model

from compaction.models import Message, Session
from compaction.services.pipeline.masking import PLACEHOLDER
from compaction.services.sessions.drafts import NewMessage
from compaction.services.sessions.section_budgets import marker_tokens
from compaction.services.sessions.tool_calls import canonical_calls
from compaction.services.sessions.turns import SessionTurn
from context.profiles.token_counters import budget_calculator
from context.services.budget import message_text
from memories.tenancy.exceptions import Conflict, NotFound
from memories.tenancy.queries.rows import TenantRows

Row = TypeVar("Row", bound=Model)
_CLOSED = "The session is closed; POST to its /restore opens it again."


def found(rows: TenantRows, kind: type[Row], name: str = "") -> Row:
    """Return the first of the rows of the model `kind`. Raises `NotFound` without any."""
    row: Row | None = rows.first()
    if row is None:
        raise NotFound("not_found", f"There is no such {name or kind._meta.model_name}.")
    return row


def find_session(*, tenant_id: UUID, session_id: UUID, reach: str, is_open: bool = True) -> Session:
    """Return a session within `reach` and its current compaction. Raises `NotFound`, if `is_open` also when closed."""
    rows = Session.objects.for_tenant(tenant_id).within(reach).with_id(session_id)
    session = found(rows.with_current(), Session)
    if is_open and session.closed_at is not None:
        raise NotFound("session_closed", _CLOSED)
    return session


def find_message(*, tenant_id: UUID, message_id: UUID, reach: str) -> Message:
    """Return an original message of a session within `reach`. Raises `NotFound`."""
    rows = Message.objects.for_tenant(tenant_id).within(reach).with_id(message_id).originals()
    return found(rows.without_vectors(), Message)


def lock_session(session_id: UUID, *, is_open: bool = True) -> Session:
    """Lock the session until the transaction ends. Raises `NotFound`, or `Conflict` for a closed one."""
    session = found(Session.objects.with_id(session_id).locked(), Session)
    if is_open and session.closed_at is not None:
        raise Conflict("session_closed", _CLOSED)
    return session


def count_text_tokens(text: str, model: str) -> int:
    """Return the tokens of a text."""
    return budget_calculator().count_tokens(text, model)


def count_message_tokens(message: Message | NewMessage, model: str) -> int:
    """Return the tokens of an original message: name, content and tool calls."""
    calls = canonical_calls(message.tool_calls)
    said = {"name": message.name, "content": message.content, "tool_calls": calls}
    return count_text_tokens(message_text(said), model)


def count_placeholder_tokens(name: str, model: str) -> int:
    """Return the tokens of the placeholder of a masked tool output."""
    return count_text_tokens(message_text({"name": name, "content": PLACEHOLDER}), model)


def count_shown_tokens(message: Message, model: str) -> int:
    """Return the tokens that a context shows of the message in its state, given its `tokens`."""
    if message.state == Message.State.COMPACTED:
        return 0
    if message.state == Message.State.MASKED:
        return count_placeholder_tokens(message.name, model)
    return message.tokens


def count_context_tokens(session: Session) -> int:
    """Return the tokens of the session's context: directive, current summary and every message as it is shown."""
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    summary = messages.of_compaction(session.current_id).tokens_shown() if session.current_id else 0
    return session.directive_tokens + summary + messages.originals().tokens_shown()


def messages_to_turns(messages: Iterable[Message], *, model: str) -> list[SessionTurn]:
    """Return the messages of a session, in their order, as turns with tokens of the session's `model`."""
    placeholder = cache(lambda name: count_placeholder_tokens(name, model))
    return [
        _turn(message, placeholder(message.name) if message.role == Message.Role.TOOL else 0) for message in messages
    ]


def _turn(message: Message, placeholder: int) -> SessionTurn:
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
    )


def outlines_to_turns(rows: Iterable[Any]) -> list[SessionTurn]:
    """Return turns without texts and times from `outlines`, ten times as fast; their tokens include the marker."""
    return list(map(_outlined, rows))


def _outlined(row: Any) -> SessionTurn:
    tokens = row.shown_tokens + marker_tokens(row)
    shown = (row.id, row.role, "", tokens, row.state, row.pinned)
    return SessionTurn(*shown, row.tool_calls, row.tool_call_id, tokens, None, row.name, row.sequence)


def read_all_turns(session: Session) -> list[SessionTurn]:
    """Return every message of the session in order, whatever its state."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).originals()
    return messages_to_turns(rows.without_vectors(), model=session.model)
