"""The models of a tenant, the locks of writers and switches, and missing vectors."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, Value
from django.db.models.functions import Now

from memories.tenancy.queries.insertions import array_text, execute
from memories.tenancy.queries.methods import rows_by, rows_where
from memories.tenancy.queries.prepared import send_prepared, sent_together
from memories.tenancy.queries.rows import TenantRows

# Writers of vectors share a lock; a change of the set of models takes it exclusively.
_SHARE = "SELECT pg_advisory_xact_lock_shared(hashtextextended('memories.embeddings.providers-models ' || %s, 0))"
_MAINTAINED = "tenant_id = %(tenant)s AND state IN ('active', 'filling', 'standby') ORDER BY state, started_at"
_TAKE = "SELECT pg_advisory_xact_lock(hashtextextended('memories.embeddings.providers-models ' || %s, 0))"

# Every version of every memory of the tenant, current or superseded.
_LACKING = """
WITH stored AS (
    SELECT id AS memory_id, version, TRUE AS is_head FROM memories_memory
    WHERE tenant_id = %(tenant)s AND (%(with_pending)s OR embedding_state <> 'pending')
    UNION ALL
    SELECT memory_id, version, FALSE FROM memories_memoryversion WHERE tenant_id = %(tenant)s
), own AS (
    SELECT memory_id, version FROM memories_memoryembedding WHERE tenant_id = %(tenant)s AND model = %(model)s
), lacking AS (
    SELECT stored.* FROM stored LEFT JOIN own USING (memory_id, version) WHERE own.memory_id IS NULL
)
"""
_NOTE_MISSING = """
INSERT INTO memories_missingvector (tenant_id, model_id, memory_id, version, is_refused, error)
SELECT %(tenant)s, %(id)s, memory_id, version, FALSE, '' FROM lacking ORDER BY is_head DESC, memory_id, version
ON CONFLICT (model_id, memory_id, version, tenant_id) DO NOTHING
"""
# Versions that have a vector now and would have none after a switch.
_LOSSES = """
SELECT count(*) FROM lacking
JOIN memories_memoryembedding AS today USING (memory_id, version)
WHERE today.model = %(active)s AND (lacking.is_head OR %(with_superseded)s) AND NOT EXISTS (
    SELECT FROM memories_missingvector AS missing
    WHERE missing.model_id = %(id)s AND missing.memory_id = lacking.memory_id AND missing.version = lacking.version
    AND missing.is_refused
)
"""
_NOTE_FAILED = """
INSERT INTO memories_missingvector (tenant_id, model_id, memory_id, version, is_refused, error)
SELECT tenant_id, %s, id, version, TRUE, embedding_error FROM memories_memory
WHERE tenant_id = %s AND embedding_state = 'failed'
ON CONFLICT (model_id, memory_id, version, tenant_id) DO UPDATE SET is_refused = TRUE, error = excluded.error
"""
# The state of the memory replaces the row.
_FAIL_HEADS = """
WITH gone AS (
    DELETE FROM memories_missingvector AS missing USING memories_memory AS head
    WHERE missing.model_id = %s AND head.id = missing.memory_id AND head.version = missing.version
    RETURNING missing.memory_id, missing.is_refused, missing.error
)
UPDATE memories_memory AS head SET embedding_state = 'failed', embedding_error = gone.error
FROM gone WHERE gone.is_refused AND head.id = gone.memory_id
"""
_FORGET = """
DELETE FROM memories_missingvector AS missing USING unnest(%s::uuid[], %s::int[]) AS made (memory_id, version)
WHERE missing.model_id = %s AND missing.memory_id = made.memory_id AND missing.version = made.version
"""
_CARRY_MISSING = """
INSERT INTO memories_missingvector (tenant_id, model_id, memory_id, version, is_refused, error)
SELECT former.tenant_id, former.model_id, former.memory_id, head.version, former.is_refused, former.error
FROM memories_missingvector AS former
    JOIN memories_memory AS head ON head.id = former.memory_id AND head.version = former.version + 1
WHERE former.tenant_id = %s AND former.memory_id = ANY (%s::uuid[])
ORDER BY former.memory_id
ON CONFLICT DO NOTHING
"""
_UNCLAIMED = Q(claimed_until__isnull=True) | Q(claimed_until__lt=Now())


class EmbeddingModelQuerySet(TenantRows):
    """A tenant's models by state. Leases use the clock of the database."""

    active = rows_where(state="active")
    named = rows_by("name")
    #: Maintained models other than the active one.
    not_active = rows_where(state__in=["filling", "standby"])
    #: Models that an operator requested; the initial model is not included.
    requested = rows_where(is_chosen=True)
    #: Models that are being filled or removed.
    in_progress = rows_where(state__in=["filling", "retiring"])
    idle = rows_where(~Q(state__in=["filling", "retiring"]))

    def lock_shared(self, tenant_id: UUID) -> None:
        """Lock the tenant's models against switches until the transaction ends; other writers may share the lock."""
        execute(_SHARE, [str(tenant_id)])

    def lock_exclusively(self, tenant_id: UUID) -> None:
        """Lock the tenant's models exclusively until the transaction ends: writers of vectors wait, searches do not."""
        execute(_TAKE, [str(tenant_id)])

    def lock_shared_and_read(self, tenant_id: UUID) -> list[Any]:
        """Lock the set of models as `lock_shared` does and return the maintained ones, in one round trip."""
        with sent_together():
            send_prepared(_SHARE, [str(tenant_id)])
            models = self.send_select(_MAINTAINED, {"tenant": tenant_id})
        return models()

    def maintained(self) -> Self:
        """Models for which each write stores vectors, the active one first."""
        return self.filter(state__in=["active", "filling", "standby"]).order_by("state", "started_at")

    def failing(self) -> Self:
        """Models whose last provider call failed, or that refused texts."""
        return self.filter(~Q(error="") | self._missing(is_refused=True)).exclude(state="retired")

    def _missing(self, *, is_refused: bool) -> Q:
        missing = self.model._meta.get_field("missing").related_model.objects
        return Q(Exists(missing.filter(model_id=OuterRef("pk"), is_refused=is_refused)))

    def formerly_active(self) -> Self:
        """Models kept up to date for a roll-back, latest first."""
        return self.filter(state="standby", deactivated_at__isnull=False).order_by("-deactivated_at")

    def with_work(self) -> Self:
        """Unclaimed models with vectors to compute or remove, or to switch to."""
        is_kept = Q(state__in=["active", "standby"])
        waits = self._missing(is_refused=False) | Q(switches_when_filled=True)
        has_work = Q(state__in=["filling", "retiring"]) | is_kept & waits
        return self.filter(_UNCLAIMED, has_work)

    def claim(self, model_id: UUID, token: UUID, seconds: float, *, others_max: int) -> bool:
        """Take or renew the lease for the given seconds; return False if another worker has it.

        Also return False if workers have more than `others_max` other models of these rows.
        """
        if self.exclude(_UNCLAIMED).exclude(pk=model_id).count() > others_max:
            return False
        lease = Now() + Value(timedelta(seconds=seconds))
        free = self.filter(_UNCLAIMED | Q(claim=token), pk=model_id)
        return bool(free.update(claim=token, claimed_until=lease))

    def release(self, model_id: UUID, token: UUID) -> None:
        self.filter(pk=model_id, claim=token).update(claim=None, claimed_until=None)

    def usage(self) -> list[dict[str, Any]]:
        """The models in use over all tenants: name, dimension, state, is_chosen and the number of tenants."""
        keys = ("name", "dimension", "state", "is_chosen")
        rows = self.filter(state__in=["active", "filling", "standby"]).order_by().values(*keys)
        return list(rows.annotate(tenants=Count("tenant_id", distinct=True)).order_by("name"))


class MissingVectorQuerySet(TenantRows):
    of_model = rows_by("model_id")
    of_version = rows_by("memory_id", "version")

    def waiting(self) -> Self:
        """Rows to compute, in order."""
        return self.filter(is_refused=False).order_by("id")

    def refused(self) -> Self:
        return self.filter(is_refused=True).order_by("id")

    def copy_to_current(self, tenant_id: UUID, memory_ids: Iterable[UUID]) -> None:
        """Copy missing vectors of the previous versions to the current ones, which have the same text."""
        execute(_CARRY_MISSING, [tenant_id, array_text(memory_ids)])

    def delete_versions(self, model_id: UUID, versions: Iterable[tuple[UUID, int]]) -> None:
        """Delete the rows of versions that now have a vector."""
        pairs = list(versions)
        execute(_FORGET, [[pk for pk, _ in pairs], [number for _, number in pairs], model_id])

    def add_all(self, tenant_id: UUID, model_id: UUID, name: str, *, with_pending: bool) -> None:
        """Note every version without a vector of the model, pending memories only `with_pending`."""
        values = {"tenant": tenant_id, "id": model_id, "model": name, "with_pending": with_pending}
        execute(_LACKING + _NOTE_MISSING, values)

    def add_failed(self, tenant_id: UUID, model_id: UUID) -> None:
        """Note the texts that this model, active until now, refused."""
        execute(_NOTE_FAILED, [model_id, tenant_id])

    def mark_memories_failed(self, model_id: UUID) -> None:
        """Copy what is recorded of the new active model to the state of the memories."""
        execute(_FAIL_HEADS, [model_id])

    def count_lost(self, tenant_id: UUID, model_id: UUID, name: str, active: str, *, with_superseded: bool) -> int:
        """Return the number of versions with a vector of `active` that the model `name` neither has nor refused."""
        values = {"tenant": tenant_id, "id": model_id, "model": name, "with_pending": True}
        values |= {"active": active, "with_superseded": with_superseded}
        return int(execute(_LACKING + _LOSSES, values)[0][0])

    def counts_by_model(self) -> dict[UUID, tuple[int, int]]:
        """Return the numbers of waiting and of refused vectors by model."""
        waiting, refused = (Count("pk", filter=Q(is_refused=is_refused)) for is_refused in (False, True))
        rows = self.order_by().values_list("model_id").annotate(waiting=waiting, refused=refused)
        return {model_id: (waits, refusals) for model_id, waits, refusals in rows}
