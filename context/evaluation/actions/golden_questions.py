"""Collect, change, remove and restore golden questions. Their evidence is live memories of the tenant."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from context.models import GoldenMemory, GoldenQuestion
from memories.models import Memory
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import ContentError, check_content
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound

QUESTION_CHARACTERS_MAX = 4_000
_ANSWER_CHARACTERS_MAX = 2_000
CATEGORY_CHARACTERS_MAX = 64
WANTED_MAX = 100
#: Attempts to find or create a question that others add and remove at the same time.
COLLECT_ATTEMPTS = 3


@transaction.atomic
def collect_golden_question(
    *,
    tenant_id: UUID,
    text: str,
    partition: PartitionPath | None = None,
    memory_ids: Iterable[UUID],
    asked_at: datetime | None = None,
    answer: str = "",
    category: str = "",
    by: Actor,
    now: datetime,
) -> GoldenQuestion:
    """Add a question with this evidence, or add the evidence to the same question. Return the question.

    Raises `InvalidInput` by field, `Conflict` `busy`.
    """
    path = str(partition or "")
    values = _checked(text, answer, category)
    _refuse_the_future(asked_at, now)
    memories = _live(tenant_id, path, memory_ids, now)
    if not memories:
        raise InvalidInput("no_evidence", "A golden question wants at least one memory.", "memory_ids")
    question, is_new = _get_or_create(tenant_id, values, path, asked_at, by, now)
    _add_evidence(question, memories)
    _audit(question, "collect_golden_question" if is_new else "change_golden_question", ["memories"], by, now)
    return question


@transaction.atomic
def update_golden_question(
    *,
    question: GoldenQuestion,
    text: str,
    answer: str,
    category: str,
    asked_at: datetime | None,
    by: Actor,
    now: datetime,
) -> GoldenQuestion:
    """Change text, answer, category or time. Raises `InvalidInput`, `Conflict` `duplicate` or `removed`."""
    current = _locked(question)
    words = _checked(text, answer, category)
    _refuse_the_future(asked_at, now)
    values: dict[str, Any] = words | {"asked_at": asked_at}
    rows = GoldenQuestion.objects.for_tenant(question.tenant_id).not_removed()
    if rows.with_question(words["text"], current.partition_path, asked_at).exclude(pk=current.pk).exists():
        raise _duplicate("text")
    changed = [name for name, value in values.items() if getattr(current, name) != value]
    if changed:
        for name in changed:
            setattr(current, name, values[name])
        _save(current, changed, "text")
        _audit(current, "change_golden_question", changed, by, now)
    return current


@transaction.atomic
def add_golden_memory(*, question: GoldenQuestion, memory_id: UUID, by: Actor, now: datetime) -> GoldenQuestion:
    """Add a memory to the evidence. Raises `InvalidInput`, `Conflict` `removed`."""
    current = _locked(question)
    _add_evidence(current, _live(current.tenant_id, current.partition_path, [memory_id], now))
    _audit(current, "change_golden_question", ["memories"], by, now)
    return current


@transaction.atomic
def remove_golden_memory(*, question: GoldenQuestion, memory_id: UUID, by: Actor, now: datetime) -> GoldenQuestion:
    """Remove a memory from the evidence. Raises `Conflict` `last_memory` for the only one, or `removed`."""
    current = _locked(question)
    wanted = current.wanted.all()
    if wanted.count() <= 1:
        raise Conflict("last_memory", "A golden question wants at least one memory; remove the question instead.")
    wanted.filter(memory_id=memory_id).delete()
    _audit(current, "change_golden_question", ["memories"], by, now)
    return current


@transaction.atomic
def remove_golden_question(*, question: GoldenQuestion, by: Actor, now: datetime) -> GoldenQuestion:
    """Remove a question; it can be restored. Idempotent."""
    if question.removed_at is None:
        question.removed_at = now
        question.save(update_fields=["removed_at"])
        _audit(question, "remove_golden_question", ["removed_at"], by, now)
    return question


@transaction.atomic
def restore_golden_question(*, question: GoldenQuestion, by: Actor, now: datetime) -> GoldenQuestion:
    """Restore a removed question. Raises `Conflict` `duplicate` if the same question exists."""
    if question.removed_at is None:
        return question
    rows = GoldenQuestion.objects.for_tenant(question.tenant_id).not_removed()
    if rows.with_question(question.text, question.partition_path, question.asked_at).exists():
        raise _duplicate()
    question.removed_at = None
    _save(question, ["removed_at"])
    _audit(question, "restore_golden_question", ["removed_at"], by, now)
    return question


def _get_or_create(
    tenant_id: UUID, words: dict[str, str], path: str, asked_at: datetime | None, by: Actor, now: datetime
) -> tuple[GoldenQuestion, bool]:
    """Return the question with this text, locked, and whether it is new. Concurrent calls create one row."""
    rows = GoldenQuestion.objects.for_tenant(tenant_id).not_removed().with_question(words["text"], path, asked_at)
    for _ in range(COLLECT_ATTEMPTS):
        found: GoldenQuestion | None = rows.locked().first()
        if found is not None:
            return found, False
        question = GoldenQuestion(
            tenant_id=tenant_id,
            partition_path=path,
            asked_at=asked_at,
            created_at=now,
            created_by=by.label[:150],
            **words,
        )
        try:
            with transaction.atomic():
                question.save(force_insert=True)
        except IntegrityError:
            continue
        return question, True
    raise Conflict("busy", "The same question is being collected and removed at this moment. Try again.")


def _save(question: GoldenQuestion, fields: Iterable[str], field: str = "") -> None:
    """Raises `Conflict` `duplicate` if the same question was added at the same time."""
    try:
        with transaction.atomic():
            question.save(update_fields=fields)
    except IntegrityError as error:
        raise _duplicate(field) from error


def _duplicate(field: str = "") -> Conflict:
    return Conflict("duplicate", "There is a golden question of these words, place and time.", field)


def _locked(question: GoldenQuestion) -> GoldenQuestion:
    row: GoldenQuestion | None = (
        GoldenQuestion.objects.for_tenant(question.tenant_id).with_id(question.pk).locked().first()
    )
    if row is None:
        raise NotFound("not_found", "There is no such golden question.")
    if row.removed_at is not None:
        raise Conflict("removed", "The golden question was removed. Put it back first.")
    return row


def _checked(text: str, answer: str, category: str) -> dict[str, str]:
    values = {"text": text.strip(), "answer": answer.strip(), "category": category.strip()}
    limits = {"text": QUESTION_CHARACTERS_MAX, "answer": _ANSWER_CHARACTERS_MAX, "category": CATEGORY_CHARACTERS_MAX}
    for name, value in values.items():
        if value or name == "text":
            try:
                check_content(value)
            except ContentError as error:
                raise InvalidInput(error.code, error.detail, name) from error
        if len(value) > limits[name]:
            raise InvalidInput("too_long", f"At most {limits[name]:,} characters are taken.", name)
    return values


def _refuse_the_future(asked_at: datetime | None, now: datetime) -> None:
    """Raise `InvalidInput`: no context can be read at a future time, so every evaluation would fail."""
    if asked_at is not None and asked_at > now:
        raise InvalidInput("in_the_future", "A question is asked now or in the past.", "asked_at")


def _live(tenant_id: UUID, path: str, memory_ids: Iterable[UUID], now: datetime) -> Collection[UUID]:
    """Return the ids, all of live memories in the partition. Raises `InvalidInput`."""
    wanted = set(memory_ids)
    rows = Memory.objects.for_tenant(tenant_id).live(now).within(path).with_ids(wanted)
    found = set(rows.values_list("pk", flat=True))
    if found != wanted:
        detail = "A memory that is wanted does not exist, is archived, or lies outside of the question's partition."
        raise InvalidInput("unknown_memory", detail, "memory_ids")
    return found


def _add_evidence(question: GoldenQuestion, memory_ids: Collection[UUID]) -> None:
    if question.wanted.count() + len(memory_ids) > WANTED_MAX:
        raise InvalidInput("too_many", f"A golden question wants at most {WANTED_MAX} memories.", "memory_ids")
    rows = [
        GoldenMemory(tenant_id=question.tenant_id, question=question, memory_id=memory_id) for memory_id in memory_ids
    ]
    GoldenMemory.objects.bulk_create(rows, ignore_conflicts=True)


def _audit(question: GoldenQuestion, verb: str, fields: Iterable[str], by: Actor, now: datetime) -> None:
    record_audit(
        tenant_id=question.tenant_id,
        by=by,
        verb=verb,
        target_kind="golden_question",
        target_ids=[question.pk],
        fields=fields,
        now=now,
    )
