"""Create, change, close and restore sessions; append, pin and expand messages. A lock serialises the writers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from compaction.models import Message, Session
from compaction.models.sessions import MODEL_CHARACTERS_MAX
from compaction.pipeline import session_rows
from compaction.services.sessions.drafts import (
    TOOL_ROLE,
    NewMessage,
    new_message_problems,
    text_problem,
    tool_call_problems,
)
from compaction.services.sessions.session_budget import head_marker_tokens, marker_tokens
from compaction.services.sessions.tool_calls import call_ids_of, canonical_calls
from compaction.services.sessions.transcript import shown_text
from context.profiles.token_counters import budget_calculator
from context.services.assembly.model_catalog import DEFAULT_MODEL
from memories.models import AuditEntry, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import ContentError, check_metadata, is_same_json
from memories.services.store.drafts import FieldProblem
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, invalid
from memories.tenancy.queries.insertions import insert_rows
from memories.tenancy.queries.prepared import sent_together
from memories.tenancy.required_rows import find_row

#: Longer texts are counted before the session is locked, because that takes a while (some 5 ms for these).
COUNTED_UNDER_LOCK_CHARACTERS_MAX = 20_000


@transaction.atomic
def create_session(
    *,
    tenant: Tenant,
    partition: PartitionPath | None = None,
    model: str = "",
    max_context_tokens: int | None = None,
    directive: str = "",
    metadata: Mapping[str, Any] | None = None,
    by: Actor,
    now: datetime,
) -> Session:
    """Open a session without messages; its window is the model's by default. Raises `InvalidInput`."""
    name = model or DEFAULT_MODEL
    window = budget_calculator().context_window(name) if max_context_tokens is None else max_context_tokens
    values = {"model": name, "max_context_tokens": window, "directive": directive, "metadata": dict(metadata or {})}
    _check(values)
    place = partition or PartitionPath()
    tokens = session_rows.count_text_tokens(shown_text(directive), name)
    session: Session = Session.objects.create(
        tenant=tenant,
        partition=ensure_partitions(tenant.pk, [place])[place.path],
        partition_path=place.path,
        created_by_key_id=by.id if by.kind == AuditEntry.ActorKind.KEY else None,
        created_at=now,
        directive_tokens=tokens,
        context_tokens=tokens,
        marker_tokens=head_marker_tokens(name) if directive else 0,
        **values,
    )
    audit_rows("create_session", [session], by=by, now=now)
    return session


@transaction.atomic
def update_session(*, session: Session, changes: Mapping[str, Any], by: Actor, now: datetime) -> Session:
    """Change directive, model, window or metadata; another model recounts every message.

    A window of None, or that was the former model's, becomes the model's. Raises `InvalidInput`, or `Conflict`.
    """
    current = session_rows.lock_session(session.pk)
    values, window_of = {**changes}, budget_calculator().context_window
    if "model" in values and current.max_context_tokens == window_of(current.model):
        values.setdefault("max_context_tokens", None)
    if values.get("max_context_tokens", 0) is None:
        values["max_context_tokens"] = window_of(values.get("model", current.model))
    _check(values)
    fields = [name for name, value in values.items() if not is_same_json(getattr(current, name), value)]
    for name in fields:
        setattr(current, name, values[name])
    if {"model", "directive"} & set(fields):
        current.directive_tokens = session_rows.count_text_tokens(shown_text(current.directive), current.model)
    if "model" in fields:
        _recount(current)
    if fields:
        current.save(update_fields=[*fields, "directive_tokens", *session_rows.recount_context(current)])
        audit_rows("update_session", [current], fields=fields, by=by, now=now)
    return current


@transaction.atomic
def close_session(*, session: Session, by: Actor, now: datetime) -> Session:
    """End the session; it can be restored. Has no effect on a closed session."""
    return _set_closed(session, now, "close_session", by, now)


@transaction.atomic
def restore_session(*, session: Session, by: Actor, now: datetime) -> Session:
    """Open a closed session again; has no effect on an open session."""
    return _set_closed(session, None, "restore_session", by, now)


def _set_closed(session: Session, closed_at: datetime | None, verb: str, by: Actor, now: datetime) -> Session:
    current = session_rows.lock_session(session.pk, is_open=False)
    if (current.closed_at is None) != (closed_at is None):
        current.closed_at = closed_at
        current.save(update_fields=["closed_at"])
        audit_rows(verb, [current], fields=["closed_at"], by=by, now=now)
    return current


def _check(values: Mapping[str, Any]) -> None:
    if problems := list(_problems_of(values)):
        raise invalid(problems)


def _problems_of(values: Mapping[str, Any]) -> Iterator[FieldProblem]:
    model = values.get("model", DEFAULT_MODEL)
    if not model.strip() or len(model) > MODEL_CHARACTERS_MAX or not model.isprintable():
        yield FieldProblem(
            "model", "bad_name", f"A model name must have 1 to {MODEL_CHARACTERS_MAX} printable characters."
        )
    if problem := text_problem(values.get("directive", "")):
        yield FieldProblem("directive", *problem)
    try:
        check_metadata(values.get("metadata", {}))
    except ContentError as error:
        yield FieldProblem("metadata", error.code, error.detail)


def _recount(session: Session) -> None:
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).without_vectors()
    counts: dict[UUID, tuple[int, int]] = {}
    for message in rows:
        was_shown = message.shown_tokens
        message.tokens = session_rows.count_message_tokens(message, session.model)
        counts[message.pk] = (
            message.tokens,
            session_rows.count_shown_tokens(message, session.model) if was_shown else 0,
        )
    rows.set_tokens(counts)


@dataclass(frozen=True)
class AppendResult:
    """The stored message of one row, and whether this append created it."""

    message: Message
    is_new: bool


@transaction.atomic(savepoint=False)
def append_messages(
    *, tenant_id: UUID, session_id: UUID, rows: Sequence[NewMessage], reach: str = "", by: Actor, now: datetime
) -> list[AppendResult]:
    """Append all of `rows` (1 to 500) in their order, or none; results are in the order of the rows.

    For a row whose `source_id` the session already has, the stored message is returned. Raises `InvalidInput` naming
    every problem, `NotFound` for a session that is closed or not within `reach`, or `Conflict` `source_id_taken` if a
    message with other content has it. The session of the returned messages lacks its directive and metadata.
    """
    if problems := new_message_problems(rows, now=now):
        raise invalid(problems)
    model, tokens = "", list[int]()
    if sum(len(row.content) for row in rows) > COUNTED_UNDER_LOCK_CHARACTERS_MAX:
        unlocked = find_row(Session.objects.for_tenant(tenant_id).with_id(session_id), Session)
        model = unlocked.model
        tokens = [session_rows.count_message_tokens(row, model) for row in rows]
    session = session_rows.lock_session_to_append(tenant_id, session_id, reach)
    if session.model != model:
        tokens = [session_rows.count_message_tokens(row, session.model) for row in rows]
    sources = {row.source_id for row in rows if row.source_id}
    known: dict[str, Message] = {}
    if sources:
        known = Message.objects.for_tenant(tenant_id).of_session(session_id).from_sources(sources)
    _refuse_other_content(rows, known)
    new_rows = _without_repetitions(rows, known)
    _check_calls(session, new_rows)
    appended = {
        index: _message(session, row, sequence, tokens[index], now)
        for sequence, (index, row) in enumerate(new_rows.items(), start=session.message_count)
    }
    if appended:
        _store(session, list(appended.values()), by, now)
    by_source = known | {message.source_id: message for message in appended.values()}
    return [
        AppendResult(appended[index], True) if index in appended else AppendResult(by_source[row.source_id], False)
        for index, row in enumerate(rows)
    ]


@transaction.atomic
def pin_message(*, message: Message, pinned: bool, by: Actor, now: datetime) -> Message:
    """Pin a message, so that it is never compacted and comes first in contexts, or unpin it. Raises `Conflict`."""
    current = _lock_message(message)
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
    """Show the original of a masked message in the context again; has no effect on a live one. Raises `Conflict`."""
    current = _lock_message(message)
    if current.state == Message.State.COMPACTED:
        detail = "A summary has replaced this message; roll the compaction back to show it again."
        raise Conflict("compacted", detail)
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


def _refuse_other_content(rows: Sequence[NewMessage], known: Mapping[str, Message]) -> None:
    """A `source_id` names one message, in the session and among the rows."""
    content_fields = {
        source_id: NewMessage(row.role, row.content, row.name, row.tool_calls, row.tool_call_id).content_fields
        for source_id, row in known.items()
    }
    for index, row in enumerate(rows):
        if row.source_id and content_fields.setdefault(row.source_id, row.content_fields) != row.content_fields:
            detail = "The session has another message with this source_id."
            raise Conflict("source_id_taken", detail, f"messages.{index}.source_id")


def _without_repetitions(rows: Sequence[NewMessage], known: Mapping[str, Message]) -> dict[int, NewMessage]:
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
    session.message_count += len(messages)
    session.context_tokens += sum(message.shown_tokens for message in messages)
    session.marker_tokens += sum(marker_tokens(message, session.model) for message in messages)
    session.last_message_at = now
    with sent_together():
        insert_rows(messages)
        Session.objects.count_appended(session)
        audit_rows("append_messages", messages, by=by, now=now)


def _lock_message(message: Message) -> Message:
    """Return the current message, with its session locked until the transaction ends."""
    session = session_rows.lock_session(message.session_id)
    current: Message = Message.objects.for_tenant(session.tenant_id).with_id(message.pk).without_vectors().get()
    current.session = session
    return current
