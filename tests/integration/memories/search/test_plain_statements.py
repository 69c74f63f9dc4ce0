"""Hand-written statements find the same rows as the querysets, only in the scope of their tenant (ADR-0115)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from psycopg import Cursor, Pipeline

from context.assembly.candidates import plan_without_timings
from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import get_embedder
from memories.models import Memory, Tenant
from memories.search.memory_ranks import read_memory_ranks
from memories.search.queries import ranking
from memories.search.queries.shared_results import send_shared, shared_results
from memories.search.retrieval import Retrieval, search_conditions
from memories.services.partitions.paths import parse_partition
from memories.services.search.planner import match_all
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.queries.candidates import send_plain_candidates
from memories.store.readings import CandidateQuery, CandidateRanks, read_candidates
from memories.store.search_scope import SearchScope
from memories.tenancy.queries.plain_scope import PlainScope
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = pytest.mark.django_db

#: A filter that every memory passes, so that querysets search the same rows.
PASSES_ALL = {"confidence": {"gte": 0.0}}
QUERY = "Which bread does Alex bake, and what's 100% rye?"
PARTITIONS = ("user=alex", "user=alex/topic=food", "user=alexa", "user=sam/topic=food", "")


@pytest.fixture
def bread(tenant: Tenant) -> Tenant:
    """Memories in partitions with similar names: some pinned, expired, archived, edited or without a vector."""
    rows = [
        NewMemory(
            f"Note {number}: {'Alex' if number % 2 else 'Sam'} bakes {'rye' if number % 3 else 'wheat'} bread, 100%.",
            partition=parse_partition(PARTITIONS[number % len(PARTITIONS)]),
            created_at=FACTORY_NOW - timedelta(hours=number % 7),
            pinned=number % 11 == 0,
            expires_at=FACTORY_NOW + timedelta(hours=1 if number % 5 else -0.5) if number % 4 == 0 else None,
            session=f"s{number // 10}",
            position=number % 10,
        )
        for number in range(60)
    ]
    with tenant_scope(tenant.pk):
        stored = [result.memory for result in store_memories(tenant=tenant, rows=rows, by=TESTER, now=FACTORY_NOW)]
    memories = [memory for memory in stored if memory is not None]
    index_memories(tenant.pk, [memory.pk for memory in memories[:50]])
    with tenant_scope(tenant.pk):
        archive_memory(memory=memories[1], by=TESTER, now=FACTORY_NOW)
        update_memory(memory=memories[3], changes={"pinned": True}, by=TESTER, now=FACTORY_NOW)
    return tenant


OPTIONS = [
    {},
    {"mode": "vector"},
    {"mode": "lexical"},
    {"token_budget": 90.0},
    {"token_budget": 90.0, "adjacent_turn_reach": 5},
]


PLACES = [
    {},
    {"partition": "user=alex"},
    {"partition": "user=alex", "exact": True},
    {"exact": True},
    {"segments": {"topic": "food"}},
    {"partition": "user=alex", "segments": {"topic": "food"}},
    {"partition": "user=nobody"},
]


def test_plain_statements_find_what_querysets_find(bread: Tenant) -> None:
    for options in OPTIONS:
        for place in PLACES:
            arguments = {"now": FACTORY_NOW, "with_pinned": True, "with_vectors": True, **place, **options}
            plain = retrieve_for_test(bread, QUERY, **arguments)
            filtered = retrieve_for_test(bread, QUERY, filters=PASSES_ALL, **arguments)
            assert plain.candidates == filtered.candidates
            assert {pk: vector.tolist() for pk, vector in plain.vectors.items()} == {
                pk: vector.tolist() for pk, vector in filtered.vectors.items()
            }
            assert bool(plain.candidates) is (place.get("partition") != "user=nobody")


@pytest.mark.parametrize("place", ["", "user=alex", "user=nobody"])
def test_ranks_of_one_memory_are_those_of_the_querysets(bread: Tenant, place: str) -> None:
    model = get_embedder()
    query = CandidateQuery(model.embed([QUERY])[0], model.name, ["bread"])
    plain = SearchScope(bread.pk, place, PointInTime.now(FACTORY_NOW))
    filtered = replace(plain, conditions=search_conditions(PASSES_ALL))
    with tenant_scope(bread.pk):
        memories = list(Memory.objects.for_tenant(bread.pk).order_by("created_at", "id")[::3])
        found = [[read_memory_ranks(scope, one, QUERY, query) for one in memories] for scope in (plain, filtered)]
    by_hand, by_queryset = ([(each.vector_rank, each.text_rank) for each in side] for side in found)
    assert by_hand == by_queryset
    assert {vector is None for vector, _ in by_hand} == {True, False}


@pytest.mark.parametrize("count", [1, 4, 5, 16, 17])
def test_the_same_lexemes_are_held_however_many_a_query_has(bread: Tenant, count: int) -> None:
    lexemes = [f"absent{number}" for number in range(count - 1)]
    query = CandidateQuery(lexemes=[*lexemes[: count // 2], "rye", *lexemes[count // 2 :]])
    plain = SearchScope(bread.pk, "", PointInTime.now(FACTORY_NOW))
    with tenant_scope(bread.pk):
        ids = [pk.int for pk in Memory.objects.for_tenant(bread.pk).values_list("pk", flat=True)]
        found, expected = (
            read_candidates(scope, ids, query, CandidateRanks())
            for scope in (plain, replace(plain, conditions=search_conditions(PASSES_ALL)))
        )
    assert found == expected
    assert {one.holds for one in found} == {frozenset(), frozenset({"rye"})}


def test_searches_of_a_page_share_statements_but_for_the_rows(bread: Tenant) -> None:
    def run(token_budget: float) -> Retrieval:
        found = retrieve_for_test(bread, QUERY, now=FACTORY_NOW, with_pinned=True, token_budget=token_budget)
        return replace(found, plan=plan_without_timings(found.plan))

    alone = [run(60.0), run(90.0)]
    with shared_results(), CaptureQueriesContext(connection) as queries:
        together = [run(60.0), run(90.0), run(90.0)]
    assert [(each.candidates, each.plan) for each in together] == [
        (each.candidates, each.plan) for each in (*alone, alone[1])
    ]
    written = [query["sql"] for query in queries]
    assert sum("string_agg(uuid_send" in sql for sql in written) == 2  # by vector, and the pinned ones
    assert sum("AS matching" in sql for sql in written) == 1
    assert sum("memory.content" in sql for sql in written) == 2


def test_only_a_statement_whose_rows_were_read_is_shared(db: None) -> None:
    with shared_results():
        lost, read = (send_shared("SELECT 1", {}) for _ in range(2))
        assert read.rows() == [(1,)]
        assert send_shared("SELECT 1", {}) is read is not lost
    assert send_shared("SELECT 1", {}) is not read


def test_statements_are_prepared_once_whatever_the_query(bread: Tenant) -> None:
    for query in (QUERY, "And what does Sam bake?", "wheat"):
        retrieve_for_test(bread, query, now=FACTORY_NOW, with_pinned=True, with_vectors=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), count(DISTINCT statement) FROM pg_prepared_statements")
        prepared, distinct = cursor.fetchone()
    assert prepared == distinct > 3


def test_nothing_is_prepared_where_the_setting_forbids_it(bread: Tenant, settings: Any) -> None:
    settings.DATABASE_PREPARED_STATEMENTS = False
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        (before,) = cursor.fetchone()
        found = retrieve_for_test(bread, QUERY, partition="user=sam", now=FACTORY_NOW)
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        assert cursor.fetchone() == (before,)
    assert found.candidates


def test_a_statement_shows_no_row_of_a_tenant_whose_scope_is_not_open(bread: Tenant, other_tenant: Tenant) -> None:
    model = get_embedder()
    vector, scope = model.embed([QUERY])[0], PlainScope(bread.pk, "", FACTORY_NOW)
    with tenant_scope(bread.pk):
        ids = list(ranking.nearest_memories(scope, vector, model.name, "tokens_o200k_base", 5))
    assert ids
    with tenant_scope(other_tenant.pk):
        assert ranking.nearest_memories(scope, vector, model.name, "tokens_o200k_base", 5) == {}
        assert ranking.send_nearest_vectors(scope, vector, model.name, "tokens_o200k_base", 5).read() == {}
        assert len(ranking.send_text_hits(scope, match_all(["bread"]), "tokens_o200k_base")()) == 0
        assert ranking.send_pinned_memories(scope, "tokens_o200k_base").read() == {}
        compared = {"vector": vector, "model": model.name, "lexemes": ["bread"], "with_vectors": True}
        assert send_plain_candidates(scope, ids, **compared).rows() == []


def test_the_log_of_queries_shows_prepared_statements_with_their_values(bread: Tenant) -> None:
    with CaptureQueriesContext(connection) as captured:
        retrieve_for_test(bread, QUERY, now=FACTORY_NOW)
    (read,) = [query["sql"] for query in captured if "= ANY(" in query["sql"] and "memory.content" in query["sql"]]
    assert bread.pk.hex in read


@pytest.mark.django_db(transaction=True)
def test_a_search_waits_three_times_for_the_database(bread: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {"now": FACTORY_NOW, "with_pinned": True, "with_vectors": True}
    retrieve_for_test(bread, QUERY, **arguments)
    waits: list[str] = []
    fetch, leave = Cursor._fetch_pipeline, Pipeline.__exit__

    def counted_fetch(cursor: Any) -> None:
        # another statement may already have read the rows
        waits.extend(["rows"] if not cursor.pgresult else [])
        fetch(cursor)

    def counted_exit(pipeline: Any, *error: Any) -> None:
        waits.append("end")
        leave(pipeline, *error)

    monkeypatch.setattr(Cursor, "_fetch_pipeline", counted_fetch)
    monkeypatch.setattr(Pipeline, "__exit__", counted_exit)
    assert retrieve_for_test(bread, QUERY, **arguments).candidates
    # the model, which requests have read before; look-ups, both retrievers, and the candidates with the end of the
    # transaction
    assert waits == ["end", "rows", "rows", "end"]
    waits.clear()
    assert retrieve_for_test(bread, QUERY, **arguments, adjacent_turn_reach=5).candidates
    assert waits == ["end", "rows", "rows", "rows", "end"], "the candidates first, then their neighbours"


def test_words_of_a_small_scope_are_never_searched_by_a_plan_for_any_tenant(bread: Tenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    connection.connection._prepared.clear()
    for _ in range(8):  # Postgres considers such a plan from the sixth execution on
        retrieve_for_test(tenant=bread, query=QUERY, now=FACTORY_NOW, token_budget=90.0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE %s", ["%AS matching%"]
        )
        assert cursor.fetchall() == [(0, 8)]
