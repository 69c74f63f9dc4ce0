"""Retrieval ticks: one row per context, inserted once and deleted when it is folded into the memories."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db.models import Count, Max, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from memories.tenancy.queries.insertions import Insertion, array_text, execute
from memories.tenancy.queries.methods import rows_by
from memories.tenancy.queries.prepared import execute_prepared
from memories.tenancy.queries.rows import TenantRows

#: A text that is rendered again within this time is not recorded again.
RECALL_PRECISION = timedelta(hours=1)
#: How long folding waits for a lock on one of the memories; it is retried later.
FOLD_LOCK_TIMEOUT = "1s"
#: Maximum unfolded ticks that are searched.
TICKS_READ_MAX = 1_000

_INSERT = (
    "INSERT INTO memories_retrievaltick (tenant_id, api_key_prefix, context_partition, memory_ids, recalled_hashes, at)"
    " VALUES (%s, %s, %s, %s, %s, %s)"
)
_TAKE_TURNS = (
    "SELECT pg_try_advisory_xact_lock(hashtextextended('memories.fold-retrievals ' || %s, 0)),"
    " set_config('lock_timeout', %s, true)"
)
# One statement, so that ticks are counted and deleted together or not at all.
_FOLD = """
WITH deleted AS (
    DELETE FROM memories_retrievaltick
    WHERE id IN (
        SELECT id FROM memories_retrievaltick WHERE tenant_id = %(tenant)s ORDER BY id LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    )
    RETURNING api_key_prefix, context_partition, memory_ids, recalled_hashes, at
), cited AS (
    SELECT memory_id, recalled_hash, api_key_prefix, context_partition, at
    FROM deleted, unnest(memory_ids, recalled_hashes) AS pair (memory_id, recalled_hash)
), present AS MATERIALIZED (
    SELECT id FROM memories_memory WHERE id IN (SELECT memory_id FROM cited) ORDER BY id FOR NO KEY UPDATE
), counted AS (
    UPDATE memories_memory AS memory
    SET retrieval_count = memory.retrieval_count + total.times,
        last_retrieved_at = greatest(memory.last_retrieved_at, total.at)
    FROM (SELECT memory_id, count(*) AS times, max(at) AS at FROM cited GROUP BY memory_id) AS total
    JOIN present ON present.id = total.memory_id
    WHERE memory.id = total.memory_id
), remembered AS (
    INSERT INTO memories_recalledtext AS old
        (tenant_id, memory_id, recalled_hash, api_key_prefix, context_partition, first_recalled_at, recalled_at)
    SELECT %(tenant)s, memory_id, recalled_hash, api_key_prefix, context_partition, min(at), max(at)
    FROM cited JOIN present ON present.id = memory_id
    WHERE recalled_hash <> '' GROUP BY 2, 3, 4, 5 ORDER BY 2, 3, 4, 5
    ON CONFLICT (memory_id, recalled_hash, api_key_prefix, context_partition, tenant_id)
    DO UPDATE SET recalled_at = excluded.recalled_at
    WHERE old.recalled_at < excluded.recalled_at - %(precision)s
)
SELECT count(*) FROM deleted
"""
# One snapshot, so that a fold in between hides no row. Unfolded ones are the last rendered.
_RECALLED = """
WITH tick AS (
    SELECT * FROM memories_retrievaltick WHERE tenant_id = %(tenant)s AND at >= %(since)s
    ORDER BY id DESC LIMIT %(limit)s
), rendered AS (
    SELECT recalled_hash, memory_id, context_partition, id AS tick, at
    FROM tick, unnest(memory_ids, recalled_hashes) AS pair (memory_id, recalled_hash)
    WHERE api_key_prefix = ANY (%(prefixes)s) AND recalled_hash = ANY (%(hashes)s)
    UNION ALL
    SELECT recalled_hash, memory_id, context_partition, NULL, recalled_at FROM memories_recalledtext
    WHERE tenant_id = %(tenant)s AND recalled_at >= %(since)s
        AND api_key_prefix = ANY (%(prefixes)s) AND recalled_hash = ANY (%(hashes)s)
)
SELECT recalled_hash, memory_id, context_partition, partition_path
FROM rendered JOIN memories_memory AS memory ON memory.id = memory_id AND memory.tenant_id = %(tenant)s
ORDER BY tick DESC NULLS LAST, at DESC
"""


class RecalledRow(NamedTuple):
    """A memory of the partition `stored_in` whose text a context rendered; see `context_partition` for `shown_in`."""

    recalled_hash: str
    memory_id: UUID
    shown_in: str
    stored_in: str


class RetrievalTickQuerySet(TenantRows):
    def insertion(
        self, tenant_id: UUID, key_prefix: str, context_partition: str, hashes: Mapping[Any, str], at: datetime
    ) -> Insertion:
        """Return the insertion of a tick with a hash or "" for each packed memory."""
        ids, texts = array_text(hashes), array_text(hashes.values())
        return Insertion(_INSERT, [tenant_id, key_prefix, context_partition, ids, texts, at])

    def fold(self, tenant_id: UUID, limit: int) -> int:
        """Count the oldest ticks of a tenant and delete them, in a transaction; 0 while another worker folds."""
        ((is_ours, _),) = execute(_TAKE_TURNS, [str(tenant_id), FOLD_LOCK_TIMEOUT])
        if not is_ours:
            return 0
        values: dict[str, Any] = {"tenant": tenant_id, "limit": limit, "precision": RECALL_PRECISION}
        return int(execute(_FOLD, values)[0][0])

    def recently_recalled(
        self, tenant_id: UUID, hashes: Iterable[str], key_prefixes: Iterable[str], *, since: datetime
    ) -> list[RecalledRow]:
        """Return the memories whose text, with one of the hashes, contexts of these keys rendered, the last first."""
        values = {"tenant": tenant_id, "since": since, "limit": TICKS_READ_MAX}
        values |= {"prefixes": list(key_prefixes), "hashes": list(hashes)}
        return list(map(RecalledRow._make, execute_prepared(_RECALLED, values)))


def pending_retrieval_counts(ticks: QuerySet[Any]) -> dict[str, Subquery]:
    """Return annotations: unfolded retrievals of a memory and the last of them, None without any."""
    own = ticks.filter(tenant_id=OuterRef("tenant_id"), memory_ids__contains=[OuterRef("pk")]).order_by()
    own = own.values("tenant_id")
    return {
        "uncounted_retrievals": Subquery(own.annotate(times=Count("pk")).values("times")),
        "uncounted_retrieved_at": Subquery(own.annotate(latest=Max("at")).values("latest")),
    }


class RecalledTextQuerySet(TenantRows):
    recalled_before = rows_by("recalled_at__lt")

    def with_hashes(self, hashes: Iterable[str], *, since: datetime) -> Self:
        return self.filter(recalled_hash__in=list(hashes), recalled_at__gte=since)

    def sources(self) -> list[tuple[str, UUID]]:
        """Return (hash, id of the memory with that text)."""
        return list(self.order_by("memory_id").values_list("recalled_hash", "memory_id"))

    def spans(self, memory_ids: Iterable[UUID]) -> dict[UUID, list[tuple[str, datetime, datetime]]]:
        """Return by memory the partition of each context that rendered its texts, and when it first and last did."""
        rows = self.filter(memory_id__in=list(memory_ids)).order_by().values("memory_id", "context_partition")
        spans = rows.annotate(first=Min(Coalesce("first_recalled_at", "recalled_at")), last=Max("recalled_at"))
        by_memory = defaultdict[UUID, list[tuple[str, datetime, datetime]]](list)
        for pk, *span in spans.values_list("memory_id", "context_partition", "first", "last"):
            by_memory[pk].append((span[0], span[1], span[2]))
        return by_memory
