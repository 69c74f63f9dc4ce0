"""Change a tenant's embedding model, retry refused texts, and compute vectors again (ADR-0082)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memories import tasks
from memories.embeddings import reembedding
from memories.embeddings.providers import KnownModel, UnknownModel, default_model, model_named
from memories.embeddings.vectors import ensure_active_model
from memories.models import EmbeddingModel, Memory, MissingVector, Tenant
from memories.tenancy.audit import Actor, audit_rows, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput
from memory_platform.web.numerals import counted

EmbeddingModelState = EmbeddingModel.State


@dataclass(frozen=True)
class ModelSwitchResult:
    """The result of a switch: done, or left to the worker until `waiting` vectors are computed."""

    model: EmbeddingModel
    is_done: bool
    waiting: int = 0


@transaction.atomic
def start_reembedding(
    *, tenant: Tenant, model: str, switches_when_filled: bool, by: Actor, now: datetime
) -> EmbeddingModel:
    """Start to compute vectors of `model` for every version of every memory, next to those of the active model.

    Raises `InvalidInput` `unknown_model` or `Conflict` (`already_active`, `already_filled`, `being_removed`, `busy`).
    """
    known = _known(model)
    EmbeddingModel.objects.lock_exclusively(tenant.pk)
    models = EmbeddingModel.objects.for_tenant(tenant.pk)
    if not models.active().exists():
        default = default_model()
        ensure_active_model(tenant.pk, default.name, default.dimension)
    row = models.named(known.name).first()
    _refuse_to_start(row, models.filter(state=EmbeddingModelState.FILLING).first())
    row = row or EmbeddingModel(tenant=tenant, name=known.name)
    row.dimension, row.state, row.is_chosen = known.dimension, EmbeddingModelState.FILLING, True
    row.switches_when_filled, row.error, row.requested_by = switches_when_filled, "", by.stored_label
    row.started_at = now
    row.filled_at = row.retired_at = row.activated_at = row.deactivated_at = None
    row.save()
    MissingVector.objects.add_all(tenant.pk, row.pk, row.name, with_pending=True)
    row.needed = MissingVector.objects.for_tenant(tenant.pk).of_model(row.pk).row_count()
    row.save(update_fields=["needed"])
    audit_rows("start_reembedding", [row], fields=["state", "switches_when_filled"], by=by, now=now)
    tasks.enqueue_model_work(tenant.pk, row.pk)
    return row


@transaction.atomic
def switch_embedding_model(
    *, tenant: Tenant, model: str = "", confirm_missing: bool = False, by: Actor, now: datetime
) -> ModelSwitchResult:
    """Make `model` (by default the one being filled) active: now if no vector is missing, else once it is filled.

    With `confirm_missing`, always immediately; texts without a vector are then found by words only. Raises `Conflict`
    (`nothing_to_switch_to`, `already_active`, `refused_texts`).
    """
    EmbeddingModel.objects.lock_exclusively(tenant.pk)
    return _switch(_target(tenant, model), confirm_missing, by, now)


@transaction.atomic
def roll_back_embedding_model(
    *, tenant: Tenant, confirm_missing: bool = False, by: Actor, now: datetime
) -> ModelSwitchResult:
    """Make the formerly active model active again. Raises `Conflict` `nothing_to_roll_back_to`."""
    EmbeddingModel.objects.lock_exclusively(tenant.pk)
    former = EmbeddingModel.objects.for_tenant(tenant.pk).formerly_active().first()
    if former is None:
        raise Conflict("nothing_to_roll_back_to", "This tenant has no former model to roll back to.")
    return _switch(former, confirm_missing, by, now)


@transaction.atomic
def retire_embedding_model(*, tenant: Tenant, model: str, by: Actor, now: datetime) -> EmbeddingModel:
    """Remove the vectors of `model` in the background. Raises `Conflict` `is_active` or `nothing_to_retire`."""
    EmbeddingModel.objects.lock_exclusively(tenant.pk)
    row: EmbeddingModel | None = EmbeddingModel.objects.for_tenant(tenant.pk).named(_name(model)).first()
    if row is None or row.state == EmbeddingModelState.RETIRED:
        raise Conflict("nothing_to_retire", f"This tenant has no vectors of {model}.", "model")
    if row.state == EmbeddingModelState.ACTIVE:
        raise Conflict("is_active", f"{row.name} is the active model. Switch to another model first.", "model")
    if row.state != EmbeddingModelState.RETIRING:
        row.state, row.switches_when_filled = EmbeddingModelState.RETIRING, False
        row.save(update_fields=["state", "switches_when_filled"])
        audit_rows("retire_embedding_model", [row], fields=["state"], by=by, now=now)
    tasks.enqueue_model_work(tenant.pk, row.pk)
    return row


@transaction.atomic
def retry_refused_vectors(*, tenant: Tenant, model: str, by: Actor, now: datetime) -> int:
    """Retry the texts that `model` refused, after a change of the model or its limits; return their number."""
    row = EmbeddingModel.objects.for_tenant(tenant.pk).named(_name(model)).first()
    if row is None:
        raise Conflict("nothing_to_retry", f"This tenant has no vectors of {model}.", "model")
    refused = MissingVector.objects.for_tenant(tenant.pk).of_model(row.pk).refused().update(is_refused=False, error="")
    if refused:
        audit_rows("retry_refused_vectors", [row], fields=["is_refused"], by=by, now=now)
        tasks.enqueue_model_work(tenant.pk, row.pk)
    return int(refused)


@transaction.atomic
def retry_embeddings(*, tenant: Tenant, by: Actor, now: datetime) -> list[UUID]:
    """Make memories whose embedding failed pending again; return their ids."""
    failed = Memory.objects.for_tenant(tenant.pk).with_failed_embedding()
    return _make_pending("retry_embeddings", tenant, failed, by, now)


@transaction.atomic
def reembed_memories(*, tenant: Tenant, memory_ids: Iterable[UUID], by: Actor, now: datetime) -> list[UUID]:
    """Queue the vectors of these memories, except archived ones, to be computed again; return their ids.

    A search finds a memory by its former vector until the new one replaces it.
    """
    chosen = Memory.objects.for_tenant(tenant.pk).unarchived().with_ids(memory_ids)
    return _make_pending("reembed_memories", tenant, chosen, by, now)


def _make_pending(verb: str, tenant: Tenant, rows: Any, by: Actor, now: datetime) -> list[UUID]:
    ids = list(rows.locked().values_list("pk", flat=True))
    if ids:
        Memory.objects.filter(pk__in=ids).update(embedding_state=Memory.EmbeddingState.PENDING, embedding_error="")
        record_audit(verb, "memory", ids, tenant_id=tenant.pk, fields=["embedding_state"], by=by, now=now)
        tasks.enqueue_embedding(tenant.pk, ids)
    return ids


def _known(name: str) -> KnownModel:
    try:
        return model_named(name.strip())
    except UnknownModel as error:
        raise InvalidInput("unknown_model", error.detail, "model") from error


def _name(model: str) -> str:
    """Return the name under which a model is stored; `hashed` and `wordllama` are the models of those providers."""
    try:
        return model_named(model.strip()).name
    except UnknownModel:
        return model.strip()


def _refuse_to_start(row: EmbeddingModel | None, filling: EmbeddingModel | None) -> None:
    if row is not None and row.state == EmbeddingModelState.ACTIVE:
        raise Conflict("already_active", f"{row.name} is the active model.", "model")
    if row is not None and row.state in {EmbeddingModelState.FILLING, EmbeddingModelState.STANDBY}:
        raise Conflict("already_filled", f"{row.name} is already {row.state}: switch to it.", "model")
    if row is not None and row.state == EmbeddingModelState.RETIRING:
        raise Conflict("being_removed", f"The former vectors of {row.name} are still being removed.", "model")
    if filling is not None:
        raise Conflict("busy", f"Re-embedding with {filling.name} is in progress. Cancel it or wait for it.", "model")


def _target(tenant: Tenant, model: str) -> EmbeddingModel:
    models = EmbeddingModel.objects.for_tenant(tenant.pk)
    if model:
        row: EmbeddingModel | None = models.named(_name(model)).first()
    else:
        row = models.not_active().filter(activated_at=None).first() or models.formerly_active().first()
    if row is not None and row.state == EmbeddingModelState.ACTIVE:
        raise Conflict("already_active", f"{row.name} is the active model.", "model")
    if row is None or row.state not in {EmbeddingModelState.FILLING, EmbeddingModelState.STANDBY}:
        what = f"no vectors of {model}" if model else "no other model"
        detail = f"This tenant has {what}. Run `manage.py reembed --model NAME` first."
        raise Conflict("nothing_to_switch_to", detail, "model")
    return row


def _switch(target: EmbeddingModel, confirm_missing: bool, by: Actor, now: datetime) -> ModelSwitchResult:
    missing = MissingVector.objects.for_tenant(target.tenant_id).of_model(target.pk)
    refused = missing.refused().row_count() if target.activated_at is None else 0
    if refused and not confirm_missing:
        texts = counted(refused, "text", "texts")
        detail = f"{target.name} rejected {texts}. Retry them, or switch without their vectors."
        raise Conflict("refused_texts", detail)
    waiting = missing.waiting().row_count() if target.state == EmbeddingModelState.FILLING else 0
    waiting = waiting or reembedding.count_lost_vectors(target.tenant_id, target)
    if confirm_missing or (not waiting and target.state == EmbeddingModelState.STANDBY):
        reembedding.switch_active_model(target.tenant_id, target, by=by, now=now)
        tasks.enqueue_model_work(target.tenant_id, target.pk)
        return ModelSwitchResult(target, is_done=True)
    target.switches_when_filled = True
    target.save(update_fields=["switches_when_filled"])
    audit_rows("request_embedding_switch", [target], fields=["switches_when_filled"], by=by, now=now)
    tasks.enqueue_model_work(target.tenant_id, target.pk)
    return ModelSwitchResult(target, is_done=False, waiting=waiting)
