"""Look-ups at any point in time: memories by id, linked memories, summaries along a path, vectors."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.embeddings.providers import get_embedder
from memories.models import Memory, Tenant
from memories.partitions.actions import link_memories, unlink_memories
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.readings import CandidateQuery, read_linked_memories, read_memories, read_vectors
from memories.store.search_scope import SearchScope
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory

pytestmark = pytest.mark.django_db

PRESENT = PointInTime.now(FACTORY_NOW)


def at(hours: float) -> datetime:
    return FACTORY_NOW + timedelta(hours=hours)


def read(tenant: Tenant, *memories: Memory, moment: PointInTime = PRESENT, reach: str = "") -> list[str]:
    with tenant_scope(tenant.pk):
        ids = [memory.pk for memory in memories]
        found = read_memories(SearchScope(tenant.pk, reach, moment), ids)
    return [candidate.content for candidate in found]


def linked(tenant: Tenant, memory: Memory, moment: PointInTime = PRESENT, reach: str = "") -> list[str]:
    with tenant_scope(tenant.pk):
        found = read_linked_memories(SearchScope(tenant.pk, reach, moment), memory.pk)
    return [candidate.content for candidate in found]


def link(source: Memory, target: Memory, hours: float = 0, kind: str = "about") -> Any:
    with tenant_scope(source.tenant_id):
        return link_memories(source=source, target=target, kind=kind, by=TESTER, now=at(hours))


def test_memories_have_the_requested_order_without_repetition_within_reach(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    first, second = make_memory(tenant, "first", partition="user=a"), make_memory(tenant, "second", partition="user=b")
    foreign = make_memory(other_tenant, "foreign")
    assert read(tenant, second, first, second, foreign) == ["second", "first"]
    assert read(tenant, second, first, reach="user=a") == ["first"]
    assert read(tenant) == []
    with tenant_scope(tenant.pk):
        assert read_memories(SearchScope(tenant.pk, "", PRESENT), [uuid4()]) == []


def test_memories_are_read_as_of_an_earlier_time(tenant: Tenant) -> None:
    memory = make_memory(tenant, "old text", partition="user=a")
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "new text"}, by=TESTER, now=at(2))
        archive_memory(memory=memory, by=TESTER, now=at(4))
    for moment in (PointInTime.valid, PointInTime.recorded):
        found = [read(tenant, memory, moment=moment(at(hour))) for hour in (-1, 1, 3, 5)]
        assert found == [[], ["old text"], ["new text"], []]
    assert read(tenant, memory, moment=PointInTime.now(at(5))) == []


def test_memories_come_with_their_similarity_where_a_vector_is_given(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers green tea.", is_embedded=True)
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "Alex prefers coffee."}, by=TESTER, now=at(2))
        query, text = get_embedder().embed(["tea", "Alex prefers green tea."])
        moments = (PointInTime.valid(at(1)), PointInTime.now(at(3)))
        compared = CandidateQuery(query, get_embedder().name)
        (then,), (now,) = (read_memories(SearchScope(tenant.pk, "", one), [memory.pk], compared) for one in moments)
    assert then.similarity == pytest.approx(float(query @ text), abs=2e-3)
    assert now.similarity is None


def test_links_are_followed_one_hop_in_the_order_they_were_drawn(tenant: Tenant) -> None:
    focus, early, late, far = (make_memory(tenant, name) for name in ("focus", "early", "late", "far"))
    link(focus, late, 2)
    link(focus, early, 1)
    link(focus, early, 3, kind="supports")
    link(late, far)
    assert linked(tenant, focus) == ["early", "late"]
    assert linked(tenant, far) == []


def test_cycles_of_links_end(tenant: Tenant) -> None:
    first, second, third = (make_memory(tenant, name) for name in ("first", "second", "third"))
    for source, target in ((first, second), (second, third), (third, first), (second, first)):
        link(source, target)
    assert linked(tenant, second) == ["third", "first"]


def test_links_end_where_the_reach_ends_and_dead_memories_are_not_linked(tenant: Tenant) -> None:
    focus, near = make_memory(tenant, "focus", partition="user=a"), make_memory(tenant, "near", partition="user=a")
    outside, gone = make_memory(tenant, "outside"), make_memory(tenant, "gone", partition="user=a")
    for target in (near, outside, gone):
        link(focus, target)
    with tenant_scope(tenant.pk):
        archive_memory(memory=gone, by=TESTER, now=at(2))
    later = PointInTime.now(at(3))
    assert linked(tenant, focus, later, reach="user=a") == ["near"]
    assert linked(tenant, focus, later) == ["near", "outside"]
    assert linked(tenant, focus, PointInTime.recorded(at(1)), reach="user=a") == ["near", "gone"]


def test_links_are_those_recorded_then(tenant: Tenant) -> None:
    focus, target = make_memory(tenant, "focus"), make_memory(tenant, "target")
    drawn = link(focus, target, 1)
    with tenant_scope(tenant.pk):
        unlink_memories(link=drawn, by=TESTER, now=at(3))
    for moment in (PointInTime.valid, PointInTime.recorded):
        assert [linked(tenant, focus, moment(at(hour))) for hour in (0.5, 1, 3)] == [[], ["target"], []]
    assert linked(tenant, focus) == []


def test_vectors_are_read_by_version(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers green tea.", is_embedded=True)
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "Alex prefers coffee."}, by=TESTER, now=at(1))
        found = read_vectors(tenant.pk, {memory.pk: 1}, get_embedder().name)
        assert read_vectors(tenant.pk, {memory.pk: 2}, get_embedder().name) == {}
        assert read_vectors(tenant.pk, {memory.pk: 1}, "another-model") == {}
        assert read_vectors(tenant.pk, {}, get_embedder().name) == {}
    assert list(found) == [memory.pk]
    (text,) = get_embedder().embed(["Alex prefers green tea."])
    assert np.allclose(found[memory.pk], text, atol=2e-3)
    assert found[memory.pk].dtype == np.float32


def test_queries_do_not_grow(tenant: Tenant) -> None:
    def count(moment: PointInTime) -> int:
        with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
            read_linked_memories(SearchScope(tenant.pk, "", moment), focus.pk)
        return len(queries)

    focus = make_memory(tenant, "focus")
    moments = (PRESENT, PointInTime.valid(at(9)))
    for number in range(2):
        link(focus, make_memory(tenant, f"target {number}"))
    few = [count(moment) for moment in moments]
    for number in range(9):
        link(focus, make_memory(tenant, f"further target {number}"))
    assert [count(moment) for moment in moments] == few == [2, 3]
