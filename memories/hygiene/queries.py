"""Pairs and findings of the hygiene lists, which are checked again when read, and the backlog of comparisons."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db.models import Q, QuerySet

from memories.services.hygiene.rules import REPLACED
from memories.store.queries.texts import SEARCH_COLUMNS
from memories.tenancy.queries.conditions import live_condition, path_condition
from memories.tenancy.queries.insertions import array_text, execute
from memories.tenancy.queries.methods import rows_by, rows_where, rows_within
from memories.tenancy.queries.prepared import send_prepared
from memories.tenancy.queries.rows import TenantRows

_ENQUEUE = """
INSERT INTO memories_uncomparedmemory (tenant_id, memory_id, version)
SELECT tenant_id, id, version FROM memories_memory
WHERE tenant_id = %s AND id = ANY (%s::uuid[]) AND archived_at IS NULL ORDER BY id
ON CONFLICT DO NOTHING
"""
_STORE_PAIRS = """
INSERT INTO memories_memorypair AS old (tenant_id, kind, older_id, newer_id, similarity, texts_hash, found_at)
SELECT %s, kind, older, newer, similarity, texts_hash, %s
FROM unnest(%s::text[], %s::uuid[], %s::uuid[], %s::float8[], %s::text[])
    AS pair (kind, older, newer, similarity, texts_hash)
ORDER BY older, newer
ON CONFLICT (older_id, newer_id, tenant_id) DO UPDATE
SET kind = excluded.kind, similarity = excluded.similarity, texts_hash = excluded.texts_hash,
    found_at = CASE WHEN old.texts_hash = excluded.texts_hash THEN old.found_at ELSE excluded.found_at END,
    dismissed_at = CASE WHEN old.texts_hash = excluded.texts_hash THEN old.dismissed_at END
"""
_FIND = """
INSERT INTO memories_memoryfinding AS old (tenant_id, kind, memory_id, weight, at, found_at)
SELECT tenant_id, %(kind)s, id, {weight}, {at}, %(now)s FROM memories_memory AS memory
WHERE tenant_id = %(tenant)s AND {live} AND {rule}
ORDER BY id
ON CONFLICT (memory_id, kind, tenant_id) DO UPDATE SET weight = excluded.weight, at = excluded.at
WHERE old.weight <> excluded.weight OR old.at <> excluded.at
"""
_CLEAR = """
DELETE FROM memories_memoryfinding AS finding
WHERE tenant_id = %(tenant)s AND kind = %(kind)s AND dismissed_at IS NULL AND NOT EXISTS (
    SELECT FROM memories_memory AS memory WHERE memory.id = finding.memory_id AND {live} AND {rule}
)
"""
_COUNTED = "(SELECT count(*) FROM ({rows}) AS counted)"
_LIVE = "memory.archived_at IS NULL AND (memory.expires_at IS NULL OR memory.expires_at > %(now)s)"
#: The weight, the time and the condition of each list.
_RULES = {
    "never_retrieved": (
        "tokens_o200k_base",
        "recorded_from",
        "memory.retrieval_count = 0 AND memory.recorded_from < %(before)s",
    ),
    "expires_soon": ("tokens_o200k_base", "expires_at", "memory.expires_at <= %(before)s"),
    "unhelpful": ("retrieval_count", "recorded_from", "memory.id = ANY (%(ids)s::uuid[])"),
}


def count_up_to(several: Iterable[QuerySet[Any]], count: int) -> list[int]:
    """Return the number of rows of each queryset, counted up to `count`. One query."""
    queries = [rows.order_by().values("pk")[:count].query.sql_with_params() for rows in several]
    counts = ", ".join(_COUNTED.format(rows=sql) for sql, _ in queries)
    return list(execute(f"SELECT {counts}", [value for _, values in queries for value in values])[0])


class UncomparedMemoryQuerySet(TenantRows):
    def enqueue(self, tenant_id: UUID, memory_ids: Iterable[UUID]) -> None:
        """Add the current versions of these memories to the backlog. One statement."""
        send_prepared(_ENQUEUE, [tenant_id, list(memory_ids)])

    def is_waiting(self, memory_id: UUID) -> bool:
        """Whether a version of the memory has not been compared yet."""
        return self.filter(memory_id=memory_id).exists()

    within = rows_within("memory__partition_path")


class DismissableQuerySet(TenantRows):
    """Rows of lists that may be dismissed; `sides` are their memories; the last one determines the partition."""

    sides: ClassVar[tuple[str, ...]]

    of_kind = rows_by("kind")
    open = rows_where(dismissed_at__isnull=True)

    def live_within(self, path: str, now: datetime) -> Self:
        """Rows whose memories are all live and whose last one is in `path` or below it."""
        live = (_of_row(live_condition(now), side) for side in self.sides)
        return self.filter(*live, path_condition(f"{self.sides[-1]}__partition_path", path, exact=False))

    def within_reach(self, path: str) -> Self:
        """Rows whose memories are all in `path` or below it."""
        return self.filter(*(path_condition(f"{side}__partition_path", path, exact=False) for side in self.sides))

    def with_memories(self) -> Self:
        """Load the memories in the same query."""
        derived = [f"{side}__{name}" for side in self.sides for name in ("search_vector", *SEARCH_COLUMNS)]
        return self.select_related(*self.sides).defer(*derived)

    def row_ids(self) -> list[int]:
        """Return the ids of the rows."""
        return list(self.order_by().values_list("pk", flat=True))

    def locked(self) -> Self:
        return self.select_for_update(of=("self",)).order_by("id")


class MemoryPairQuerySet(DismissableQuerySet):
    sides = ("older", "newer")
    #: Pairs of two live texts, except pairs in which one replaced the other.
    found_by_comparison = rows_where(~Q(kind=REPLACED))

    def of_memory(self, memory_id: UUID) -> Self:
        """Pairs with this memory, newest first."""
        return self.filter(Q(older_id=memory_id) | Q(newer_id=memory_id)).order_by("-found_at", "-pk")

    def replaced_within(self, path: str) -> Self:
        """Pairs whose older memory was replaced and not restored, and whose newer one is in `path` or below it."""
        is_placed = path_condition("newer__partition_path", path, exact=False)
        return self.filter(is_placed, older__valid_to__isnull=False)

    def not_dismissed_before(self, at: datetime) -> Self:
        return self.filter(Q(dismissed_at__isnull=True) | Q(dismissed_at__gte=at))

    def touching(self, memory_ids: Iterable[UUID]) -> Self:
        ids = list(memory_ids)
        return self.filter(Q(older_id__in=ids) | Q(newer_id__in=ids))

    def hashes_and_paths(self) -> list[tuple[Any, ...]]:
        """Return (id, texts hash, and the current content hash and path of the older and the newer memory)."""
        now = [f"{side}__{name}" for side in self.sides for name in ("content_hash", "partition_path")]
        return list(self.order_by().values_list("id", "texts_hash", *now))

    def store(self, tenant_id: UUID, pairs: Sequence[tuple[Any, ...]], now: datetime) -> None:
        """Insert or update pairs (kind, older_id, newer_id, similarity, texts_hash).

        A pair whose texts changed is new; one dismissed with the same texts stays dismissed.
        """
        execute(_STORE_PAIRS, [tenant_id, now, *map(list, zip(*pairs, strict=True))])


class MemoryFindingQuerySet(DismissableQuerySet):
    sides = ("memory",)

    def find(
        self, tenant_id: UUID, kind: str, *, now: datetime, before: datetime | None = None, ids: Iterable[UUID] = ()
    ) -> None:
        """Insert the memories that now belong in a list and delete those that no longer do. Two statements."""
        weight, at, rule = _RULES[kind]
        values = {"tenant": tenant_id, "kind": kind, "now": now, "before": before, "ids": array_text(ids)}
        execute(_FIND.format(weight=weight, at=at, live=_LIVE, rule=rule), values)
        execute(_CLEAR.format(live=_LIVE, rule=rule), values)


def _of_row(condition: Q, head: str) -> Q:
    """Return a condition on a memory as a condition on the row that refers to it."""
    parts: list[Any] = list(condition.children)
    children = [_of_row(part, head) if isinstance(part, Q) else (f"{head}__{part[0]}", part[1]) for part in parts]
    return Q(*children, _connector=condition.connector, _negated=condition.negated)
