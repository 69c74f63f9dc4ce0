"""Search: both retrievers, what never appears, scopes, filters, the candidate gate, and no embedder."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import EmbeddingError, EmbeddingVectors, get_embedder
from memories.embeddings.providers.hashed_embedder import HashedNgramEmbedder
from memories.models import Memory, Tenant
from memories.search import retrieval
from memories.search.queries.lexemes import query_lexemes_in_scope
from memories.search.retrieval import Retrieval
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = pytest.mark.django_db


def search(tenant: Tenant, query: str | None, **options: Any) -> Retrieval:
    values: dict[str, Any] = {"partition": "", "now": FACTORY_NOW, "token_budget": 4000, "overfetch_ratio": 1.25}
    return retrieve_for_test(tenant, query, **values | options)


def contents(found: Retrieval) -> list[str]:
    return [candidate.content for candidate in found.candidates]


def test_words_and_meaning_both_find_and_are_fused(tenant: Tenant) -> None:
    make_memory(tenant, "The error ERR_4012 means a wet plug.", is_embedded=True)
    make_memory(tenant, "My favourite hot drink is an infusion of leaves.", is_embedded=True)
    make_memory(tenant, "The office closes at six.", is_embedded=True)
    found = search(tenant, "ERR_4012")
    best = found.candidates[0]
    assert "ERR_4012" in best.content
    assert (best.vector_rank is not None, best.text_rank) == (True, 1)
    assert best.fused_score == pytest.approx(1 / (60 + (best.vector_rank or 0)) + 2 / 61), "words count twice"
    assert "infusion" in search(tenant, "tea", mode="vector").candidates[0].content
    assert contents(search(tenant, "tea", mode="lexical")) == []
    assert found.warnings == []


def test_similarity_is_the_exact_cosine_also_of_what_only_words_found(tenant: Tenant) -> None:
    make_memory(tenant, "Alex prefers green tea.", is_embedded=True)
    query, text = get_embedder().embed(["tea", "Alex prefers green tea."])
    for mode in ("hybrid", "vector", "lexical"):
        (candidate,) = search(tenant, "tea", mode=mode).candidates
        assert candidate.similarity == pytest.approx(float(query @ text), abs=2e-3)
    assert candidate.vector_rank is None


def test_pending_memory_is_found_by_text_without_a_similarity(tenant: Tenant) -> None:
    make_memory(tenant, "Alex prefers green tea.")
    (candidate,) = search(tenant, "green").candidates
    assert (candidate.similarity, candidate.vector_rank, candidate.text_rank) == (None, None, 1)
    assert search(tenant, "green", mode="vector").candidates == []


def test_edited_memory_is_found_by_its_new_text_alone(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers green tea.", is_embedded=True)
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "Alex prefers espresso."}, by=TESTER, now=FACTORY_NOW)
    assert contents(search(tenant, "tea")) == []
    assert contents(search(tenant, "espresso")) == ["Alex prefers espresso."]
    index_memories(tenant.pk, [memory.pk])
    (candidate,) = search(tenant, "tea").candidates
    assert (candidate.version, candidate.content) == (2, "Alex prefers espresso.")


def test_expired_archived_and_foreign_memories_never_appear(tenant: Tenant, other_tenant: Tenant) -> None:
    make_memory(tenant, "tea: live", expires_at=FACTORY_NOW + timedelta(seconds=1), is_embedded=True)
    make_memory(
        tenant, "tea: expired", created_at=FACTORY_NOW - timedelta(days=2), expires_at=FACTORY_NOW, is_embedded=True
    )
    archived = make_memory(tenant, "tea: archived", is_embedded=True)
    make_memory(other_tenant, "tea: foreign", is_embedded=True)
    with tenant_scope(tenant.pk):
        archive_memory(memory=archived, by=TESTER, now=FACTORY_NOW)
    for query in ("tea", None):
        assert contents(search(tenant, query)) == ["tea: live"]


PATHS = ["", "user=al", "user=al/topic=x", "user=al-2", "team=a/user=al/run=1", "user=b"]


SCOPES = [
    ({}, PATHS),
    ({"exact": True}, [""]),
    ({"partition": "user=al"}, ["user=al", "user=al/topic=x"]),
    ({"partition": parse_partition("user=al"), "exact": True}, ["user=al"]),
    ({"segments": {"user": "al"}}, ["user=al", "user=al/topic=x", "team=a/user=al/run=1"]),
    ({"segments": {"user": "al", "run": "1"}}, ["team=a/user=al/run=1"]),
    ({"partition": "team=a", "segments": {"user": "al"}}, ["team=a/user=al/run=1"]),
    ({"partition": "user=nobody"}, []),
]


def test_partition_is_searched_as_a_subtree(tenant: Tenant) -> None:
    for path in PATHS:
        make_memory(tenant, f"tea at {path}", partition=path, is_embedded=True)
    for scope, expected in SCOPES:
        for query in ("tea", None):
            found = search(tenant, query, **scope)
            assert sorted(candidate.partition_path for candidate in found.candidates) == sorted(expected)


FILTERS = [
    ({}, "abc"),
    ({"kind": "fact"}, "ab"),
    ({"kind": {"in": ["episode", "procedure"]}}, "c"),
    ({"confidence": {"gte": 0.5, "lte": 0.8}}, "b"),
    ({"pinned": True}, "a"),
    ({"created_at": {"gte": "2026-05-01T00:00:00Z"}}, "bc"),
    ({"session": "s"}, "c"),
    ({"position": {"lte": 3}}, "c"),
    ({"metadata.colour": "red"}, "a"),
    ({"metadata.colour": {"in": ["red", None]}}, "ab"),
    ({"metadata.size": 4}, "c"),
    ({"kind": {"in": []}}, ""),
    ({"metadata.size": {"in": []}}, ""),
    ({"source_id": "x", "kind": "fact"}, "b"),
]


def test_filters_narrow_the_search(tenant: Tenant) -> None:
    early = FACTORY_NOW - timedelta(days=60)
    make_memory(
        tenant, "tea a", pinned=True, confidence=0.9, created_at=early, metadata={"colour": "red"}, is_embedded=True
    )
    make_memory(tenant, "tea b", confidence=0.6, source_id="x", metadata={"colour": None}, is_embedded=True)
    make_memory(
        tenant, "tea c", kind="episode", session="s", position=3, confidence=0.1, metadata={"size": 4}, is_embedded=True
    )
    for filters, expected in FILTERS:
        found = search(tenant, "tea", filters=filters)
        assert sorted(content[-1] for content in contents(found)) == list(expected)


BAD_FILTERS = [
    ({"colour": 1}, "filters.colour", "unknown_field"),
    ({"kind": {"like": "a"}}, "filters.kind", "unknown_operator"),
    ({"kind": {}}, "filters.kind", "unknown_operator"),
    ({"kind": 3}, "filters.kind", "wrong_type"),
    ({"kind": "a\x00"}, "filters.kind", "wrong_type"),
    ({"kind": {"in": "fact"}}, "filters.kind", "wrong_type"),
    ({"kind": {"in": ["a"] * 201}}, "filters.kind", "too_many"),
    ({"pinned": {"gte": True}}, "filters.pinned", "unknown_operator"),
    ({"pinned": 1}, "filters.pinned", "wrong_type"),
    ({"confidence": float("nan")}, "filters.confidence", "wrong_type"),
    ({"retrieval_count": 10**30}, "filters.retrieval_count", "wrong_type"),
    ({"created_at": "2026-05-01T00:00:00"}, "filters.created_at", "wrong_type"),
    ({"created_at": "yesterday"}, "filters.created_at", "wrong_type"),
    ({"metadata.a": {"gte": 1}}, "filters.metadata.a", "unknown_operator"),
    ({"metadata.a": [1]}, "filters.metadata.a", "wrong_type"),
    ({"metadata.\x00": 1}, "filters", "wrong_type"),
    ([1], "filters", "wrong_type"),
]


def test_invalid_filter_is_refused(tenant: Tenant) -> None:
    for filters, field, code in BAD_FILTERS:
        with pytest.raises(InvalidInput) as caught:
            search(tenant, "tea", filters=filters)
        assert (caught.value.field, caught.value.code) == (field, code)


def fill(tenant: Tenant, count: int) -> None:
    rows = [NewMemory(f"tea number {number} of the long list", position=number) for number in range(count)]
    with tenant_scope(tenant.pk):
        results = store_memories(tenant=tenant, rows=rows, by=TESTER, now=FACTORY_NOW)
    index_memories(tenant.pk, [result.memory.pk for result in results if result.memory])


def test_memory_larger_than_the_budget_does_not_keep_smaller_ones_out(tenant: Tenant) -> None:
    make_memory(tenant, "oven " * 400, is_embedded=True)
    for number in range(12):
        make_memory(tenant, f"The oven of kitchen {number} was cleaned on day {number}.", is_embedded=True)
    found = search(tenant, "oven", mode="lexical", token_budget=100)
    assert len(found.candidates) >= 1 + 100 // 15


def test_candidates_are_gated_by_tokens(tenant: Tenant) -> None:
    fill(tenant, 60)
    for query in ("tea", None):
        found = search(tenant, query, token_budget=100, overfetch_ratio=1.25)
        tokens = [candidate.token_counts["o200k_base"] for candidate in found.candidates]
        assert sum(tokens) >= 125 > sum(tokens[:-1])
        assert len(search(tenant, query, token_budget=0).candidates) == 5
        assert len(search(tenant, query, limit=7).candidates) == 7


def test_pinned_then_newest_come_without_a_query(tenant: Tenant) -> None:
    for name, days, pinned in (("old", 9, False), ("pinned", 5, True), ("new", 1, False)):
        make_memory(tenant, name, created_at=FACTORY_NOW - timedelta(days=days), pinned=pinned)
    found = search(tenant, None)
    assert contents(found) == ["pinned", "new", "old"]
    assert contents(search(tenant, "  ")) == ["pinned", "new", "old"]
    assert {candidate.fused_score for candidate in found.candidates} == {None}
    assert found.plan["mode"] == "newest"


def test_queries_do_not_grow_with_the_memories(tenant: Tenant) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            search(tenant, "tea list")
        return len(queries)

    fill(tenant, 5)
    few = count()
    fill(tenant, 150)
    assert count() == few <= 18


def test_plan_lists_what_ran(tenant: Tenant) -> None:
    fill(tenant, 8)
    plan = search(tenant, "the tea").plan
    assert plan["mode"] == "hybrid"
    assert plan["embed"]["model"] == get_embedder().name
    assert (plan["vector"]["search"], plan["vector"]["rows"]) == ("exact", 8)
    assert (plan["lexical"]["lexemes"], plan["lexical"]["rows"]) == (1, 8)
    assert (plan["fused_rows"], plan["gated_rows"], plan["read"]["rows"]) == (8, 8, 8)
    assert all(plan[step]["ms"] >= 0 for step in ("embed", "vector", "lexical", "read"))


def test_same_search_gives_the_same_order(tenant: Tenant) -> None:
    fill(tenant, 40)
    assert contents(search(tenant, "tea")) == contents(search(tenant, "tea"))


# --- Degrading -----------------------------------------------------------------------------------------------------


class Broken(HashedNgramEmbedder):
    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        raise EmbeddingError("The embedding endpoint cannot be reached.", is_permanent=False)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
def test_search_continues_with_words_alone_without_an_embedder(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    make_memory(tenant, "Alex prefers green tea.", is_embedded=True)
    monkeypatch.setattr(retrieval, "embedder_of", lambda _: Broken())
    found = search(tenant, "tea", mode=mode)
    (candidate,) = found.candidates
    assert (candidate.similarity, candidate.text_rank) == (None, 1)
    assert [warning.code for warning in found.warnings] == ["embedder_unavailable"]
    assert found.plan["embed"]["failed"]


def test_vectors_of_another_model_are_not_compared(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    make_memory(tenant, "Alex prefers green tea.", is_embedded=True)
    monkeypatch.setattr(retrieval, "embedder_of", lambda _: HashedNgramEmbedder())
    found = search(tenant, "tea")
    assert [candidate.similarity for candidate in found.candidates] == [None]
    assert [warning.code for warning in found.warnings] == ["no_embeddings"]


# --- Text search ---------------------------------------------------------------------------------------------------


ODD_QUERIES = [
    "O'Neill's tea",
    "a\\b tea",
    "tea & (cake | !scones):*",
    "AT&T tea",
    "<b>tea",
    "'tea'",
    "tea -- drop",
    "🙂 tea",
    "'",
]


def test_no_query_breaks_the_text_search(tenant: Tenant) -> None:
    make_memory(tenant, "O'Neill's tea a\\b AT&T", is_embedded=True)
    for query in ODD_QUERIES:
        assert len(search(tenant, query, mode="lexical").candidates) == (query != "'")


def test_very_long_query_is_searched(tenant: Tenant) -> None:
    make_memory(tenant, "tea", is_embedded=True)
    query = "tea " + " ".join(f"word{number}" for number in range(3000)) + " " + "x" * 5000
    assert contents(search(tenant, query, mode="lexical")) == ["tea"]


@pytest.mark.parametrize(
    ("stored", "query"), [("ÉCLAIR", "éclair"), ("ПРИВЕТ МИР", "привет"), ("running shoes", "run")]
)
def test_text_is_found_whatever_its_case_and_ending(tenant: Tenant, stored: str, query: str) -> None:
    make_memory(tenant, stored)
    assert contents(search(tenant, query, mode="lexical")) == [stored]


def test_lexemes_are_those_of_the_stored_text(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        assert query_lexemes_in_scope("The running of the universities") == ["run", "univers"]
        assert query_lexemes_in_scope("the of") == ["=of", "=the"]


def test_row_names_the_lexemes_of_the_query_that_it_contains(tenant: Tenant) -> None:
    make_memory(tenant, "Alex's dogs are running, O'Neill said \\o/ {a,b}")
    make_memory(tenant, "nothing of it")
    lexemes = ["alex", "cat", "dog", "neill", "o'x", "run", '"', "\\"]
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).with_lexemes_held(lexemes).order_by("content")
        assert [sorted(row.holds) for row in rows] == [["alex", "dog", "neill", "run"], []]
        assert Memory.objects.for_tenant(tenant.pk).with_lexemes_held([]).first().holds == []
