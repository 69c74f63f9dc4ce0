"""Changing the embedding model of a tenant: begin, switch, roll back, retire, try refused texts again (ADR-0082)."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memories import tasks
from memories.embeddings import reembedding
from memories.embeddings.providers import KnownModel, UnknownModel, default_model, model_named
from memories.embeddings.vectors import pin_model
from memories.models import EmbeddingModel, MissingVector, Tenant
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput
from memory_platform.web.numerals import counted

EmbeddingModelState = EmbeddingModel.State


@dataclass(frozen=True)
class ModelSwitchResult:
    """What came of asking for a switch: done, or to be done by the worker once `waiting` vectors are made."""

    model: EmbeddingModel
    is_done: bool
    waiting: int = 0


@transaction.atomic
def start_reembedding(
    *, tenant: Tenant, model: str, switches_when_filled: bool, by: Actor, now: datetime
) -> EmbeddingModel:
    """Begin to fill the vectors of `model` beside those that are searched; every version of every memory gets one.

    Raises `InvalidInput` `unknown_model` or `Conflict` (`already_active`, `already_filled`, `being_removed`, `busy`).
    """
    known = _known(model)
    EmbeddingModel.objects.take(tenant.pk)
    models = EmbeddingModel.objects.for_tenant(tenant.pk)
    if not models.active().exists():
        default = default_model()
        pin_model(tenant.pk, default.name, default.dimension)
    row = models.named(known.name).first()
    _refuse_to_start(row, models.filling().first())
    row = row or EmbeddingModel(tenant=tenant, name=known.name)
    row.dimension, row.state, row.is_chosen = known.dimension, EmbeddingModelState.FILLING, True
    row.switches_when_filled, row.error, row.requested_by = switches_when_filled, "", by.label[:150]
    row.started_at, row.filled_at, row.retired_at = now, None, None
    row.activated_at = row.deactivated_at = None
    row.save()
    MissingVector.objects.note_all(tenant.pk, row.pk, row.name, with_pending=True)
    row.needed = MissingVector.objects.for_tenant(tenant.pk).of_model(row.pk).how_many()
    row.save(update_fields=["needed"])
    _audit("start_reembedding", row, by, now, ["state", "switches_when_filled"])
    tasks.enqueue_model_work(tenant.pk, row.pk)
    return row


@transaction.atomic
def switch_embedding_model(
    *, tenant: Tenant, model: str = "", accepts_missing: bool = False, by: Actor, now: datetime
) -> ModelSwitchResult:
    """Search with `model` (by default the one that is filled), at once where nothing is lost by it, else once filled.

    With `accepts_missing` at once in any case: what has no vector then is found by its words until it has one. Raises
    `Conflict` (`nothing_to_switch_to`, `already_active`, `refused_texts`).
    """
    EmbeddingModel.objects.take(tenant.pk)
    return _switch(_target(tenant, model), accepts_missing, by, now)


@transaction.atomic
def roll_back_embedding_model(
    *, tenant: Tenant, accepts_missing: bool = False, by: Actor, now: datetime
) -> ModelSwitchResult:
    """Search with the model again that was active before. Raises `Conflict` `nothing_to_roll_back_to`."""
    EmbeddingModel.objects.take(tenant.pk)
    former = EmbeddingModel.objects.for_tenant(tenant.pk).formerly_active().first()
    if former is None:
        raise Conflict("nothing_to_roll_back_to", "No earlier model is kept up to date here.")
    return _switch(former, accepts_missing, by, now)


@transaction.atomic
def retire_embedding_model(*, tenant: Tenant, model: str, by: Actor, now: datetime) -> EmbeddingModel:
    """Stop keeping the vectors of `model`, being filled or complete, and remove them in the background.

    Raises `Conflict` `is_active` or `nothing_to_retire`.
    """
    EmbeddingModel.objects.take(tenant.pk)
    row = EmbeddingModel.objects.for_tenant(tenant.pk).named(_name(model)).first()
    if row is None or row.state == EmbeddingModelState.RETIRED:
        raise Conflict("nothing_to_retire", f"There are no vectors of {model} here.", "model")
    if row.state == EmbeddingModelState.ACTIVE:
        raise Conflict("is_active", f"{row.name} is what is searched with. Switch to another model first.", "model")
    if row.state != EmbeddingModelState.RETIRING:
        row.state, row.switches_when_filled = EmbeddingModelState.RETIRING, False
        row.save(update_fields=["state", "switches_when_filled"])
        _audit("retire_embedding_model", row, by, now, ["state"])
    tasks.enqueue_model_work(tenant.pk, row.pk)
    return row


@transaction.atomic
def retry_refused_vectors(*, tenant: Tenant, model: str, by: Actor, now: datetime) -> int:
    """Have the texts tried again that `model` refused; how many there are."""
    row = EmbeddingModel.objects.for_tenant(tenant.pk).named(_name(model)).first()
    if row is None:
        raise Conflict("nothing_to_retry", f"There are no vectors of {model} here.", "model")
    refused = MissingVector.objects.for_tenant(tenant.pk).of_model(row.pk).refused().update(is_refused=False, error="")
    if refused:
        _audit("retry_refused_vectors", row, by, now, ["is_refused"])
        tasks.enqueue_model_work(tenant.pk, row.pk)
    return int(refused)


def _known(name: str) -> KnownModel:
    try:
        return model_named(name.strip())
    except UnknownModel as error:
        raise InvalidInput("unknown_model", error.detail, "model") from error


def _name(model: str) -> str:
    """The stored name; `hashed` and `wordllama` stand for the models of those providers."""
    try:
        return model_named(model.strip()).name
    except UnknownModel:
        return model.strip()


def _refuse_to_start(row: EmbeddingModel | None, filling: EmbeddingModel | None) -> None:
    if row is not None and row.state == EmbeddingModelState.ACTIVE:
        raise Conflict("already_active", f"{row.name} is the model that is searched with.", "model")
    if row is not None and row.state in {EmbeddingModelState.FILLING, EmbeddingModelState.STANDBY}:
        raise Conflict("already_filled", f"{row.name} is {row.state} already: switch to it.", "model")
    if row is not None and row.state == EmbeddingModelState.RETIRING:
        raise Conflict("being_removed", f"The former vectors of {row.name} are still being removed.", "model")
    if filling is not None:
        raise Conflict("busy", f"{filling.name} is being filled. Cancel that first, or wait for it.", "model")


def _target(tenant: Tenant, model: str) -> EmbeddingModel:
    models = EmbeddingModel.objects.for_tenant(tenant.pk)
    if model:
        row = models.named(_name(model)).first()
    else:
        row = models.beside().never_active().first() or models.formerly_active().first()
    if row is not None and row.state == EmbeddingModelState.ACTIVE:
        raise Conflict("already_active", f"{row.name} is the model that is searched with.", "model")
    if row is None or row.state not in {EmbeddingModelState.FILLING, EmbeddingModelState.STANDBY}:
        what = f"no vectors of {model} here" if model else "no other model here"
        raise Conflict(
            "nothing_to_switch_to", f"There are {what}. `manage.py reembed --model NAME` makes them.", "model"
        )
    return row


def _switch(target: EmbeddingModel, accepts_missing: bool, by: Actor, now: datetime) -> ModelSwitchResult:
    missing = MissingVector.objects.for_tenant(target.tenant_id).of_model(target.pk)
    refused = missing.refused().how_many() if target.activated_at is None else 0
    if refused and not accepts_missing:
        texts = counted(refused, "text", "texts")
        detail = f"{target.name} refused {texts}. Have them tried again, or switch without their vectors."
        raise Conflict("refused_texts", detail)
    waiting = missing.waiting().how_many() if target.state == EmbeddingModelState.FILLING else 0
    waiting = waiting or reembedding.count_lost_vectors(target.tenant_id, target)
    if accepts_missing or (not waiting and target.state == EmbeddingModelState.STANDBY):
        reembedding.switch_active_model(target.tenant_id, target, by=by, now=now)
        tasks.enqueue_model_work(target.tenant_id, target.pk)
        return ModelSwitchResult(target, is_done=True)
    target.switches_when_filled = True
    target.save(update_fields=["switches_when_filled"])
    _audit("request_embedding_switch", target, by, now, ["switches_when_filled"])
    tasks.enqueue_model_work(target.tenant_id, target.pk)
    return ModelSwitchResult(target, is_done=False, waiting=waiting)


def _audit(verb: str, row: EmbeddingModel, by: Actor, now: datetime, fields: list[str]) -> None:
    record_audit(
        tenant_id=row.tenant_id,
        by=by,
        verb=verb,
        target_kind="embedding_model",
        target_ids=[row.pk],
        fields=fields,
        now=now,
    )
