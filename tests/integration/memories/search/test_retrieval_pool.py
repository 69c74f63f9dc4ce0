"""A candidate pool of fixed size, the messages adjacent to its better half, and what signals read of candidates."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import get_embedder
from memories.models import Memory, Tenant
from memories.search.retrieval import Retrieval
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = pytest.mark.django_db

LATER = FACTORY_NOW + timedelta(hours=2)


def search(tenant: Tenant, query: str | None, **options: Any) -> Retrieval:
    values: dict[str, Any] = {"now": LATER, "token_budget": 10, "overfetch_ratio": 1.0, "mode": "lexical"}
    return retrieve_for_test(tenant, query, **values | options)


def contents(found: Retrieval) -> list[str]:
    return [candidate.content for candidate in found.candidates]


def make_talk(tenant: Tenant, session: str, texts: list[str], partition: str = "user=al") -> list[Memory]:
    """A memory for each text, at the positions of the list, newer ones later."""
    return [
        make_memory(
            *(tenant, text),
            partition=partition,
            session=session,
            position=position,
            created_at=FACTORY_NOW + timedelta(seconds=position),
        )
        for position, text in enumerate(texts)
    ]


def test_pool_counts_memories_instead_of_tokens(tenant: Tenant) -> None:
    for number in range(30):
        make_memory(tenant, f"tea number {number}")
    assert len(search(tenant, "tea").candidates) == 5
    assert len(search(tenant, "tea", pool_size=20).candidates) == 20
    assert len(search(tenant, "tea", pool_size=20, limit=7).candidates) == 20
    assert len(search(tenant, "tea", pool_size=2).candidates) == 2
    assert len(search(tenant, "tea", pool_size=10_000, token_budget=0).candidates) == 30


def test_pool_contains_pinned_memories_and_the_best_by_fused_rank(tenant: Tenant) -> None:
    make_memory(tenant, "the oven", pinned=True)
    make_memory(tenant, "a tea ceremony")
    make_memory(tenant, "tea and many other words that stand beside it")
    found = search(tenant, "tea ceremony", pool_size=1, with_pinned=True, token_budget=100)
    assert contents(found) == ["the oven", "a tea ceremony"]
    assert (found.plan["fused_rows"], found.plan["gated_rows"]) == (2, 2)


def test_neighbours_of_the_better_half_follow_the_pool(tenant: Tenant) -> None:
    make_talk(tenant, "one", ["a", "b", "tea tea tea", "d", "e", "f"])
    make_talk(tenant, "two", ["g", "h and some other words than tea", "i"])
    found = search(tenant, "tea", pool_size=2, adjacent_turn_reach=1)
    assert contents(found)[:2] == ["tea tea tea", "h and some other words than tea"]
    assert contents(found)[2:] == ["b", "d"]
    assert [row.position for row in found.candidates] == [2, 1, 1, 3]
    assert {row.session for row in found.candidates[2:]} == {"one"}
    assert found.candidates[2].fused_score is found.candidates[2].text_rank is None
    assert found.plan["beside"]["rows"] == 2
    far = contents(search(tenant, "tea", pool_size=4, adjacent_turn_reach=9))
    assert far[2:] == ["a", "b", "d", "e", "f"]


def test_neighbours_are_of_the_same_partition_and_in_scope(tenant: Tenant, other_tenant: Tenant) -> None:
    texts = ["before", "tea", "after"]
    make_talk(tenant, "one", texts)
    make_talk(tenant, "one", ["elsewhere", "other", "elsewhere too"], partition="user=bo")
    make_talk(other_tenant, "one", ["foreign", "other", "foreign too"])
    make_memory(tenant, "another kind", kind="episode", session="one", position=2, partition="user=al")
    make_memory(tenant, "without a session", position=1, partition="user=al")
    gone = make_memory(tenant, "archived", session="one", position=1, partition="user=al")
    make_memory(tenant, "expired", session="one", position=1, partition="user=al", expires_at=LATER)
    with tenant_scope(tenant.pk):
        archive_memory(memory=gone, by=TESTER, now=FACTORY_NOW)
    wide = search(tenant, "tea", pool_size=5, adjacent_turn_reach=1)
    assert set(contents(wide)) == {*texts, "another kind"}
    narrow = search(tenant, "tea", pool_size=5, adjacent_turn_reach=1, filters={"kind": "fact"}, partition="user=al")
    assert contents(narrow) == ["tea", "before", "after"]


@pytest.mark.parametrize("kind", [PointInTime.valid, PointInTime.recorded])
def test_neighbours_of_a_past_moment_are_as_they_were_then(tenant: Tenant, kind: Any) -> None:
    before, _, after = make_talk(tenant, "one", ["before", "tea", "after"])
    with tenant_scope(tenant.pk):
        update_memory(memory=before, changes={"content": "rewritten"}, by=TESTER, now=LATER)
        update_memory(memory=after, changes={"position": 8}, by=TESTER, now=LATER)
    late = LATER + timedelta(hours=1)
    options = {"pool_size": 4, "adjacent_turn_reach": 1}
    assert contents(search(tenant, "tea", now=late, **options)) == ["tea", "rewritten"]
    then = search(tenant, "tea", now=late, moment=kind(FACTORY_NOW + timedelta(hours=1)), **options)
    assert contents(then) == ["tea", "before", "after"]


def test_candidates_contain_position_kind_and_content(tenant: Tenant) -> None:
    make_talk(tenant, "one", ["Green teas for Alex", "nothing of that"], partition="user=al/topic=x")
    found = search(tenant, "Does Alex drink O'Neill's green tea?", pool_size=5, adjacent_turn_reach=1)
    best, beside = found.candidates
    assert (best.kind, best.partition_path, best.session, best.position) == ("fact", "user=al/topic=x", "one", 0)
    assert best.holds == {"alex", "green", "tea"}
    assert best.holds < set(found.query.lexemes)
    assert beside.holds == frozenset()
    read = best
    assert (read["kind"], read["partition_path"], read["session"], read["position"]) == (
        *("fact", "user=al/topic=x", "one", 0),
    )
    assert (read["holds"], read["pinned"], read["text_rank"]) == (best.holds, False, 1)
    assert (read["fused_score"], read["vector_rank"]) == (best.fused_score, None)
    assert search(tenant, None).candidates[0].holds == frozenset()


def test_vectors_are_those_of_the_versions_that_were_found(tenant: Tenant) -> None:
    memory = make_memory(tenant, "green tea", is_embedded=True)
    make_memory(tenant, "tea that waits for its vector")
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "black tea"}, by=TESTER, now=LATER)
    index_memories(tenant.pk, [memory.pk])
    then, now = PointInTime.valid(FACTORY_NOW + timedelta(hours=1)), None
    for moment, text in ((then, "green tea"), (now, "black tea")):
        found = search(tenant, "tea", mode="hybrid", moment=moment, with_vectors=True, now=LATER)
        assert list(found.vectors) == [memory.pk]
        vector = found.vectors[memory.pk]
        assert vector.dtype == np.float32
        assert vector == pytest.approx(get_embedder().embed([text])[0], abs=1e-3)
    assert search(tenant, "tea", mode="hybrid").vectors == {}


def test_pool_costs_one_query_more_however_large_it_is(tenant: Tenant) -> None:
    def queries(**options: Any) -> int:
        with CaptureQueriesContext(connection) as captured:
            search(tenant, "tea", mode="hybrid", **options)
        return len(captured)

    make_talk(tenant, "one", ["before", "tea", "after"])
    plain, pool = queries(), queries(pool_size=100, adjacent_turn_reach=2, with_vectors=True)
    assert pool == plain + 1, "the neighbours with their vectors"
    for number in range(12):
        make_talk(tenant, f"talk {number}", ["before", "tea", "after", "then", "tea again"])
    assert queries(pool_size=100, adjacent_turn_reach=2, with_vectors=True) == pool
    assert queries() == plain
