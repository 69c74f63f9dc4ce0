"""Collect, change, remove and restore golden questions. Their evidence are live memories of the tenant."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from context.models import GoldenMemory, GoldenQuestion
from context.services.profiles.fields import TOKENS_MAX, TOKENS_MIN
from memories.models import Memory
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import MAX_CONTENT_BYTES, ContentError, check_content
from memories.tenancy.audit import Actor, ChangedValue, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput, StaleVersion
from memories.tenancy.required_rows import find_row

QUESTION_CHARACTERS_MAX = MAX_CONTENT_BYTES
ANSWER_CHARACTERS_MAX = 2_000
CATEGORY_CHARACTERS_MAX = 64
EVIDENCE_MEMORIES_MAX = 100


@transaction.atomic
def collect_golden_question(
    *,
    tenant_id: UUID,
    text: str,
    partition: PartitionPath | None = None,
    memory_ids: Iterable[UUID],
    as_of: datetime | None = None,
    max_tokens: int | None = None,
    answer: str = "",
    category: str = "",
    by: Actor,
    now: datetime,
) -> GoldenQuestion:
    """Add a question with this evidence, or add the evidence to the same question. Return the question.

    `max_tokens` is the budget with which the question was asked; an existing question keeps its budget.

    Raises `InvalidInput` by field, `Conflict` `busy`.
    """
    path = str(partition or "")
    values = _checked(text, answer, category, as_of, now) | {"max_tokens": _checked_budget(max_tokens)}
    memories = _live(tenant_id, path, memory_ids, now)
    if not memories:
        raise InvalidInput("no_evidence", "A golden question needs at least one memory.", "memory_ids")
    identity = {"tenant_id": tenant_id, "text": values["text"], "partition_path": path, "as_of": as_of}
    rows = GoldenQuestion.objects.for_tenant(tenant_id).not_removed().locked()
    question: GoldenQuestion
    try:
        question, is_new = rows.get_or_create(
            **identity, defaults=values | {"created_at": now, "created_by": by.stored_label}
        )
    except IntegrityError as error:
        detail = "The same question is being added and removed at the same time. Try again."
        raise Conflict("busy", detail) from error
    before = question.edited_values()
    _add_evidence(question, memories)
    if is_new:
        audit_rows("collect_golden_question", [question], fields=["memories"], by=by, now=now)
    else:
        _audit_change(question, before, by, now)
    return question


@transaction.atomic
def update_golden_question(
    *,
    question: GoldenQuestion,
    text: str,
    answer: str,
    category: str,
    as_of: datetime | None,
    max_tokens: int | None = None,
    seen: str | None = None,
    by: Actor,
    now: datetime,
) -> GoldenQuestion:
    """Change text, answer, category, time or budget; `seen` is the `state_hash()` that the caller read.

    Raises `InvalidInput`, `Conflict` `duplicate` or `removed`, `StaleVersion` for another state than `seen`.
    """
    current = _locked(question)
    if seen not in (None, current.state_hash()):
        raise StaleVersion("question_changed", "Someone else changed the question in the meantime.")
    values = _checked(text, answer, category, as_of, now) | {"max_tokens": _checked_budget(max_tokens)}
    return set_golden_values(question=current, values=values, by=by, now=now)


@transaction.atomic
def set_golden_values(
    *, question: GoldenQuestion, values: Mapping[str, Any], by: Actor, now: datetime
) -> GoldenQuestion:
    """Set some of `GoldenQuestion.edited_values`, which are valid: of the memories, those that still exist.

    Raises `Conflict` `duplicate` or `removed`.
    """
    current = _locked(question)
    before = current.edited_values()
    changed = [name for name in GoldenQuestion.EDITED if name in values and values[name] != before[name]]
    for name in changed:
        setattr(current, name, values[name])
    if changed:
        _save(current, changed, "text")
    if "memories" in values:
        current.evidence.exclude(memory_id__in=values["memories"]).delete()
        kept = Memory.objects.for_tenant(current.tenant_id).with_ids(values["memories"])
        _add_evidence(current, set(kept.values_list("pk", flat=True)))
    _audit_change(current, before, by, now)
    return current


@transaction.atomic
def add_golden_memory(*, question: GoldenQuestion, memory_id: UUID, by: Actor, now: datetime) -> GoldenQuestion:
    """Add a memory to the evidence. Raises `InvalidInput`, `Conflict` `removed`."""
    current = _locked(question)
    before = current.edited_values()
    _add_evidence(current, _live(current.tenant_id, current.partition_path, [memory_id], now))
    _audit_change(current, before, by, now)
    return current


@transaction.atomic
def remove_golden_memory(*, question: GoldenQuestion, memory_id: UUID, by: Actor, now: datetime) -> GoldenQuestion:
    """Remove a memory from the evidence. Raises `Conflict` `last_memory` for the only one, or `removed`."""
    current = _locked(question)
    evidence = current.evidence.all()
    if evidence.count() <= 1:
        raise Conflict("last_memory", "A golden question needs at least one memory; remove the question instead.")
    before = current.edited_values()
    evidence.filter(memory_id=memory_id).delete()
    _audit_change(current, before, by, now)
    return current


@transaction.atomic
def remove_golden_question(*, question: GoldenQuestion, by: Actor, now: datetime) -> GoldenQuestion:
    """Remove a question; it can be restored. Idempotent."""
    if question.removed_at is None:
        question.removed_at = now
        question.save(update_fields=["removed_at"])
        audit_rows("remove_golden_question", [question], fields=["removed_at"], by=by, now=now)
    return question


@transaction.atomic
def restore_golden_question(*, question: GoldenQuestion, by: Actor, now: datetime) -> GoldenQuestion:
    """Restore a removed question. Raises `Conflict` `duplicate` if the same question exists."""
    if question.removed_at is not None:
        question.removed_at = None
        _save(question, ["removed_at"])
        audit_rows("restore_golden_question", [question], fields=["removed_at"], by=by, now=now)
    return question


def _audit_change(question: GoldenQuestion, before: Mapping[str, Any], by: Actor, now: datetime) -> None:
    """Record the values that differ from those `before`, if any."""
    after = question.edited_values()
    changed = [name for name in after if after[name] != before[name]]
    changes = [ChangedValue(question.pk, name, before[name], after[name]) for name in changed]
    if changes:
        audit_rows("change_golden_question", [question], fields=changed, changes=changes, by=by, now=now)


def _save(question: GoldenQuestion, fields: Iterable[str], field: str = "") -> None:
    try:
        with transaction.atomic():
            question.save(update_fields=fields)
    except IntegrityError as error:
        detail = "A golden question with this text, partition and time exists."
        raise Conflict("duplicate", detail, field) from error


def _locked(question: GoldenQuestion) -> GoldenQuestion:
    rows = GoldenQuestion.objects.for_tenant(question.tenant_id).with_id(question.pk)
    row = find_row(rows.locked(), GoldenQuestion, "golden question")
    if row.removed_at is not None:
        raise Conflict("removed", "The golden question was removed. Restore it first.")
    return row


def _checked(text: str, answer: str, category: str, as_of: datetime | None, now: datetime) -> dict[str, Any]:
    values = {"text": text.strip(), "answer": answer.strip(), "category": category.strip()}
    limits = {"text": QUESTION_CHARACTERS_MAX, "answer": ANSWER_CHARACTERS_MAX, "category": CATEGORY_CHARACTERS_MAX}
    for name, value in values.items():
        if value or name == "text":
            try:
                check_content(value)
            except ContentError as error:
                raise InvalidInput(error.code, error.detail, name) from error
        if len(value) > limits[name]:
            raise InvalidInput("too_long", f"At most {limits[name]:,} characters are allowed.", name)
    # No context can be read at a future time, so every evaluation would fail.
    if as_of is not None and as_of > now:
        raise InvalidInput("in_the_future", "The time of a question must not be in the future.", "as_of")
    return {**values, "as_of": as_of}


def _checked_budget(max_tokens: int | None) -> int | None:
    if max_tokens is not None and not TOKENS_MIN <= max_tokens <= TOKENS_MAX:
        raise InvalidInput("out_of_range", f"The number must be between 1 and {TOKENS_MAX:,}.", "max_tokens")
    return max_tokens


def _live(tenant_id: UUID, path: str, memory_ids: Iterable[UUID], now: datetime) -> Collection[UUID]:
    """Return the ids, all of live memories in the partition. Raises `InvalidInput`."""
    ids = set(memory_ids)
    rows = Memory.objects.for_tenant(tenant_id).live(now).within(path).with_ids(ids)
    found = set(rows.values_list("pk", flat=True))
    if found != ids:
        detail = "A memory does not exist, is archived, or is outside the question's partition."
        raise InvalidInput("unknown_memory", detail, "memory_ids")
    return found


def _add_evidence(question: GoldenQuestion, memory_ids: Collection[UUID]) -> None:
    if len({*question.evidence.values_list("memory_id", flat=True), *memory_ids}) > EVIDENCE_MEMORIES_MAX:
        raise InvalidInput("too_many", f"A golden question has at most {EVIDENCE_MEMORIES_MAX} memories.", "memory_ids")
    rows = [GoldenMemory(tenant_id=question.tenant_id, question=question, memory_id=pk) for pk in memory_ids]
    GoldenMemory.objects.bulk_create(rows, ignore_conflicts=True)
