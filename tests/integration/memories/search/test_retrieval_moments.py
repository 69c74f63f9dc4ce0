"""A search of a past point in time finds what was found then, regardless of later changes."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.embeddings.indexer import index_memories
from memories.models import Memory, Tenant
from memories.search.retrieval import Retrieval
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.readings import Candidate
from memories.store.recall import fold_tenant_retrievals, record_retrieval_tick
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, reread_memory
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = pytest.mark.django_db

SUBJECTS = ("tea", "green tea", "coffee", "the oven", "a train ticket")
THEN = FACTORY_NOW + timedelta(hours=1)
SINCE = FACTORY_NOW + timedelta(hours=2)
LATER = FACTORY_NOW + timedelta(hours=9)


def search(tenant: Tenant, query: str | None, moment: PointInTime | None = None, **options: Any) -> Retrieval:
    values: dict[str, Any] = {"now": LATER, "token_budget": 4000, "overfetch_ratio": 1.25}
    return retrieve_for_test(tenant, query, moment=moment, **values | options)


def edit(memory: Memory, at: datetime, **changes: Any) -> None:
    with tenant_scope(memory.tenant_id):
        update_memory(memory=memory, changes=changes, by=TESTER, now=at)
    index_memories(memory.tenant_id, [memory.pk])


def as_found(candidates: list[Candidate]) -> list[tuple[Any, ...]]:
    """Return what a scorer reads of each candidate."""
    return [
        (
            *(row.id, row.version, row.content, row.pinned, row.created_at, row.confidence, dict(row.token_counts)),
            *(row.similarity, row.vector_rank, row.text_rank, row.fused_score, row.partition_path),
        )
        for row in candidates
    ]


def fill(tenant: Tenant, count: int) -> list[UUID]:
    rows = [
        NewMemory(
            f"{SUBJECTS[number % 5]} was mentioned in note {number}",
            partition=parse_partition(f"user=u{number % 3}/topic=t{number % 2}"),
            pinned=number % 7 == 0,
            metadata={"number": number % 4},
        )
        for number in range(count)
    ]
    with tenant_scope(tenant.pk):
        results = store_memories(tenant=tenant, rows=rows, by=TESTER, now=FACTORY_NOW)
    ids = [result.memory.pk for result in results if result.memory]
    index_memories(tenant.pk, ids)
    return ids


def change_everything(tenant: Tenant, ids: list[UUID], at: datetime) -> None:
    """A third edited, a third archived (some of these restored), some moved, and new ones in between."""
    with tenant_scope(tenant.pk):
        memories = list(Memory.objects.for_tenant(tenant.pk).of_memories(ids).order_by("content"))
        for number, memory in enumerate(memories):
            match number % 6:
                case 0:
                    changes: dict[str, Any] = {"content": f"now about tea {number}", "pinned": True, "metadata": {}}
                    update_memory(memory=memory, changes=changes, by=TESTER, now=at)
                case 1:
                    archive_memory(memory=memory, by=TESTER, now=at)
                case 2:
                    moved = {"partition": parse_partition("user=elsewhere")}
                    update_memory(memory=memory, changes=moved, by=TESTER, now=at)
                case 3:
                    archive_memory(memory=memory, by=TESTER, now=at)
                    restore_memory(memory=memory, by=TESTER, now=at + timedelta(minutes=5))
    for number in range(6):
        make_memory(tenant, f"new green tea {number}", now=at, pinned=number == 0, is_embedded=True)
    index_memories(tenant.pk, ids)


SEARCHES: list[tuple[str | None, dict[str, Any]]] = [
    ("green tea", {}),
    ("green tea", {"mode": "vector"}),
    ("green tea", {"mode": "lexical"}),
    ("green tea", {"with_pinned": True, "token_budget": 40}),
    ("coffee", {"partition": "user=u1"}),
    ("coffee", {"partition": "user=u1/topic=t1", "exact": True}),
    ("coffee", {"segments": {"topic": "t1"}}),
    ("note", {"filters": {"metadata.number": 3, "retrieval_count": {"lte": 0}, "usefulness_score": 0.5}}),
    ("the", {}),
    (None, {}),
    (None, {"partition": "user=u2", "limit": 4}),
]


def test_search_of_a_past_moment_finds_what_was_found_then(tenant: Tenant) -> None:
    ids = fill(tenant, 40)
    before = [as_found(search(tenant, query, now=THEN, **options).candidates) for query, options in SEARCHES]
    change_everything(tenant, ids, SINCE)
    for (query, options), found in zip(SEARCHES, before, strict=True):
        for moment in (PointInTime.valid(THEN), PointInTime.recorded(THEN)):
            again = search(tenant, query, moment, **options)
            assert as_found(again.candidates) == found, (query, options, moment)
        assert as_found(search(tenant, query, **options).candidates) != found, (query, options)


def test_version_is_found_by_its_own_text_and_vector(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers green tea.", confidence=0.9, is_embedded=True)
    edit(memory, SINCE, content="The oven needs repair.", confidence=0.2)
    with tenant_scope(tenant.pk):
        record_retrieval_tick(tenant_id=tenant.pk, texts={}, ids=[memory.pk], now=LATER)
    fold_tenant_retrievals(tenant.pk)
    (then,) = search(tenant, "hot drink", PointInTime.valid(THEN), mode="vector").candidates
    assert (then.version, then.content, then.confidence, then.retrieval_count) == (
        1,
        "Alex prefers green tea.",
        0.9,
        1,
    )
    assert search(tenant, "oven", PointInTime.valid(THEN), mode="lexical").candidates == []
    (now,) = search(tenant, "oven", PointInTime.valid(SINCE)).candidates
    assert (now.version, now.content) == (2, "The oven needs repair.")
    assert then.similarity is not None
    assert now.similarity is not None
    assert reread_memory(memory).content == "The oven needs repair."


def test_version_that_was_never_embedded_is_found_by_its_words(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers green tea.")
    edit(memory, SINCE, content="Alex prefers coffee.")
    (then,) = search(tenant, "tea", PointInTime.recorded(THEN)).candidates
    assert (then.similarity, then.vector_rank, then.text_rank) == (None, None, 1)


def test_archived_memory_is_read_as_live_where_it_was(tenant: Tenant) -> None:
    memory = make_memory(tenant, "green tea")
    with tenant_scope(tenant.pk):
        archive_memory(memory=memory, by=TESTER, now=SINCE)
    assert search(tenant, "tea").candidates == []
    (then,) = search(tenant, "tea", PointInTime.valid(THEN)).candidates
    assert then.version == 1


def test_back_dated_import_was_true_before_it_was_known(tenant: Tenant) -> None:
    make_memory(tenant, "green tea", created_at=FACTORY_NOW - timedelta(days=90), is_embedded=True)
    month_ago = FACTORY_NOW - timedelta(days=30)
    assert len(search(tenant, "tea", PointInTime.valid(month_ago)).candidates) == 1
    assert search(tenant, "tea", PointInTime.recorded(month_ago)).candidates == []


def test_present_reads_one_table_and_the_past_both_in_fixed_numbers_of_queries(tenant: Tenant) -> None:
    def tables(moment: PointInTime | None) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            search(tenant, "tea note", moment, with_pinned=True)
        return [query["sql"] for query in queries]

    ids = fill(tenant, 5)
    change_everything(tenant, ids, SINCE)
    few = {moment: len(tables(moment)) for moment in (None, PointInTime.valid(THEN), PointInTime.recorded(THEN))}
    change_everything(tenant, fill(tenant, 70), SINCE)
    assert {moment: len(tables(moment)) for moment in few} == few
    present = tables(None)
    assert not [sql for sql in present if "memories_memoryversion" in sql]
    # Both tables for vectors, words, pinned memories and rows; a search of the present also reads the size of the
    # scope.
    assert few[PointInTime.valid(THEN)] == few[PointInTime.recorded(THEN)] == len(present) + 4 - 1
