"""Re-embed a tenant: fill the new model, switch to it, remove retired vectors (ADR-0082).

A `MissingVector` row exists for each vector to compute and is deleted in the transaction that stores the vector, so a
killed worker loses and duplicates nothing. A lease ensures that only one worker fills a model.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from memories.embeddings.embedders import embedder_for
from memories.embeddings.providers import Embedder, EmbeddingError, get_embedder
from memories.embeddings.queries.models import EmbeddingModelQuerySet, MissingVectorQuerySet
from memories.embeddings.vectors import EmbeddedBatch, PendingVector, record_vectors
from memories.models import EmbeddingModel, Memory, MemoryEmbedding, MemoryVersion, MissingVector
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.claims import TENANT_CLAIMS_MAX, lock_claims
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

#: Longer than one provider call; renewed with each. The lease of a killed worker expires after it.
LEASE_SECONDS = 60.0
#: Longer than any search, so that one that began with the former model still finds its vectors.
SEARCH_GRACE = timedelta(seconds=60)
#: Maximum vectors removed in one transaction.
REMOVED_BATCH = 5_000
#: Rounds of catching up with concurrent writers; the switch then happens without the newest vectors, and words find
#: those memories until they have one.
CATCH_UPS = 3

_State = EmbeddingModel.State
ReembeddingClock = Callable[[], datetime]


class _LeaseLost(Exception):
    """Another worker has the lease, or workers have as many models of the tenant as they may."""


@dataclass
class _Lease:
    """A worker's lease on a tenant's model."""

    tenant_id: UUID
    model_id: UUID
    token: UUID
    clock: ReembeddingClock
    catch_ups: int = 0

    @property
    def models(self) -> EmbeddingModelQuerySet:
        rows: EmbeddingModelQuerySet = EmbeddingModel.objects.for_tenant(self.tenant_id)
        return rows

    @property
    def missing(self) -> MissingVectorQuerySet:
        """The missing vectors of the model."""
        rows: MissingVectorQuerySet = MissingVector.objects.for_tenant(self.tenant_id).of_model(self.model_id)
        return rows

    def update(self, **values: object) -> None:
        self.models.with_id(self.model_id).update(**values)

    def renew(self) -> None:
        """Take or renew the lease. Raises `_LeaseLost`."""
        with tenant_scope(self.tenant_id):
            lock_claims(self.tenant_id)
            others_max = TENANT_CLAIMS_MAX - 1
            if not self.models.claim(self.model_id, self.token, LEASE_SECONDS, others_max=others_max):
                raise _LeaseLost

    def release(self) -> None:
        with tenant_scope(self.tenant_id):
            self.models.release(self.model_id, self.token)


def probe_embedder(name: str) -> Embedder:
    """Return the embedder of a model after a test call. Raises `EmbeddingError`."""
    embedder = get_embedder(name)
    embedder.embed(["probe"])
    return embedder


def advance_embedding_model(
    tenant_id: UUID, model_id: UUID, *, can_continue: Callable[[], bool], clock: ReembeddingClock
) -> bool:
    """Work on a model in batches while `can_continue()`; return whether work is left. Call with no scope open.

    Returns False while another worker has the lease. A temporary failure is recorded on the model and raised as
    `EmbeddingError`.
    """
    lease = _Lease(tenant_id, model_id, uuid4(), clock)
    try:
        while can_continue():
            lease.renew()
            if not _step(lease):
                return False
        return True
    except _LeaseLost:
        return False
    except EmbeddingError as error:
        _note_error(lease, error.detail)
        raise
    finally:
        lease.release()


def switch_active_model(tenant_id: UUID, target: EmbeddingModel, *, by: Actor, now: datetime) -> None:
    """Make `target` the active model. Runs in a scope, after `EmbeddingModel.objects.lock_exclusively`.

    A memory without its vector becomes pending, or failed if it was refused. The former model is kept up to date.
    """
    models = EmbeddingModel.objects.for_tenant(tenant_id)
    former = models.active().get()
    models.filter(pk=former.pk).update(state=_State.STANDBY, deactivated_at=now)
    values = {
        "state": _State.ACTIVE,
        "is_chosen": True,
        "activated_at": now,
        "switches_when_filled": False,
        "error": "",
    }
    models.filter(pk=target.pk).update(**values)
    missing = MissingVector.objects.for_tenant(tenant_id)
    missing.add_failed(tenant_id, former.pk)
    missing.add_all(tenant_id, former.pk, former.name, with_pending=False)
    current = Memory.objects.for_tenant(tenant_id)
    found = current.not_ready().with_embedding(target.name)
    found.update(embedding_state=Memory.EmbeddingState.READY, embedding_error="")
    current.ready().without_embedding(target.name).update(embedding_state=Memory.EmbeddingState.PENDING)
    missing.mark_memories_failed(target.pk)
    audit_rows("switch_embedding_model", [target, former], fields=["state"], by=by, now=now)


def count_lost_vectors(tenant_id: UUID, target: EmbeddingModel) -> int:
    """Return how many versions would lose their vector by a switch. Runs in a scope.

    Superseded versions do not count if the target was active before, so that they do not block a roll-back.
    """
    active = EmbeddingModel.objects.for_tenant(tenant_id).active().get()
    with_superseded = target.activated_at is None
    return MissingVector.objects.count_lost(
        tenant_id, target.pk, target.name, active.name, with_superseded=with_superseded
    )


def _step(lease: _Lease) -> bool:
    with tenant_scope(lease.tenant_id):
        model = lease.models.with_id(lease.model_id).first()
        if model is None or model.state == _State.RETIRED:
            return False
        if model.state == _State.RETIRING:
            return _remove_some(lease, model)
    embedder = embedder_for(model)
    items, is_any = _next_batch(lease, embedder)
    if not is_any:
        return _finish_filling(lease)
    if items:
        _embed_batch(lease, items, embedder)
    if model.error:
        _note_error(lease, "")
    return True


def _next_batch(lease: _Lease, embedder: Embedder) -> tuple[list[PendingVector], bool]:
    """Return the next versions to embed, and whether any were waiting; deleted and embedded ones are dropped."""
    tenant_id = lease.tenant_id
    with tenant_scope(tenant_id):
        pairs = list(lease.missing.waiting().values_list("memory_id", "version")[: embedder.batch_size])
        ids, numbers = {pk for pk, _ in pairs}, {number for _, number in pairs}
        superseded = MemoryVersion.objects.for_tenant(tenant_id).texts_of(ids, numbers)
        current = Memory.objects.for_tenant(tenant_id).texts_of(ids, numbers)
        texts = {(pk, number): text for pk, number, text in (*superseded, *current)}
        own = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(pairs, embedder.name)
        made = set(own.values_list("memory_id", "version"))
        unembedded = [pair for pair in pairs if pair in texts and pair not in made]
        if len(unembedded) < len(pairs):
            MissingVector.objects.delete_versions(lease.model_id, set(pairs) - set(unembedded))
    return [PendingVector(pk, number, texts[pk, number]) for pk, number in unembedded], bool(pairs)


def _embed_batch(lease: _Lease, items: Sequence[PendingVector], embedder: Embedder) -> None:
    """Embed and store; find a refused text among several by halving the batch."""
    lease.renew()
    try:
        vectors = embedder.embed([item.content for item in items])
    except EmbeddingError as error:
        if not error.is_permanent:
            raise
        if len(items) == 1:
            with tenant_scope(lease.tenant_id):
                version = lease.missing.of_version(items[0].memory_id, items[0].version)
                version.update(is_refused=True, error=error.detail[:200])
            logger.warning("Memory %s has no vector of the new model: %s", items[0].memory_id, error.detail)
            return
        middle = len(items) // 2
        _embed_batch(lease, items[:middle], embedder)
        _embed_batch(lease, items[middle:], embedder)
        return
    record_vectors(lease.tenant_id, items, [EmbeddedBatch(embedder, vectors)], notes_missing=False)


def _finish_filling(lease: _Lease) -> bool:
    """Mark a model without waiting vectors as filled and switch to it if requested; return whether work is left."""
    tenant_id = lease.tenant_id
    with tenant_scope(tenant_id):
        EmbeddingModel.objects.lock_exclusively(tenant_id)
        model = lease.models.get(pk=lease.model_id)
        if model.state not in {_State.FILLING, _State.STANDBY}:
            return False
        lease.missing.add_all(tenant_id, model.pk, model.name, with_pending=False)
        lease.catch_ups += 1
        if lease.missing.waiting().exists() and lease.catch_ups < CATCH_UPS:
            return True
        if model.state == _State.FILLING:
            lease.update(state=_State.STANDBY, filled_at=lease.clock(), error="")
        if model.switches_when_filled:
            _switch_if_nothing_is_refused(lease, model)
        return False


def _switch_if_nothing_is_refused(lease: _Lease, model: EmbeddingModel) -> None:
    refused = lease.missing.refused().row_count()
    if refused and model.activated_at is None:
        detail = (
            f"All vectors are complete except {refused}, whose texts the model rejected; "
            "the switch waits for a decision."
        )
        lease.update(switches_when_filled=False, error=detail)
        return
    switch_active_model(lease.tenant_id, model, by=Actor.system("reembed"), now=lease.clock())


def _remove_some(lease: _Lease, model: EmbeddingModel) -> bool:
    """Remove some vectors of a retired model, but none while a search may still use them; return whether any remain."""
    if model.deactivated_at is not None and model.deactivated_at > lease.clock() - SEARCH_GRACE:
        return False
    for rows in (lease.missing, MemoryEmbedding.objects.for_tenant(lease.tenant_id).of_model(model.name)):
        ids = list(rows.values_list("pk", flat=True)[:REMOVED_BATCH])
        if ids:
            rows.model.objects.filter(pk__in=ids).delete()
            return True
    lease.update(state=_State.RETIRED, retired_at=lease.clock(), error="")
    return False


def _note_error(lease: _Lease, detail: str) -> None:
    with tenant_scope(lease.tenant_id):
        lease.update(error=detail[:300])
    if detail:
        logger.warning("Filling an embedding model stopped: %s", detail)
