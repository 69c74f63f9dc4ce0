"""The HNSW index on a model's current vectors: built during writes, extended later (ADR-0077, ADR-0123)."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from time import monotonic
from uuid import UUID

from django.core.cache import cache
from django.db import connections
from psycopg import sql

from memories.embeddings.embedders import active_model_name
from memories.embeddings.providers import default_model
from memories.models import EmbeddingModel, Memory, MemoryEmbedding
from memories.search.queries.nearest import INDEX_FOUND, MAX_INDEX_DIMENSION, VectorIndex, index_prefix
from memories.services.search.index_upkeep import TailStep, next_tail_step
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.queries.insertions import execute
from memories.tenancy.scopes import maintenance_scope, tenant_scope

#: An arbitrary number that all processes share, so that only one index is built at a time.
BUILD_LOCK = 7_301_846_577

#: Vectors that are compared for each new one (ADR-0151). With 64, pgvector's default, a search must be a sixth wider.
EF_CONSTRUCTION = 128
#: Vectors that one transaction puts into the index, about .1 s of work.
INSERTED_TOGETHER = 100
#: Memory of a vector in an index that is being built, besides two bytes for each of its numbers; 715 were measured.
#: What does not fit is inserted row by row, which takes several times as long (ADR-0227).
BUILT_BYTES = 900
#: Maximum time of one run of insertions; the next run continues.
INSERTION_SECONDS = 4.0
FORMER_TAIL_SECONDS = 60

_EXISTING = """
SELECT kept.relname FROM pg_index AS info JOIN pg_class AS kept ON kept.oid = info.indexrelid
WHERE info.indrelid = to_regclass(%s) AND starts_with(kept.relname, %s)
"""
#: At most a quarter of the memory that the server expects for its cache.
_MEMORY = """
SELECT set_config('maintenance_work_mem', greatest(
    pg_size_bytes(current_setting('maintenance_work_mem')) / 1024,
    least({kibibytes}, pg_size_bytes(current_setting('effective_cache_size')) / 4096)
)::text, false)
"""
#: Autovacuum cannot analyse a table while an index on it is built, and plans that were made for small tables can take
#: time in proportion to the product of two tables (ADR-0318).
_ANALYSE = "ANALYZE {memories}, {table}"
_DROP = "DROP INDEX CONCURRENTLY IF EXISTS {name}"
_CREATE = (
    "CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops)"
    " WITH (ef_construction = {width}) WHERE model = {model} AND is_current AND {part}"
)


class VectorIndexState(StrEnum):
    """The result of `ensure_vector_index`."""

    BUILT = "built"
    PRESENT = "present"
    #: Another process builds or extends an index.
    BUSY = "busy"


def models_to_index() -> dict[str, int]:
    """Return the dimension of the default model and of those that tenants use, except those too large for an index."""
    with maintenance_scope():
        used = {row["name"]: row["dimension"] for row in EmbeddingModel.objects.usage()}
    default = default_model()
    models = {default.name: default.dimension} | used
    return {name: dimension for name, dimension in models.items() if dimension <= MAX_INDEX_DIMENSION}


def ensure_vector_index(model: str, dimension: int, *, database: str, is_rebuilt: bool = False) -> VectorIndexState:
    """Build the index if it is absent or invalid, or `is_rebuilt`, outside of any transaction.

    `database` is the alias of the role that owns the tables. Raises `InvalidInput` `out_of_range`.
    """
    if not 1 <= dimension <= MAX_INDEX_DIMENSION:
        detail = f"An index supports vectors of 1 to {MAX_INDEX_DIMENSION:,} numbers, not {dimension:,}."
        raise InvalidInput("out_of_range", detail, "dimension")
    with _index_lock(database) as is_alone:
        if not is_alone:
            return VectorIndexState.BUSY
        if not is_rebuilt and vector_index(model) is not None:
            return VectorIndexState.PRESENT
        _build(database, model, dimension)
        return VectorIndexState.BUILT


def extend_vector_indexes(*, owner: str | None) -> int:
    """Put new vectors into the index of each model, by insertions or a rebuild; return how many.

    `owner` is the alias of the role that owns the tables; without it nothing is rebuilt.
    """
    # insertions of several workers do not disturb each other
    with _index_lock(owner) if owner else nullcontext(True) as is_alone:
        return sum(_extend(*model, owner) for model in models_to_index().items()) if is_alone else 0


def _extend(model: str, dimension: int, owner: str | None) -> int:
    index = vector_index(model)
    if index is None:
        return 0
    with maintenance_scope():
        tails = MemoryEmbedding.objects.tails(model, index.bound)
    tail, name = sum(tails.values()), f"memories.vector-tail.{model}"
    former = int(cache.get(name, 0))
    cache.set(name, tail, FORMER_TAIL_SECONDS)
    step = next_tail_step(tail=tail, former_tail=former, indexed=index.rows, can_rebuild=owner is not None)
    if step is TailStep.REBUILD and owner is not None:
        _build(owner, model, dimension)
        return tail
    return _insert_tails(model, index, tails) if step is TailStep.INSERT else 0


def tail_lengths() -> dict[str, int]:
    """Return by model the number of vectors that its index does not contain yet."""
    lengths = {}
    for model in models_to_index():
        if (index := vector_index(model)) is not None:
            with maintenance_scope():
                lengths[model] = sum(MemoryEmbedding.objects.tails(model, index.bound).values())
    return lengths


def unindexed_vectors(tenant_id: UUID) -> int:
    """Return how many vectors of a tenant's active model its index lacks; 0 without an index. Three queries."""
    model = active_model_name(tenant_id)
    index = vector_index(model)
    if index is None:
        return 0
    with tenant_scope(tenant_id):
        return MemoryEmbedding.objects.for_tenant(tenant_id).tails(model, index.bound).get(tenant_id, 0)


def _insert_tails(model: str, index: VectorIndex, tails: dict[UUID, int]) -> int:
    """Insert the vectors of each tenant, the longest tail first, for at most `INSERTION_SECONDS`."""
    end, inserted = monotonic() + INSERTION_SECONDS, 0
    for tenant_id in sorted(tails, key=tails.__getitem__, reverse=True):
        batch = INSERTED_TOGETHER
        while batch == INSERTED_TOGETHER and monotonic() < end:
            with tenant_scope(tenant_id):
                batch = MemoryEmbedding.objects.mark_indexed(tenant_id, model, index.bound, INSERTED_TOGETHER)
            inserted += batch
    return inserted


def vector_index(model: str) -> VectorIndex | None:
    """Return the index of a model, None without a valid one."""
    prefix = index_prefix(model)
    with maintenance_scope():
        found = execute(INDEX_FOUND, {"index": prefix})
    return VectorIndex.found(prefix, *found[0]) if found else None


@contextmanager
def _index_lock(database: str) -> Iterator[bool]:
    """Hold a lock so that only one process builds or extends an index; yield whether this process has it."""
    with connections[database].cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [BUILD_LOCK])
        (is_alone,) = cursor.fetchone()
        try:
            yield is_alone
        finally:
            if is_alone:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [BUILD_LOCK])


def _build(database: str, model: str, dimension: int) -> None:
    """Build an index of all vectors so far, then drop the former ones, valid or not."""
    prefix, table = index_prefix(model), MemoryEmbedding._meta.db_table
    with maintenance_scope():
        index = VectorIndex(rows=0, bound=MemoryEmbedding.objects.last_id())
    name = f"{prefix}{index.bound}"
    parts = {
        "table": sql.Identifier(table),
        "memories": sql.Identifier(Memory._meta.db_table),
        "dimension": sql.Literal(dimension),
        "model": sql.Literal(model),
        "part": sql.SQL(index.contains("")),
        "width": sql.Literal(EF_CONSTRUCTION),
    }
    with connections[database].cursor() as cursor:
        # the bound is at least the number of vectors
        kibibytes = sql.Literal(index.bound * (BUILT_BYTES + 2 * dimension) // 1024)
        cursor.execute(sql.SQL(_MEMORY).format(kibibytes=kibibytes))
        cursor.execute(_EXISTING, [table, prefix])
        former = [found for (found,) in cursor.fetchall()]
        # an existing index with the same bound is used instead of the new one
        former.sort(key=lambda found: found != name)
        drops = [sql.SQL(_DROP).format(name=sql.Identifier(found)) for found in former]
        same = drops[:1] if name in former else []
        analyse, create = (sql.SQL(text).format(name=sql.Identifier(name), **parts) for text in (_ANALYSE, _CREATE))
        for statement in (*([analyse] if index.bound else ()), *same, create, *drops[len(same) :]):
            cursor.execute(statement)
