"""Append, pin and expand messages. Writers of one session are serialised by a lock on its row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from compaction.models import Message, Session
from compaction.pipeline.session_rows import count_message_tokens, found, lock_session
from compaction.services.sessions.drafts import TOOL_ROLE, NewMessage, new_message_problems, tool_call_problems
from compaction.services.sessions.tool_calls import call_ids_of, canonical_calls
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, invalid


@dataclass(frozen=True)
class AppendResult:
    """The stored message of one row, and whether this append created it."""

    message: Message
    is_new: bool


@transaction.atomic
def append_messages(*, session_id: UUID, rows: Sequence[NewMessage], by: Actor, now: datetime) -> list[AppendResult]:
    """Append all of `rows` (1 to 500) in their order, or none; results are in the order of the rows.

    For a row whose `source_id` the session already has, the stored message is returned. Raises `InvalidInput` naming
    every fault, `NotFound`, or `Conflict`: `session_closed`, `source_id_taken` by a message with other content.
    """
    if problems := new_message_problems(rows, now=now):
        raise invalid(problems)
    model = found(Session.objects.with_id(session_id), Session).model
    # Long texts take time, so they are counted before the session is locked.
    tokens = [count_message_tokens(row, model) for row in rows]
    session = lock_session(session_id)
    if session.model != model:
        tokens = [count_message_tokens(row, session.model) for row in rows]
    known = _known_sources(session, rows)
    _refuse_other_content(rows, known)
    fresh = _without_repetitions(rows, known)
    _check_calls(session, fresh)
    made = {
        index: _message(session, row, sequence, tokens[index], now)
        for sequence, (index, row) in enumerate(fresh.items(), start=session.message_count)
    }
    if made:
        _store(session, list(made.values()), by, now)
    by_source = known | {message.source_id: message for message in made.values()}
    return [
        AppendResult(made[index], True) if index in made else AppendResult(by_source[row.source_id], False)
        for index, row in enumerate(rows)
    ]


@transaction.atomic
def pin_message(*, message: Message, pinned: bool, by: Actor, now: datetime) -> Message:
    """Pin a message, so that it is never compacted and comes first in contexts, or unpin it.

    Raises `Conflict` `compacted` for one that a summary has replaced, or `session_closed`.
    """
    current = _held(message)
    if current.pinned == pinned:
        return current
    if pinned and current.state == Message.State.COMPACTED:
        raise Conflict("compacted", "A summary has replaced this message; roll the compaction back before you pin it.")
    current.pinned = pinned
    current.save(update_fields=["pinned"])
    audit_rows("pin_message" if pinned else "unpin_message", [current], fields=["pinned"], by=by, now=now)
    return current


@transaction.atomic
def expand_message(*, message: Message, by: Actor, now: datetime) -> Message:
    """Show the original of a masked message in the context again; any other stays as it is.

    The returned row contains the original in any state; a compacted message stays compacted.
    """
    current = _held(message)
    if current.state != Message.State.MASKED:
        return current
    session = current.session
    session.context_tokens += current.tokens - current.shown_tokens
    session.save(update_fields=["context_tokens"])
    current.state, current.masked_at, current.original_tool = Message.State.LIVE, None, ""
    current.shown_tokens = current.tokens
    current.save(update_fields=["state", "masked_at", "original_tool", "shown_tokens"])
    audit_rows("expand_message", [current], fields=["state"], by=by, now=now)
    return current


def _known_sources(session: Session, rows: Sequence[NewMessage]) -> dict[str, Message]:
    sources = {row.source_id for row in rows if row.source_id}
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    known: dict[str, Message] = messages.from_sources(sources) if sources else {}
    return known


def _refuse_other_content(rows: Sequence[NewMessage], known: Mapping[str, Message]) -> None:
    """A `source_id` names one message, in the session and among the rows."""
    content_fields = {
        source_id: NewMessage(row.role, row.content, row.name, row.tool_calls, row.tool_call_id).content_fields
        for source_id, row in known.items()
    }
    for index, row in enumerate(rows):
        if row.source_id and content_fields.setdefault(row.source_id, row.content_fields) != row.content_fields:
            detail = "The session has another message of this source_id."
            raise Conflict("source_id_taken", detail, f"messages[{index}].source_id")


def _without_repetitions(rows: Sequence[NewMessage], known: Mapping[str, Message]) -> dict[int, NewMessage]:
    """Return the rows to store, by index."""
    first = {row.source_id: index for index, row in reversed(list(enumerate(rows)))}
    return {
        index: row
        for index, row in enumerate(rows)
        if not row.source_id or (row.source_id not in known and first[row.source_id] == index)
    }


def _check_calls(session: Session, rows: Mapping[int, NewMessage]) -> None:
    results = {row.tool_call_id for row in rows.values() if row.role == TOOL_ROLE}
    ids = results.union(*(call_ids_of(row.tool_calls) for row in rows.values()))
    if not ids:
        return
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    answered = messages.answered_ids(results) if results else set()
    if problems := tool_call_problems(rows, called=messages.called_ids(ids), answered=answered):
        raise invalid(problems)


def _message(session: Session, row: NewMessage, sequence: int, tokens: int, now: datetime) -> Message:
    return Message(
        tenant_id=session.tenant_id,
        session=session,
        sequence=sequence,
        role=row.role,
        content=row.content,
        name=row.name,
        tool_calls=canonical_calls(row.tool_calls),
        tool_call_id=row.tool_call_id,
        tokens=tokens,
        shown_tokens=tokens,
        pinned=row.pinned,
        metadata=dict(row.metadata),
        source_id=row.source_id,
        created_at=row.created_at or now,
        recorded_at=now,
    )


def _store(session: Session, messages: list[Message], by: Actor, now: datetime) -> None:
    Message.objects.bulk_create(messages)
    session.message_count += len(messages)
    session.context_tokens += sum(message.shown_tokens for message in messages)
    session.last_message_at = now
    session.save(update_fields=["message_count", "context_tokens", "last_message_at"])
    audit_rows("append_messages", messages, by=by, now=now)


def _held(message: Message) -> Message:
    """Return the message as it is now, with its session locked until the transaction ends."""
    session = lock_session(message.session_id)
    current: Message = Message.objects.for_tenant(session.tenant_id).with_id(message.pk).without_vectors().get()
    current.session = session
    return current
