"""The conductor of changing the embedding model: fill the new one beside the old, switch, remove what is retired.

What is to be made is a row for each version (`MissingVector`), which goes in the transaction that stores its vector: a
worker that is killed loses nothing and doubles nothing. One worker at a time holds a model, by a lease (ADR-0082).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from memories.embeddings.embedders import embedder_for
from memories.embeddings.providers import Embedder, EmbeddingError, get_embedder
from memories.embeddings.vectors import EmbeddedBatch, PendingVector, record_vectors
from memories.models import EmbeddingModel, Memory, MemoryEmbedding, MemoryVersion, MissingVector
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

#: Longer than one call of a provider takes; renewed with each. What a killed worker held is free after it.
LEASE_SECONDS = 60.0
#: No search takes longer: one that began with the former model still finds its vectors.
SEARCH_GRACE = timedelta(seconds=60)
#: Vectors removed in one transaction.
REMOVED_AT_ONCE = 5_000
#: How often the last vectors are waited for while others keep writing; then the switch goes on without those of the
#: last moment, which words find until their own are made.
CATCH_UPS = 3

ReembeddingState = EmbeddingModel.State
ReembeddingClock = Callable[[], datetime]


class _Lost(Exception):
    """Somebody else holds the model by now."""


@dataclass
class _Turn:
    """One worker's hold on a model of a tenant."""

    tenant_id: UUID
    model_id: UUID
    token: UUID
    clock: ReembeddingClock
    catch_ups: int = 0

    def hold(self) -> None:
        """Take or renew the lease. Raises `_Lost`."""
        with tenant_scope(self.tenant_id):
            if not EmbeddingModel.objects.for_tenant(self.tenant_id).claim(self.model_id, self.token, LEASE_SECONDS):
                raise _Lost

    def let_go(self) -> None:
        with tenant_scope(self.tenant_id):
            EmbeddingModel.objects.for_tenant(self.tenant_id).release(self.model_id, self.token)


def probe_embedder(name: str) -> Embedder:
    """The embedder of that model, after it has embedded a word as settings promise. Raises `EmbeddingError`."""
    embedder = get_embedder(name)
    embedder.embed(["probe"])
    return embedder


def advance_embedding_model(
    tenant_id: UUID, model_id: UUID, *, goes_on: Callable[[], bool], clock: ReembeddingClock
) -> bool:
    """Do what there is to do for a model, batch by batch while `goes_on()`; whether there is more.

    Call with no scope open. Another's claim is respected: then there is nothing to do. A temporary failure is noted on
    the model and raised as `EmbeddingError`.
    """
    turn = _Turn(tenant_id, model_id, uuid4(), clock)
    try:
        turn.hold()
    except _Lost:
        return False
    try:
        while goes_on():
            turn.hold()
            if not _step(turn):
                return False
        return True
    except _Lost:
        return False
    except EmbeddingError as error:
        _note_error(turn, error.detail)
        raise
    finally:
        turn.let_go()


def switch_active_model(tenant_id: UUID, target: EmbeddingModel, *, by: Actor, now: datetime) -> None:
    """Search with `target` from the commit on. Runs in a scope, after `EmbeddingModel.objects.take`.

    A memory whose current version has no vector of it waits for one, or has failed where it was refused; the former
    model is kept up to date from here on, beginning with what it lacks itself.
    """
    models = EmbeddingModel.objects.for_tenant(tenant_id)
    former = models.active().get()
    models.filter(pk=former.pk).update(state=ReembeddingState.STANDBY, deactivated_at=now)
    models.filter(pk=target.pk).update(
        state=ReembeddingState.ACTIVE, is_chosen=True, activated_at=now, switches_when_filled=False, error=""
    )
    missing = MissingVector.objects.for_tenant(tenant_id)
    missing.note_failed(tenant_id, former.pk)
    missing.note_all(tenant_id, former.pk, former.name, with_pending=False)
    heads = Memory.objects.for_tenant(tenant_id)
    heads.not_ready().with_embedding(target.name).update(
        embedding_state=Memory.EmbeddingState.READY, embedding_error=""
    )
    heads.ready().without_embedding(target.name).update(embedding_state=Memory.EmbeddingState.PENDING)
    missing.fail_heads(target.pk)
    record_audit(
        tenant_id=tenant_id,
        by=by,
        verb="switch_embedding_model",
        target_kind="embedding_model",
        target_ids=[target.pk, former.pk],
        fields=["state"],
        now=now,
    )


def count_lost_vectors(tenant_id: UUID, target: EmbeddingModel) -> int:
    """How many versions would no longer be found by their vector after a switch. Runs in a scope.

    Superseded versions do not count where the target was active before: what it never had is no reason against a
    roll-back.
    """
    active = EmbeddingModel.objects.for_tenant(tenant_id).active().get()
    with_superseded = target.activated_at is None
    return MissingVector.objects.losses(tenant_id, target.pk, target.name, active.name, with_superseded=with_superseded)


def _step(turn: _Turn) -> bool:
    """One batch; whether there may be more to do."""
    with tenant_scope(turn.tenant_id):
        model = EmbeddingModel.objects.for_tenant(turn.tenant_id).filter(pk=turn.model_id).first()
        if model is None or model.state == ReembeddingState.RETIRED:
            return False
        if model.state == ReembeddingState.RETIRING:
            return _remove_some(turn, model)
    embedder = embedder_for(model)
    items, is_any = _next_batch(turn, embedder)
    if not is_any:
        return _settle(turn)
    if items:
        _make(turn, items, embedder)
    if model.error:
        _note_error(turn, "")
    return True


def _next_batch(turn: _Turn, embedder: Embedder) -> tuple[list[PendingVector], bool]:
    """The next versions to embed, and whether anything waited: what is gone or was made meanwhile is passed over."""
    tenant_id = turn.tenant_id
    with tenant_scope(tenant_id):
        rows = MissingVector.objects.for_tenant(tenant_id).of_model(turn.model_id).waiting()
        pairs = list(rows.values_list("memory_id", "version")[: embedder.batch_size])
        ids, numbers = {pk for pk, _ in pairs}, {number for _, number in pairs}
        superseded = MemoryVersion.objects.for_tenant(tenant_id).texts_of(ids, numbers)
        current = Memory.objects.for_tenant(tenant_id).texts_of(ids, numbers)
        texts = {(pk, number): text for pk, number, text in (*superseded, *current)}
        own = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(pairs, embedder.name)
        made = set(own.values_list("memory_id", "version"))
        wanted = [pair for pair in pairs if pair in texts and pair not in made]
        if len(wanted) < len(pairs):
            MissingVector.objects.forget(turn.model_id, set(pairs) - set(wanted))
    return [PendingVector(pk, number, texts[pk, number]) for pk, number in wanted], bool(pairs)


def _make(turn: _Turn, items: Sequence[PendingVector], embedder: Embedder) -> None:
    """Embed and store; where one text of several is refused it is found by halving and noted."""
    turn.hold()
    try:
        vectors = embedder.embed([item.content for item in items])
    except EmbeddingError as error:
        if not error.is_permanent:
            raise
        if len(items) == 1:
            _refuse(turn, items[0], error.detail)
            return
        middle = len(items) // 2
        _make(turn, items[:middle], embedder)
        _make(turn, items[middle:], embedder)
        return
    record_vectors(turn.tenant_id, items, [EmbeddedBatch(embedder, vectors)], notes_missing=False)


def _refuse(turn: _Turn, item: PendingVector, detail: str) -> None:
    with tenant_scope(turn.tenant_id):
        rows = MissingVector.objects.for_tenant(turn.tenant_id).of_model(turn.model_id)
        rows.of_version(item.memory_id, item.version).update(is_refused=True, error=detail[:200])
    logger.warning("Memory %s has no vector of the new model: %s", item.memory_id, detail)


def _settle(turn: _Turn) -> bool:
    """Nothing waits: what is filled is filled, and switched to where that was asked for; whether there is more."""
    tenant_id = turn.tenant_id
    with tenant_scope(tenant_id):
        EmbeddingModel.objects.take(tenant_id)
        model = EmbeddingModel.objects.for_tenant(tenant_id).get(pk=turn.model_id)
        if model.state not in {ReembeddingState.FILLING, ReembeddingState.STANDBY}:
            return False
        missing = MissingVector.objects.for_tenant(tenant_id).of_model(model.pk)
        missing.note_all(tenant_id, model.pk, model.name, with_pending=False)
        turn.catch_ups += 1
        if missing.waiting().exists() and turn.catch_ups < CATCH_UPS:
            return True
        if model.state == ReembeddingState.FILLING:
            EmbeddingModel.objects.filter(pk=model.pk).update(
                state=ReembeddingState.STANDBY, filled_at=turn.clock(), error=""
            )
        if model.switches_when_filled:
            _switch_if_nothing_is_refused(turn, model)
        return False


def _switch_if_nothing_is_refused(turn: _Turn, model: EmbeddingModel) -> None:
    refused = MissingVector.objects.for_tenant(turn.tenant_id).of_model(model.pk).refused().how_many()
    if refused and model.activated_at is None:
        detail = f"All vectors are made but {refused}, whose texts the model refused; the switch waits for a decision."
        EmbeddingModel.objects.filter(pk=model.pk).update(switches_when_filled=False, error=detail)
        return
    switch_active_model(turn.tenant_id, model, by=Actor.system("reembed"), now=turn.clock())


def _remove_some(turn: _Turn, model: EmbeddingModel) -> bool:
    """Some vectors of a retired model; nothing yet while a search may still use them."""
    if model.deactivated_at is not None and model.deactivated_at > turn.clock() - SEARCH_GRACE:
        return False
    for rows in (
        MissingVector.objects.for_tenant(turn.tenant_id).of_model(model.pk),
        MemoryEmbedding.objects.for_tenant(turn.tenant_id).of_model(model.name),
    ):
        ids = list(rows.values_list("pk", flat=True)[:REMOVED_AT_ONCE])
        if ids:
            rows.model.objects.filter(pk__in=ids).delete()
            return True
    EmbeddingModel.objects.filter(pk=model.pk).update(state=ReembeddingState.RETIRED, retired_at=turn.clock(), error="")
    return False


def _note_error(turn: _Turn, detail: str) -> None:
    with tenant_scope(turn.tenant_id):
        EmbeddingModel.objects.for_tenant(turn.tenant_id).filter(pk=turn.model_id).update(error=detail[:300])
    if detail:
        logger.warning("Filling an embedding model stopped: %s", detail)
