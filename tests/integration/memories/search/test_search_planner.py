"""Search of large scopes: counts of partitions, vectors with their partition, the index and its recall."""

from collections.abc import Sequence
from datetime import timedelta
from io import StringIO
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from numpy.typing import NDArray

from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import get_embedder
from memories.models import Memory, MemoryEmbedding, PartitionCount, PartitionCountChange, Tenant
from memories.partitions.maintenance import fold_partition_counts
from memories.search.queries.nearest import begin_index_scan, force_index_scan, index_prefix
from memories.search.queries.ranking import send_nearest_vectors
from memories.search.queries.scope_size import send_scope_size
from memories.search.retrieval import Retrieval
from memories.search.retrievers import (
    NearestResult,
    SentVectorSearch,
    send_nearest,
)
from memories.search.vector_index import vector_index
from memories.services.partitions.paths import parse_partition
from memories.services.search.filters import parse_filters
from memories.services.search.lexemes import search_columns
from memories.services.search.planner import SearchMethod, SearchPlanReason, VectorPlan
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.live_rows import ensure_partitions
from memories.store.search_scope import SearchScope
from memories.tenancy.queries.plain_scope import PlainScope
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, reread_memory
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = pytest.mark.django_db

MODEL, DIMENSION = "wordllama-l2-supercat-256", 256
LATER = FACTORY_NOW + timedelta(hours=1)


def scope_of(tenant: Tenant, path: str = "", **narrowed: Any) -> SearchScope:
    return SearchScope(tenant.pk, path, PointInTime.now(LATER), **narrowed)


def rows_in(tenant: Tenant, path: str = "", **narrowed: Any) -> int:
    with tenant_scope(tenant.pk):
        scope = scope_of(tenant, path, **narrowed)
        return send_scope_size(scope.present(), MODEL)().rows


# --- Counts ---------------------------------------------------------------------------------------------------------


def test_counts_follow_every_write_folded_or_not(tenant: Tenant, other_tenant: Tenant) -> None:
    paths = ["", "user=al", "user=al/topic=x", "user=al/topic=x", "user=al-2", "team=a/user=al"]
    memories = [make_memory(tenant, partition=path) for path in paths]
    make_memory(other_tenant, partition="user=al")
    expected = {"": 6, "user=al": 3, "user=al/topic=x": 2, "user=al-2": 1, "team=a": 1, "user=nobody": 0}

    def counted() -> dict[str, int]:
        return {path: rows_in(tenant, path) for path in expected}

    assert counted() == expected
    assert fold_partition_counts() == 7
    assert counted() == expected
    with tenant_scope(tenant.pk):
        archive_memory(memory=memories[2], by=TESTER, now=FACTORY_NOW)
        update_memory(memory=memories[4], changes={"partition": parse_partition("user=al")}, by=TESTER, now=FACTORY_NOW)
        archive_memory(memory=memories[5], by=TESTER, now=FACTORY_NOW)
        restore_memory(memory=memories[5], by=TESTER, now=FACTORY_NOW)
        update_memory(memory=memories[1], changes={"content": "another text"}, by=TESTER, now=FACTORY_NOW)
    expected |= {"": 5, "user=al/topic=x": 1, "user=al-2": 0}
    assert counted() == expected
    fold_partition_counts()
    assert counted() == expected
    assert (rows_in(tenant, "user=al", is_exact=True), rows_in(tenant, "", is_exact=True)) == (2, 1)
    assert rows_in(tenant, segments={"user": "al"}) == 4
    assert rows_in(tenant, "user=al", segments={"user": "al", "topic": "x"}) == 1
    with tenant_scope(tenant.pk):
        Memory.objects.for_tenant(tenant.pk).delete()
    assert counted() == dict.fromkeys(expected, 0)
    fold_partition_counts()
    assert counted() == dict.fromkeys(expected, 0)
    with tenant_scope(tenant.pk):
        assert not PartitionCount.objects.for_tenant(tenant.pk).exists()
        assert not PartitionCountChange.objects.for_tenant(tenant.pk).exists()


def test_bulk_write_leaves_one_change_for_each_partition(tenant: Tenant) -> None:
    rows = [NewMemory(f"note {number}", partition=parse_partition(f"user=u{number % 3}")) for number in range(30)]
    with tenant_scope(tenant.pk):
        store_memories(tenant=tenant, rows=rows, by=TESTER, now=FACTORY_NOW)
        changes = PartitionCountChange.objects.for_tenant(tenant.pk).values_list("path", "rows")
        assert sorted(changes) == [(f"user=u{number}", 10) for number in range(3)]


def test_counts_of_another_tenant_are_out_of_reach(tenant: Tenant, other_tenant: Tenant) -> None:
    make_memory(other_tenant)
    with tenant_scope(tenant.pk):
        assert not PartitionCountChange.objects.exists()
    fold_partition_counts()
    with tenant_scope(tenant.pk):
        assert not PartitionCount.objects.exists()
    with tenant_scope(other_tenant.pk):
        assert PartitionCount.objects.count() == 1


def test_deleted_tenant_leaves_no_counts(tenant: Tenant) -> None:
    memory = make_memory(tenant, partition="user=al")
    with admin_write_scope():
        memory.delete()
    fold_partition_counts()
    with admin_write_scope():
        assert not PartitionCount.objects.filter(tenant_id=tenant.pk).exists()


# --- Vectors that know their place ----------------------------------------------------------------------------------


def current_versions(memory: Memory) -> list[tuple[int, str]]:
    with tenant_scope(memory.tenant_id):
        rows = MemoryEmbedding.objects.for_tenant(memory.tenant_id).filter(memory_id=memory.pk, is_current=True)
        return list(rows.values_list("version", "partition_path"))


def test_vectors_are_current_as_long_as_their_version(tenant: Tenant) -> None:
    memory = make_memory(tenant, "green tea", partition="user=al", is_embedded=True)
    assert current_versions(memory) == [(1, "user=al")]
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "black tea"}, by=TESTER, now=FACTORY_NOW)
    assert current_versions(memory) == []
    index_memories(tenant.pk, [memory.pk])
    assert current_versions(memory) == [(2, "user=al")]
    with tenant_scope(tenant.pk):
        moved = {"partition": parse_partition("user=bo/topic=x")}
        update_memory(memory=reread_memory(memory), changes=moved, by=TESTER, now=FACTORY_NOW)
    assert current_versions(memory) == [(3, "user=bo/topic=x")]
    with tenant_scope(tenant.pk):
        archive_memory(memory=reread_memory(memory), by=TESTER, now=FACTORY_NOW)
    assert current_versions(memory) == []
    with tenant_scope(tenant.pk):
        restore_memory(memory=reread_memory(memory), by=TESTER, now=LATER)
    assert current_versions(memory) == [(4, "user=bo/topic=x")]


def test_vector_of_an_old_version_that_comes_late_is_not_current(tenant: Tenant) -> None:
    memory = make_memory(tenant, "green tea")
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "black tea"}, by=TESTER, now=FACTORY_NOW)
        own = {"tenant_id": tenant.pk, "memory_id": memory.pk, "model": MODEL, "dimension": 2, "vector": [1.0, 0.0]}
        MemoryEmbedding.objects.create(version=1, **own)
    assert current_versions(memory) == []


# --- The index ------------------------------------------------------------------------------------------------------


def clustered(count: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors around forty centres, like those of texts on forty subjects."""
    draw, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    centres, directions = fixed.normal(size=(40, DIMENSION)), fixed.normal(size=(16, DIMENSION))
    vectors = centres[draw.integers(0, 40, count)] + 0.2 * draw.normal(size=(count, 16)) @ directions
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def fill(tenant: Tenant, vectors: NDArray[np.float32], paths: Sequence[str], **fields: Any) -> list[Memory]:
    """A memory with each of the vectors, distributed over the partitions; the index contains nine of ten vectors."""
    with tenant_scope(tenant.pk):
        partitions = ensure_partitions(tenant.pk, [parse_partition(path) for path in paths])
        rows = []
        for number in range(len(vectors)):
            path = paths[number % len(paths)]
            values = {
                "kind": "episode" if number % 4 == 0 else "fact",
                "created_at": FACTORY_NOW,
                "valid_from": FACTORY_NOW,
            } | fields
            place = {"tenant_id": tenant.pk, "partition": partitions[path], "partition_path": path}
            tokens = {"tokens_o200k_base": 3, "tokens_cl100k_base": 3, "embedding_state": "ready"}
            content = f"note {number}"
            text = {"content": content, "content_hash": uuid4().hex * 2, **search_columns(content)}
            rows.append(Memory(recorded_from=FACTORY_NOW, **place, **tokens, **text, **values))
        Memory.objects.bulk_create(rows)
        own = {"tenant_id": tenant.pk, "version": 1, "model": MODEL, "dimension": DIMENSION}
        embeddings = [
            MemoryEmbedding(memory_id=row.pk, vector=vector, is_indexed=number % 10 != 9, **own)
            for number, (row, vector) in enumerate(zip(rows, vectors, strict=True))
        ]
        MemoryEmbedding.objects.bulk_create(embeddings)
    return rows


def along(scope: SearchScope, vector: NDArray[np.float32], **changed: Any) -> NearestResult:
    values: dict[str, Any] = {"limit": 100, "ef_search": 400, "max_scan_tuples": 20_000} | changed
    with tenant_scope(scope.tenant_id):
        plan = VectorPlan(SearchMethod.HNSW, SearchPlanReason.MANY_ROWS, **values)
        return SentVectorSearch.send(plan, scope, vector, MODEL, "tokens_o200k_base").read()


def whole(scope: SearchScope, vector: NDArray[np.float32], **changed: Any) -> NearestResult:
    plan = VectorPlan(SearchMethod.EXACT, SearchPlanReason.FEW_ROWS, 100, **changed)
    with tenant_scope(scope.tenant_id):
        return SentVectorSearch.send(plan, scope, vector, MODEL, "tokens_o200k_base").read()


@pytest.mark.long
def test_index_finds_nearly_all_that_is_nearest_in_every_scope(tenant: Tenant, other_tenant: Tenant) -> None:
    paths = ["user=al", "user=al/topic=x", "user=bo", "user=al-2"]
    memories = fill(tenant, clustered(3_000, 1), paths)
    fill(tenant, clustered(100, 3), paths, expires_at=FACTORY_NOW + timedelta(minutes=1))
    fill(other_tenant, clustered(1_000, 2), paths)
    with tenant_scope(tenant.pk):
        for memory in memories[:40]:
            archive_memory(memory=memory, by=TESTER, now=FACTORY_NOW)
    episodes = parse_filters({"kind": "episode"})
    scopes = {
        "tenant": (scope_of(tenant), False),
        "subtree": (scope_of(tenant, "user=al"), False),
        "exact": (scope_of(tenant, "user=al", is_exact=True), False),
        "segments": (scope_of(tenant, segments={"topic": "x"}), False),
        "filter": (scope_of(tenant, conditions=episodes), True),
    }
    for name, (scope, reads_memories) in scopes.items():
        recalls = []
        for vector in clustered(6, 9):
            found = along(scope, vector, reads_memories=reads_memories, ef_search=800)
            by_vectors, by_memory = whole(scope, vector), whole(scope, vector, reads_memories=True)
            assert found.plan["search"] == SearchMethod.HNSW, name
            if not reads_memories:
                assert list(by_vectors.rows.items()) == list(by_memory.rows.items())
            nearest = set(by_memory.rows)
            assert len(nearest) == 100
            recalls.append(len(nearest & set(found.rows)) / 100)
        assert np.mean(recalls) >= 0.98, name


def test_scan_along_the_index_uses_it_and_leaves_sorting_as_it_was(tenant: Tenant) -> None:
    fill(tenant, clustered(50, 1), ["user=al"])
    with tenant_scope(tenant.pk):
        scope, nearest = PlainScope(tenant.pk, "user=al", FACTORY_NOW), clustered(1, 2)[0]
        index = vector_index(MODEL)
        assert index is not None
        begin_index_scan(ef_search=40, max_scan_tuples=1_000)
        with CaptureQueriesContext(connection) as captured:
            send_nearest_vectors(scope, nearest, MODEL, "tokens_o200k_base", 10, index=index).read()
        with connection.cursor() as cursor:
            cursor.execute("SHOW enable_sort")
            assert cursor.fetchone() == ("on",)
        with force_index_scan(ef_search=40, max_scan_tuples=1_000), connection.cursor() as cursor:
            with CaptureQueriesContext(connection) as filtered:
                (rows,) = scope_of(tenant, conditions=parse_filters({"kind": "fact"})).sources()
                rows.nearest_by_index(nearest, MODEL, "tokens_o200k_base", 10, index=index)
            searches = [query["sql"] for query in [*captured, *filtered] if "<=>" in query["sql"]]
            for search in searches[:2]:  # the third reads what the index lacks
                cursor.execute(f"EXPLAIN {search}")
                assert index_prefix(MODEL) in "".join(line for (line,) in cursor.fetchall())
            assert len(searches) == 3
        with connection.cursor() as cursor:
            cursor.execute("SHOW enable_sort")
            assert cursor.fetchone() == ("on",)


def test_scan_that_finds_too_little_gives_way_to_reading_the_scope(tenant: Tenant) -> None:
    fill(tenant, clustered(300, 1), ["user=al", "user=bo"])
    (vector,) = clustered(1, 5)
    for scope, reads_memories in (
        (scope_of(tenant), False),
        (scope_of(tenant, conditions=parse_filters({"kind": "procedure"})), True),
    ):
        found = along(scope, vector, limit=1_000, ef_search=40, max_scan_tuples=1, reads_memories=reads_memories)
        assert (found.plan["search"], found.plan["reason"]) == (SearchMethod.EXACT, SearchPlanReason.TOO_FEW_FOUND)
        assert len(found.rows) == (0 if reads_memories else 300)


def test_expired_memories_do_not_take_the_place_of_others(tenant: Tenant) -> None:
    vectors = clustered(200, 1)
    fill(tenant, vectors[:150], ["user=al"], expires_at=FACTORY_NOW + timedelta(minutes=1))
    fill(tenant, vectors[150:], ["user=al"])
    with tenant_scope(tenant.pk):
        plan = VectorPlan(SearchMethod.EXACT, SearchPlanReason.FEW_ROWS, 40)
        found = SentVectorSearch.send(plan, scope_of(tenant), vectors[0], MODEL, "tokens_o200k_base").read()
    assert len(found.rows) == 40


def test_receipt_shows_inputs_and_reasons(tenant: Tenant) -> None:
    make_memory(tenant, "green tea", partition="user=al", is_embedded=True)
    make_memory(tenant, "black tea", is_embedded=True)
    options = {"tenant": tenant, "query": "tea", "now": LATER, "token_budget": 100, "overfetch_ratio": 1.0}
    plan = retrieve_for_test(partition="user=al", **options).plan["vector"]
    assert (plan["search"], plan["reason"], plan["rows_in_scope"], plan["rows"]) == ("exact", "few_rows", 1, 1)
    assert plan["limit"] == 1_000
    assert not {"index_rows", "max_scan_tuples"} & plan.keys(), "the index contains the rows of other tenants"
    then = retrieve_for_test(moment=PointInTime.valid(LATER), **options).plan["vector"]
    assert (then["search"], then["reason"], then["rows"]) == ("exact", "history", 2)


def test_large_scope_is_planned_along_the_index(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tenant, clustered(500, 1), ["user=al", "user=bo"])
    monkeypatch.setattr("memories.services.search.planner.ALWAYS_EXACT_ROWS", 100)
    monkeypatch.setattr("memories.services.search.planner.VISIT_COST_ROWS", 0.001)
    # Rows that other tests rolled back stay in the index until the next vacuum.
    monkeypatch.setattr("memories.services.search.planner.SCAN_LIMIT_RATIO", 1_000)
    with tenant_scope(tenant.pk):
        scope, vector = scope_of(tenant), clustered(1, 4)[0]
        size = send_scope_size(scope.present(), MODEL)
        found = send_nearest(scope, vector, MODEL, "tokens_o200k_base", wanted=20, read_size=size).read()
    plan = found.plan
    assert (plan["search"], plan["reason"], plan["rows_in_scope"]) == ("hnsw", "many_rows", 500)
    assert plan["limit"] == 200
    assert 100 <= len(found.rows) <= 200


def test_vectors_alone_find_the_same_while_no_memory_has_expired(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = fill(tenant, clustered(500, 1), ["user=al", "user=bo"])
    monkeypatch.setattr("memories.services.search.planner.ALWAYS_EXACT_ROWS", 100)
    monkeypatch.setattr("memories.services.search.planner.VISIT_COST_ROWS", 0.001)
    with tenant_scope(tenant.pk):
        for memory in memories[:40]:
            archive_memory(memory=memory, by=TESTER, now=FACTORY_NOW)

    def search() -> tuple[Retrieval, bool]:
        with CaptureQueriesContext(connection) as captured:
            found = retrieve_for_test(tenant, "note 7", now=LATER, token_budget=120, with_vectors=True)
        return found, any("AS memory ON memory.id = near.memory_id" in query["sql"] for query in captured)

    alone, is_joined = search()
    assert not is_joined
    assert alone.plan["vector"]["search"] == "hnsw"
    fill(tenant, clustered(1, 77), ["user=cy"], expires_at=FACTORY_NOW + timedelta(seconds=1))
    joined, is_joined = search()
    assert is_joined
    assert alone.candidates == joined.candidates
    assert len({row.id for row in alone.candidates} - {memory.pk for memory in memories[40:]}) == 0
    assert alone.plan["gated_rows"] == len(alone.candidates) < 100


def test_large_scope_is_measured_again_only_after_seconds(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.search.queries.scope_size.KEPT_ROWS_MIN", 2)
    make_memory(tenant, partition="user=al")
    assert [rows_in(tenant), rows_in(tenant, "user=al")] == [1, 1]
    make_memory(tenant)
    assert rows_in(tenant) == 2, "a small scope is always measured"
    make_memory(tenant)
    assert [rows_in(tenant), rows_in(tenant, "", is_exact=True)] == [2, 2], "each scope is measured on its own"
    monkeypatch.setattr("memories.search.queries.scope_size.monotonic", lambda: monotonic() + 6)
    assert rows_in(tenant) == 3


# --- Building it ----------------------------------------------------------------------------------------------------


def test_migrated_database_has_the_index_of_the_default_model(tenant: Tenant) -> None:
    assert get_embedder().name == MODEL
    with tenant_scope(tenant.pk):
        scope = scope_of(tenant)
        assert send_scope_size(scope.present(), MODEL)().index_rows is not None
        assert send_scope_size(scope.present(), "unknown")().index_rows is None


@pytest.mark.django_db(transaction=True)
def test_command_builds_the_index_of_a_second_model_once() -> None:
    outputs = []
    for _ in range(2):
        out = StringIO()
        call_command("ensure_vector_index", "--model", "Second/Model 8", "--dimension", "8", verbosity=2, stdout=out)
        outputs.append(out.getvalue())
    assert "built" in outputs[0]
    assert "already exists" in outputs[1]
    with connection.cursor() as cursor:
        named = [index_prefix("Second/Model 8")]
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE starts_with(indexname, %s)", named)
        ((definition,),) = cursor.fetchall()
    assert "halfvec(8)" in definition
    assert "Second/Model 8" in definition


@pytest.mark.parametrize("arguments", [["--model", "m"], ["--dimension", "8"], ["--model", "m", "--dimension", "4001"]])
def test_command_refuses_what_no_index_can_be_built_of(db: None, arguments: list[str]) -> None:
    with pytest.raises(CommandError, match=r"used together|1 to 4,000"):
        call_command("ensure_vector_index", *arguments)


def test_models_of_similar_names_have_indexes_of_their_own() -> None:
    prefixes = {index_prefix(name) for name in ("a/model-1", "a_model_1", "A/Model-1", "m" * 90, "m" * 91)}
    assert len(prefixes) == 5
    assert all(len(prefix) + len(str(2**63)) <= 63 for prefix in prefixes)
