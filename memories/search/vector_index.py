"""The HNSW index over a model's current vectors, built beside running writes (ADR-0077)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connections
from psycopg import sql

from memories.embeddings.providers import default_model
from memories.models import EmbeddingModel, MemoryEmbedding
from memories.search.queries.nearest import MAX_INDEX_DIMENSION, index_name
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import maintenance_scope

#: Any number, the same for everybody: one index is built at a time.
BUILD_LOCK = 7_301_846_577

_EXISTING = "SELECT info.indisvalid FROM pg_index AS info WHERE info.indexrelid = to_regclass(%s)"
_DROP = "DROP INDEX CONCURRENTLY IF EXISTS {name}"
_CREATE = (
    "CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops)"
    " WHERE model = {model} AND is_current"
)


class VectorIndexState(StrEnum):
    """What `ensure_vector_index` did."""

    BUILT = "built"
    PRESENT = "present"
    #: Another process is at it.
    BUSY = "busy"


@dataclass(frozen=True)
class IndexedModel:
    """A model and how many numbers its vectors have."""

    name: str
    dimension: int


def models_to_index() -> list[IndexedModel]:
    """Return the default model and those that tenants use, except those too large for an index."""
    with maintenance_scope():
        used = {row["name"]: row["dimension"] for row in EmbeddingModel.objects.usage()}
    default = default_model()
    models = {default.name: default.dimension} | used
    return [IndexedModel(*item) for item in models.items() if item[1] <= MAX_INDEX_DIMENSION]


def ensure_vector_index(model: str, dimension: int, *, database: str) -> VectorIndexState:
    """Build the index if it is absent or invalid, outside of any transaction. Raises `InvalidInput` `out_of_range`.

    `database` is the alias of the role that owns the tables.
    """
    if not 1 <= dimension <= MAX_INDEX_DIMENSION:
        detail = f"An index takes vectors of 1 to {MAX_INDEX_DIMENSION:,} numbers, not {dimension:,}."
        raise InvalidInput("out_of_range", detail, "dimension")
    with connections[database].cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [BUILD_LOCK])
        if not cursor.fetchone()[0]:
            return VectorIndexState.BUSY
        try:
            return _ensure(cursor, model, dimension)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [BUILD_LOCK])


def _ensure(cursor: Any, model: str, dimension: int) -> VectorIndexState:
    name = index_name(model)
    cursor.execute(_EXISTING, [name])
    found = cursor.fetchone()
    if found and found[0]:
        return VectorIndexState.PRESENT
    parts = {
        "name": sql.Identifier(name),
        "table": sql.Identifier(MemoryEmbedding._meta.db_table),
        "dimension": sql.Literal(dimension),
        "model": sql.Literal(model),
    }
    for statement in (_DROP, _CREATE):
        cursor.execute(sql.SQL(statement).format(**parts))
    return VectorIndexState.BUILT
