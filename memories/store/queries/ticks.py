"""Retrieval ticks: one row per context, inserted once and deleted when it is folded into the memories."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from memories.tenancy.queries.insertions import Insertion, array_text
from memories.tenancy.queries.rows import TenantRows

#: A text that is rendered again within this time is not recorded again.
RECALL_PRECISION = timedelta(hours=1)
#: How long folding waits for an edit of one of the memories; it is retried later.
FOLD_LOCK_TIMEOUT = "1s"
#: Limits the search through unfolded ticks.
TICKS_LOOKED_THROUGH = 1_000

_INSERT = "INSERT INTO memories_retrievaltick (tenant_id, memory_ids, recalled_hashes, at) VALUES (%s, %s, %s, %s)"
_TAKE_TURNS = (
    "SELECT pg_try_advisory_xact_lock(hashtextextended('memories.fold-retrievals ' || %s, 0)),"
    " set_config('lock_timeout', %s, true)"
)
# One statement, so that ticks are counted and deleted together or not at all.
_FOLD = """
WITH taken AS (
    DELETE FROM memories_retrievaltick
    WHERE id IN (
        SELECT id FROM memories_retrievaltick WHERE tenant_id = %(tenant)s ORDER BY id LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    )
    RETURNING memory_ids, recalled_hashes, at
), told AS (
    SELECT memory_id, recalled_hash, at
    FROM taken, unnest(memory_ids, recalled_hashes) AS pair (memory_id, recalled_hash)
), present AS MATERIALIZED (
    SELECT id FROM memories_memory WHERE id IN (SELECT memory_id FROM told) ORDER BY id FOR NO KEY UPDATE
), counted AS (
    UPDATE memories_memory AS memory
    SET retrieval_count = memory.retrieval_count + total.times,
        last_retrieved_at = greatest(memory.last_retrieved_at, total.at)
    FROM (SELECT memory_id, count(*) AS times, max(at) AS at FROM told GROUP BY memory_id) AS total
    JOIN present ON present.id = total.memory_id
    WHERE memory.id = total.memory_id
), remembered AS (
    INSERT INTO memories_recalledtext AS old
        (tenant_id, memory_id, recalled_hash, first_recalled_at, recalled_at)
    SELECT %(tenant)s, memory_id, recalled_hash, min(at), max(at) FROM told JOIN present ON present.id = memory_id
    WHERE recalled_hash <> '' GROUP BY memory_id, recalled_hash ORDER BY memory_id, recalled_hash
    ON CONFLICT (memory_id, recalled_hash, tenant_id) DO UPDATE SET recalled_at = excluded.recalled_at
    WHERE old.recalled_at < excluded.recalled_at - %(precision)s
)
SELECT count(*) FROM taken
"""
_RECALLED = """
SELECT recalled_hash, memory_id
FROM (SELECT * FROM memories_retrievaltick WHERE tenant_id = %s AND at >= %s ORDER BY id DESC LIMIT %s) AS tick,
    unnest(memory_ids, recalled_hashes) AS pair (memory_id, recalled_hash)
WHERE recalled_hash = ANY (%s)
ORDER BY tick.id
"""


class RetrievalTickQuerySet(TenantRows):
    def insertion(self, tenant_id: UUID, hashes: Mapping[Any, str], at: datetime) -> Insertion:
        """Return the insertion of a tick with a hash or "" for each packed memory."""
        return Insertion(_INSERT, [tenant_id, array_text(hashes), array_text(hashes.values()), at])

    def fold(self, tenant_id: UUID, limit: int) -> int:
        """Count the oldest ticks of a tenant and delete them, in a transaction; 0 while another worker folds."""
        with connection.cursor() as cursor:
            cursor.execute(_TAKE_TURNS, [str(tenant_id), FOLD_LOCK_TIMEOUT])
            (is_ours, _) = cursor.fetchone()
            if not is_ours:
                return 0
            values: dict[str, Any] = {"tenant": tenant_id, "limit": limit, "precision": RECALL_PRECISION}
            cursor.execute(_FOLD, values)
            return int(cursor.fetchone()[0])

    def recalled_lately(self, tenant_id: UUID, hashes: Iterable[str], *, since: datetime) -> dict[str, UUID]:
        """Return the memories of unfolded ticks by the hash of their text."""
        with connection.cursor() as cursor:
            cursor.execute(_RECALLED, [tenant_id, since, TICKS_LOOKED_THROUGH, list(hashes)])
            return dict(cursor.fetchall())


def pending_retrieval_counts(ticks: QuerySet[Any]) -> dict[str, Subquery]:
    """Return annotations: unfolded retrievals of a memory and the last of them, None without any."""
    own = ticks.filter(tenant_id=OuterRef("tenant_id"), memory_ids__contains=[OuterRef("pk")]).order_by()
    own = own.values("tenant_id")
    return {
        "uncounted_retrievals": Subquery(own.annotate(times=Count("pk")).values("times")),
        "uncounted_retrieved_at": Subquery(own.annotate(latest=Max("at")).values("latest")),
    }


class RecalledTextQuerySet(TenantRows):
    def with_hashes(self, hashes: Iterable[str], *, since: datetime) -> Self:
        return self.filter(recalled_hash__in=list(hashes), recalled_at__gte=since)

    def sources(self) -> list[tuple[str, UUID]]:
        """(hash, id of the memory with that text)."""
        return list(self.order_by("memory_id").values_list("recalled_hash", "memory_id"))

    def spans(self, memory_ids: Iterable[UUID]) -> dict[UUID, tuple[datetime, datetime]]:
        """By memory: when its texts were first and last rendered."""
        rows = self.filter(memory_id__in=list(memory_ids)).order_by().values("memory_id")
        spans = rows.annotate(first=Min(Coalesce("first_recalled_at", "recalled_at")), last=Max("recalled_at"))
        return {pk: (first, last) for pk, first, last in spans.values_list("memory_id", "first", "last")}

    def recalled_before(self, moment: datetime) -> Self:
        return self.filter(recalled_at__lt=moment)
