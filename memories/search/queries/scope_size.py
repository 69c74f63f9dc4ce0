"""The size of a search scope by the folded counts of partitions plus pending changes (ADR-0077)."""

from collections.abc import Callable, Hashable
from time import monotonic

from memories.search.queries.nearest import INDEX_FOUND, VectorIndex, index_prefix
from memories.search.queries.shared_results import send_shared
from memories.services.search.planner import ScopeSize
from memories.tenancy.queries.plain_scope import PlainScope

#: The minimum rows of a scope whose size is cached, for how long, and the maximum number of cached sizes (ADR-0238).
KEPT_SECONDS, KEPT_ROWS_MIN, KEPT_MAX = 5.0, 20_000, 1_000

# Raw SQL, because every search of a small scope runs it.
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


#: The sizes of large scopes, each with the time at which it expires.
_kept: dict[Hashable, tuple[float, ScopeSize]] = {}


def send_scope_size(scope: PlainScope, model: str) -> Callable[[], ScopeSize]:
    """Send the query for the rows of a scope and the index of a model; return what reads the size.

    Pending changes are included. A large scope was counted at most `KEPT_SECONDS` ago. Its plan stays correct: rows
    that have expired since are excluded when the memories are read, and a new index contains the vectors of the former
    one.
    """
    values, index = scope.values, index_prefix(model)
    place = (scope.tenant_id, scope.path, scope.is_exact, tuple(values.get("segments", ())), index)
    end, kept = _kept.get(place, (0.0, None))
    if kept is not None and monotonic() < end:
        return lambda: kept
    values |= {"is_exact": scope.is_exact, "index": index} | ({"low": "", "high": ""} if scope.is_exact else {})
    within = _WITH_SEGMENTS if scope.segments else _WITHIN
    statement = _MEASURE.format(rows=within.format(here=_HERE), index=INDEX_FOUND)
    sent = send_shared(statement, values)

    def read() -> ScopeSize:
        ((rows, has_expired, index_rows, name),) = sent.rows()
        found = VectorIndex.found(index, index_rows, name)
        bound = {"index_rows": found.rows, "index_bound": found.bound} if found else {"index_rows": None}
        size = ScopeSize(max(int(rows or 0), 0), **bound, has_expired=has_expired)
        if size.rows >= KEPT_ROWS_MIN:
            if len(_kept) >= KEPT_MAX:
                _kept.clear()
            _kept[place] = monotonic() + KEPT_SECONDS, size
        return size

    return read
