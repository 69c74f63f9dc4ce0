"""Create, update, close and restore sessions."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from compaction.models import Message, Session
from compaction.models.sessions import MODEL_CHARACTERS_MAX, WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from compaction.pipeline.session_rows import (
    count_context_tokens,
    count_message_tokens,
    count_shown_tokens,
    count_text_tokens,
    lock_session,
)
from compaction.services.sessions.drafts import text_problem
from context.profiles.token_counters import budget_calculator
from context.services.assembly.model_catalog import DEFAULT_MODEL
from memories.models import AuditEntry, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import ContentError, check_metadata, is_same_json
from memories.services.store.drafts import FieldProblem
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import invalid

_CHANGEABLE_FIELDS = ("directive", "model", "max_context_tokens", "metadata")


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
    tokens = count_text_tokens(directive, name)
    session: Session = Session.objects.create(
        tenant=tenant,
        partition=ensure_partitions(tenant.pk, [place])[place.path],
        partition_path=place.path,
        created_by_key_id=by.id if by.kind == AuditEntry.ActorKind.KEY else None,
        created_at=now,
        directive_tokens=tokens,
        context_tokens=tokens,
        **values,
    )
    audit_rows("create_session", [session], by=by, now=now)
    return session


@transaction.atomic
def update_session(*, session: Session, changes: Mapping[str, Any], by: Actor, now: datetime) -> Session:
    """Change fields of `_CHANGEABLE_FIELDS`; another model recounts every message, a window of None is the model's.

    A window that was the former model's becomes the new one's. Raises `InvalidInput`, or `Conflict` `session_closed`.
    """
    unknown = set(changes) - set(_CHANGEABLE_FIELDS)
    if unknown:
        raise invalid([FieldProblem(name, "unknown_field", "There is no such field.") for name in sorted(unknown)])
    current = lock_session(session.pk)
    wanted, window_of = {**changes}, budget_calculator().context_window
    if "model" in wanted and current.max_context_tokens == window_of(current.model):
        wanted.setdefault("max_context_tokens", None)
    if wanted.get("max_context_tokens", 0) is None:
        wanted["max_context_tokens"] = window_of(wanted.get("model", current.model))
    _check(wanted)
    fields = [name for name, value in wanted.items() if not is_same_json(getattr(current, name), value)]
    for name in fields:
        setattr(current, name, wanted[name])
    if {"model", "directive"} & set(fields):
        current.directive_tokens = count_text_tokens(current.directive, current.model)
    if "model" in fields:
        _recount(current)
    if fields:
        current.context_tokens = count_context_tokens(current)
        current.save(update_fields=[*fields, "directive_tokens", "context_tokens"])
        audit_rows("update_session", [current], fields=fields, by=by, now=now)
    return current


@transaction.atomic
def close_session(*, session: Session, by: Actor, now: datetime) -> Session:
    """End the session; it can be restored. A closed one stays as it is."""
    return _set_closed(session, now, "close_session", by, now)


@transaction.atomic
def restore_session(*, session: Session, by: Actor, now: datetime) -> Session:
    """Open a closed session again; an open one stays as it is."""
    return _set_closed(session, None, "restore_session", by, now)


def _set_closed(session: Session, closed_at: datetime | None, verb: str, by: Actor, now: datetime) -> Session:
    current = lock_session(session.pk, is_open=False)
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
    if not isinstance(model, str) or not model.strip() or len(model) > MODEL_CHARACTERS_MAX or not model.isprintable():
        yield FieldProblem("model", "bad_name", f"A model's name has 1 to {MODEL_CHARACTERS_MAX} printable characters.")
    window = values.get("max_context_tokens", WINDOW_TOKENS_MIN)
    if isinstance(window, bool) or not isinstance(window, int):
        yield FieldProblem("max_context_tokens", "not_an_integer", "An integer is needed.")
    elif not WINDOW_TOKENS_MIN <= window <= WINDOW_TOKENS_MAX:
        detail = f"The integer must be between {WINDOW_TOKENS_MIN} and {WINDOW_TOKENS_MAX:,}."
        yield FieldProblem("max_context_tokens", "out_of_range", detail)
    if problem := text_problem(values.get("directive", "")):
        yield FieldProblem("directive", *problem)
    try:
        check_metadata(values.get("metadata", {}))
    except ContentError as error:
        yield FieldProblem("metadata", error.code, error.detail)


def _recount(session: Session) -> None:
    """Count every message of the session, also summaries, in tokens of its model."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).without_vectors()
    counts: dict[UUID, tuple[int, int]] = {}
    for message in rows:
        was_shown = message.shown_tokens
        message.tokens = count_message_tokens(message, session.model)
        counts[message.pk] = (message.tokens, count_shown_tokens(message, session.model) if was_shown else 0)
    rows.set_tokens(counts)
