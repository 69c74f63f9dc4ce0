"""The size of a search scope by the folded counts of partitions plus pending changes (ADR-0077)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memories.search.queries.nearest import INDEX_FOUND, VectorIndex
from memories.search.queries.shared_results import send_shared
from memories.services.partitions.paths import subtree_bounds
from memories.tenancy.queries.conditions import segment_paths
from memories.tenancy.queries.prepared import SentStatement

# Raw SQL, because every search runs it.
_HERE = "tenant_id = %(tenant)s AND (path = %(path)s OR path >= %(low)s AND path < %(high)s)"
_MEASURE = """
SELECT ({rows}), EXISTS (
    SELECT FROM memories_memory WHERE tenant_id = %(tenant)s AND archived_at IS NULL AND expires_at <= %(now)s
), found.* FROM (SELECT) AS one LEFT JOIN ({index}) AS found ON TRUE
"""
_WITHIN = """
SELECT sum(rows) FROM (
    SELECT CASE WHEN %(is_exact)s THEN own_rows ELSE subtree_rows END AS rows FROM memories_partitioncount
    WHERE tenant_id = %(tenant)s AND path = %(path)s
    UNION ALL SELECT rows FROM memories_partitioncountchange
    WHERE {here}
) AS counted
"""
_WITH_SEGMENTS = """
SELECT sum(rows) FROM (
    SELECT path, own_rows AS rows FROM memories_partitioncount WHERE {here}
    UNION ALL SELECT path, rows FROM memories_partitioncountchange
    WHERE {here}
) AS counted
WHERE path IN (
    SELECT path FROM memories_partition WHERE tenant_id = %(tenant)s AND segments @> %(segments)s::text[]
)
"""


@dataclass(frozen=True)
class CountedScope:
    """The rows of a scope, whether a memory of the tenant has expired and is not archived yet, and the index if any."""

    rows: int
    has_expired: bool
    index: VectorIndex | None


@dataclass(frozen=True)
class SentScopeSize:
    """A count whose query was sent; the name of the index begins with `prefix`."""

    statement: SentStatement
    prefix: str

    def read(self) -> CountedScope:
        """Wait for the result."""
        ((rows, has_expired, index_rows, name),) = self.statement.rows()
        return CountedScope(max(int(rows or 0), 0), has_expired, VectorIndex.found(self.prefix, index_rows, name))


def send_scope_size(
    tenant_id: UUID, path: str, *, exact: bool, segments: Mapping[str, str], index: str, now: datetime
) -> SentScopeSize:
    """Send the query for the rows of a partition, pending changes included, and the index with the prefix `index`."""
    low, high = ("", "") if exact else subtree_bounds(path)
    values = {"tenant": tenant_id, "path": path, "low": low, "high": high, "is_exact": exact}
    values |= {"segments": segment_paths(segments), "index": index, "now": now}
    within = _WITH_SEGMENTS if segments else _WITHIN
    statement = _MEASURE.format(rows=within.format(here=_HERE), index=INDEX_FOUND)
    return SentScopeSize(send_shared(statement, values), index)
