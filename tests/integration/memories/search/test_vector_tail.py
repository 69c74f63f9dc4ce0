"""Vectors that the index does not contain yet: found immediately, inserted singly or by a rebuild (ADR-0123)."""

from collections.abc import Iterator

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connections

from memories.models import MemoryEmbedding, Tenant
from memories.search.vector_index import BUILD_LOCK, extend_vector_indexes, vector_index
from memories.services.search.index_upkeep import TailStep
from memories.services.search.planner import SearchMethod
from memories.tenancy.scopes import tenant_scope
from memory_platform.postgres.roles import known_owner
from tests.factories import make_memory
from tests.integration.memories.search.test_search_planner import MODEL, along, clustered, fill, scope_of

pytestmark = pytest.mark.django_db(transaction=True)

BUILD_MEMORY = """
SELECT 4 * pg_size_bytes(current_setting('maintenance_work_mem'))
    = pg_size_bytes(current_setting('effective_cache_size'))
"""
ROWS_OF_ANALYSIS = """
SELECT min(reltuples) FROM pg_class
WHERE oid IN ('memories_memory'::regclass, 'memories_memoryembedding'::regclass)
"""


@pytest.fixture(autouse=True)
def _no_former_tail() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def tail_of(tenant: Tenant) -> int:
    index = vector_index(MODEL)
    assert index is not None
    with tenant_scope(tenant.pk):
        return MemoryEmbedding.objects.tails(MODEL, index.bound).get(tenant.pk, 0)


def test_new_vectors_are_found_before_and_after_they_are_inserted(tenant: Tenant, other_tenant: Tenant) -> None:
    memories = [make_memory(tenant, f"note {number}", is_embedded=True) for number in range(3)]
    make_memory(other_tenant, "note", is_embedded=True)
    (vector,) = clustered(1, 5)
    index = vector_index(MODEL)
    assert index is not None
    for tail in (3, 0):
        assert tail_of(tenant) == tail
        found = along(scope_of(tenant), vector, limit=3, index_bound=index.bound)
        assert set(found.rows) == {memory.pk.int for memory in memories}
        if tail:
            assert extend_vector_indexes(owner=None) == 4
    assert found.plan["search"] == SearchMethod.HNSW, "the index alone has enough of them"
    assert extend_vector_indexes(owner=None) == 0
    assert vector_index(MODEL) == index, "nothing was rebuilt"


def test_long_tail_is_rebuilt_into_another_index(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tenant, clustered(200, 1), ["user=al"])
    with tenant_scope(tenant.pk):
        MemoryEmbedding.objects.for_tenant(tenant.pk).update(is_indexed=False)
    former = vector_index(MODEL)
    steps = iter([TailStep.REBUILD, TailStep.WAIT])
    monkeypatch.setattr("memories.search.vector_index.next_tail_step", lambda **_: next(steps))
    monkeypatch.setattr("memories.search.vector_index.BUILT_BYTES", 1 << 30)
    assert extend_vector_indexes(owner=known_owner()) == 200
    with connections[known_owner()].cursor() as cursor:
        cursor.execute(BUILD_MEMORY)
        assert cursor.fetchone() == (True,), "as much as the index needs, but a quarter of the cache at most"
        cursor.execute(ROWS_OF_ANALYSIS)
        assert cursor.fetchone()[0] >= 200, "the tables were analysed before"
    index = vector_index(MODEL)
    assert index is not None
    assert former is not None
    assert index.bound > former.bound
    assert tail_of(tenant) == 0
    found = along(scope_of(tenant), clustered(1, 5)[0], limit=200, index_bound=index.bound)
    assert (len(found.rows), found.plan["search"]) == (200, SearchMethod.HNSW)
    assert extend_vector_indexes(owner=known_owner()) == 0
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'embedding_near_wordllama%'")
        assert cursor.fetchone() == (1,), "the former index is gone"


def test_indexes_are_left_alone_while_another_process_builds_one(tenant: Tenant) -> None:
    make_memory(tenant, "note", is_embedded=True)
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [BUILD_LOCK])
        try:
            assert extend_vector_indexes(owner=known_owner()) == 0
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [BUILD_LOCK])
    assert tail_of(tenant) == 1


def test_vectors_in_binary_are_as_their_half_floats(tenant: Tenant) -> None:
    memory = make_memory(tenant, "green tea")
    (vector,) = clustered(1, 5)
    with tenant_scope(tenant.pk):
        MemoryEmbedding.objects.insert_vectors(tenant.pk, MODEL, [(memory.pk, 1)], -vector[np.newaxis])
        MemoryEmbedding.objects.insert_vectors(tenant.pk, MODEL, [(memory.pk, 1)], vector[np.newaxis])
        ((_, _, stored),) = MemoryEmbedding.objects.for_tenant(tenant.pk).vectors()
    assert np.array_equal(stored, vector.astype(np.float16).astype(np.float32)), "the last one is kept"
