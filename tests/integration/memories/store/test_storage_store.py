"""Storing memories: every field, upserts, duplicates, recalled text, and concurrent writers."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import AuditEntry, Memory, MemoryLink, Partition, Tenant
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewLink, NewMemory
from memories.services.tokens import token_counts
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.recall import fold_tenant_retrievals, record_retrieval_tick
from memories.store.store_results import StoreResult
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, make_tenant, reread_memory

pytestmark = pytest.mark.django_db


def store(tenant: Tenant, *rows: NewMemory, **options: Any) -> list[StoreResult]:
    with tenant_scope(tenant.pk):
        values: dict[str, Any] = {"by": TESTER, "now": FACTORY_NOW} | options
        return store_memories(tenant=tenant, rows=rows, **values)


def live_count(tenant: Tenant) -> int:
    with tenant_scope(tenant.pk):
        return Memory.objects.for_tenant(tenant.pk).unarchived().count()


def test_memory_keeps_every_field(tenant: Tenant) -> None:
    said_at = datetime(2026, 5, 8, 13, 56, tzinfo=timezone(timedelta(hours=2)))
    memory = make_memory(
        tenant,
        "  Größe: 42 – 日本語 🙂  ",
        partition="user=alex/topic=shoes",
        kind="preference",
        confidence=0.4,
        pinned=True,
        metadata={"a": [1, None, "x"]},
        created_at=said_at,
        expires_at=said_at + timedelta(days=90),
        source_id="s-1",
        session="chat",
        position=7,
    )
    assert memory.content == "Größe: 42 – 日本語 🙂"
    assert memory.token_counts == token_counts("Größe: 42 – 日本語 🙂")
    assert (memory.kind, memory.confidence, memory.pinned) == ("preference", 0.4, True)
    assert memory.metadata == {"a": [1, None, "x"]}
    assert memory.created_at == said_at
    assert (memory.source_id, memory.session, memory.position) == ("s-1", "chat", 7)
    assert (memory.usefulness_score, memory.retrieval_count, memory.version) == (0.5, 0, 1)
    assert memory.partition_path == "user=alex/topic=shoes"


def test_first_version_is_valid_from_creation_and_recorded_from_now(tenant: Tenant) -> None:
    imported = make_memory(tenant, created_at=FACTORY_NOW - timedelta(days=400))
    assert (imported.valid_from, imported.recorded_from) == (FACTORY_NOW - timedelta(days=400), FACTORY_NOW)
    ahead = make_memory(tenant, created_at=FACTORY_NOW + timedelta(hours=5))
    assert (ahead.created_at, ahead.valid_from) == (FACTORY_NOW + timedelta(hours=5), FACTORY_NOW)


def test_partition_and_its_ancestors_are_made_once(tenant: Tenant) -> None:
    make_memory(tenant, partition="user=alex/topic=a")
    make_memory(tenant, partition="user=alex/topic=b")
    with tenant_scope(tenant.pk):
        rows = list(Partition.objects.for_tenant(tenant.pk).values_list("path", "depth", "segments"))
    assert rows == [
        ("", 0, []),
        ("user=alex", 1, ["user=alex"]),
        ("user=alex/topic=a", 2, ["user=alex", "topic=a"]),
        ("user=alex/topic=b", 2, ["user=alex", "topic=b"]),
    ]


def test_same_text_in_the_same_place_is_existing_and_unchanged(tenant: Tenant) -> None:
    first = make_memory(tenant, "Café au lait", confidence=0.9)
    (again,) = store(tenant, NewMemory("  Cafe\u0301 au lait\n", confidence=0.1))
    assert (again.status, again.reason) == ("existing", "duplicate")
    assert again.memory == first
    assert reread_memory(first).confidence == 0.9


@pytest.mark.parametrize("difference", [{"partition": parse_partition("user=alex")}, {"source_id": "other"}])
def test_same_text_elsewhere_or_from_another_source_is_another_memory(
    tenant: Tenant, difference: dict[str, Any]
) -> None:
    make_memory(tenant, "same text")
    (result,) = store(tenant, NewMemory("same text", **difference))
    assert result.status == "created"


def test_archived_text_may_be_stored_again(tenant: Tenant) -> None:
    first = make_memory(tenant, "come and go")
    with tenant_scope(tenant.pk):
        archive_memory(memory=first, by=TESTER, now=FACTORY_NOW)
    (result,) = store(tenant, NewMemory("come and go"))
    assert result.status == "created"
    assert result.memory != first


def test_expired_duplicate_is_archived_and_the_text_stored_again(tenant: Tenant) -> None:
    first = make_memory(tenant, "offer of the week", expires_at=FACTORY_NOW + timedelta(days=7))
    (early,) = store(tenant, NewMemory("offer of the week"), now=FACTORY_NOW + timedelta(days=6))
    (late,) = store(tenant, NewMemory("offer of the week"), now=FACTORY_NOW + timedelta(days=7))
    assert (early.status, late.status) == ("existing", "created")
    assert reread_memory(first).archived_at == FACTORY_NOW + timedelta(days=7)
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).about(first.pk).filter(verb="archive_expired").count() == 1


def test_equal_rows_of_one_batch_make_one_memory(tenant: Tenant) -> None:
    results = store(tenant, NewMemory("twin"), NewMemory("other"), NewMemory(" twin "))
    assert [result.status for result in results] == ["created", "created", "existing"]
    assert results[0].memory == results[2].memory
    assert live_count(tenant) == 2


def test_bad_row_is_named_and_the_good_ones_are_kept(tenant: Tenant) -> None:
    results = store(
        tenant,
        NewMemory("good"),
        NewMemory("   ", confidence=float("nan"), created_at=FACTORY_NOW + timedelta(days=2)),
        NewMemory("also good", links=(NewLink(uuid4()),)),
    )
    assert [result.status for result in results] == ["created", "invalid", "invalid"]
    assert {(problem.field, problem.code) for problem in results[1].problems} == {
        ("content", "blank"),
        ("confidence", "out_of_range"),
        ("created_at", "too_far_ahead"),
    }
    assert [(problem.field, problem.code) for problem in results[2].problems] == [("links", "unknown_target")]
    assert live_count(tenant) == 1


def test_every_problem_of_a_memory_is_reported(tenant: Tenant) -> None:
    (result,) = store(tenant, NewMemory("a\x00b", kind="Not A Word"))
    assert {(problem.field, problem.code) for problem in result.problems} == {
        ("content", "null_character"),
        ("kind", "bad_kind"),
    }
    assert live_count(tenant) == 0


def test_links_are_stored_with_the_memory(tenant: Tenant) -> None:
    target = make_memory(tenant)
    source = make_memory(tenant, links=(NewLink(target.pk, "supports"),))
    with tenant_scope(tenant.pk):
        edges = MemoryLink.objects.for_tenant(tenant.pk).current().from_memory(source.pk)
        assert [(edge.target_id, edge.kind) for edge in edges] == [(target.pk, "supports")]


@pytest.mark.parametrize("where", ["beyond_reach", "other_tenant"])
def test_link_beyond_the_reach_is_refused_like_an_absent_one(tenant: Tenant, other_tenant: Tenant, where: str) -> None:
    target = make_memory(tenant if where == "beyond_reach" else other_tenant, partition="user=sam")
    row = NewMemory("mine", partition=parse_partition("user=alex"), links=(NewLink(target.pk),))
    (result,) = store(tenant, row, reach="user=alex")
    assert [problem.code for problem in result.problems] == ["unknown_target"]


def test_queries_do_not_grow_with_the_rows(tenant: Tenant) -> None:
    def queries_of(count: int) -> int:
        rows = [
            NewMemory(f"{count} {number}", partition=parse_partition(f"user=u{count}/run=r{number}"))
            for number in range(count)
        ]
        with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
            store_memories(tenant=tenant, rows=rows, by=TESTER, now=FACTORY_NOW)
        return len(queries)

    assert queries_of(2) <= 10
    assert queries_of(400) == queries_of(200) <= 10


def test_one_audit_row_names_who_and_what_but_not_the_text(tenant: Tenant) -> None:
    memory = make_memory(tenant, "a secret text")
    with tenant_scope(tenant.pk):
        (entry,) = AuditEntry.objects.for_tenant(tenant.pk).about(memory.pk)
    assert (entry.verb, entry.target_kind, entry.at, entry.actor_kind) == (
        "store_memory",
        "memory",
        FACTORY_NOW,
        "system",
    )
    assert "secret" not in str(vars(entry))


# --- Recalled text -------------------------------------------------------------------------------------------------


RECEIVER = Actor("key", "prefix01.hash", "an agent")


def recall(
    memory: Memory, at: datetime = FACTORY_NOW, *, is_folded: bool = True, by: Actor = RECEIVER, partition: str = ""
) -> None:
    with tenant_scope(memory.tenant_id):
        record_retrieval_tick(
            tenant_id=memory.tenant_id,
            texts={memory.pk: memory.content},
            ids=[memory.pk],
            now=at,
            api_key_id=by.id or None,
            partition_path=partition,
        )
    if is_folded:
        assert fold_tenant_retrievals(memory.tenant_id) == 1


@pytest.mark.parametrize("is_folded", [True, False])
@pytest.mark.parametrize("text", ["Alex likes TEA.", "  alex likes\n tea ", "Alex likes tea"])
def test_recalled_text_is_answered_with_the_memory_it_came_from(tenant: Tenant, text: str, is_folded: bool) -> None:
    memory = make_memory(tenant, "Alex likes tea.", partition="user=alex")
    recall(memory, is_folded=is_folded)
    row = NewMemory(text, partition=parse_partition("user=alex/run=2"))
    (result,) = store(tenant, row, refuses_recalled_text=True, by=RECEIVER)
    assert (result.status, result.reason, result.memory) == ("existing", "recalled", memory)
    assert live_count(tenant) == 1


def test_recalled_text_is_stored_where_the_key_does_not_refuse_it(tenant: Tenant) -> None:
    recall(make_memory(tenant, "Alex likes tea."))
    (result,) = store(tenant, NewMemory("alex likes tea"), refuses_recalled_text=False, by=RECEIVER)
    assert result.status == "created"


@pytest.mark.parametrize("is_folded", [True, False])
def test_recalled_text_is_forgotten_after_30_days(tenant: Tenant, is_folded: bool) -> None:
    recall(make_memory(tenant, "Alex likes tea."), is_folded=is_folded)
    rows = {"refuses_recalled_text": True, "by": RECEIVER}
    (early,) = store(tenant, NewMemory("alex likes tea"), now=FACTORY_NOW + timedelta(days=30), **rows)
    (late,) = store(tenant, NewMemory("alex likes tea"), now=FACTORY_NOW + timedelta(days=30, seconds=1), **rows)
    assert (early.reason, late.status) == ("recalled", "created")


def test_missing_or_unreachable_recalled_memory_blocks_no_write(tenant: Tenant) -> None:
    beyond = make_memory(tenant, "Alex likes tea.", partition="user=sam")
    recall(beyond)
    row = NewMemory("alex likes tea", partition=parse_partition("user=alex"))
    (result,) = store(tenant, row, refuses_recalled_text=True, reach="user=alex", by=RECEIVER)
    assert result.status == "created"
    gone = make_memory(tenant, "Alex likes coffee.")
    recall(gone)
    with tenant_scope(tenant.pk):
        archive_memory(memory=gone, by=TESTER, now=FACTORY_NOW)
    (result,) = store(tenant, NewMemory("alex likes coffee"), refuses_recalled_text=True, by=RECEIVER)
    assert result.status == "created"


def test_recalling_again_keeps_one_row_and_the_later_time(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex likes tea.")
    recall(memory)
    recall(memory, FACTORY_NOW + timedelta(days=20))
    later = {"refuses_recalled_text": True, "by": RECEIVER, "now": FACTORY_NOW + timedelta(days=45)}
    (result,) = store(tenant, NewMemory("alex likes tea"), **later)
    assert result.reason == "recalled"


@pytest.mark.parametrize("is_folded", [True, False])
@pytest.mark.parametrize("writer", [TESTER, Actor("key", "prefix02.hash"), Actor("operator", "prefix01")])
def test_text_that_another_received_refuses_nothing(tenant: Tenant, writer: Actor, is_folded: bool) -> None:
    recall(make_memory(tenant, "Alex likes tea."), is_folded=is_folded)
    (result,) = store(tenant, NewMemory("alex likes tea"), refuses_recalled_text=True, by=writer)
    assert result.status == "created"


def test_text_not_received_by_a_key_blocks_no_write(tenant: Tenant) -> None:
    recall(make_memory(tenant, "Alex likes tea."), by=TESTER)
    (result,) = store(tenant, NewMemory("alex likes tea"), refuses_recalled_text=True, by=RECEIVER)
    assert result.status == "created"


@pytest.mark.parametrize("is_folded", [True, False])
def test_each_partition_has_its_own_recalled_text(tenant: Tenant, is_folded: bool) -> None:
    memories = {path: make_memory(tenant, "I am allergic to nuts.", partition=path) for path in ("user=u1", "user=u2")}
    for path, memory in memories.items():
        recall(memory, partition=path, is_folded=is_folded)
    paths = ["user=u1/run=1", "user=u2", "user=u3"]
    rows = [NewMemory("I am allergic to nuts", partition=parse_partition(path)) for path in paths]
    results = store(tenant, *rows, refuses_recalled_text=True, by=RECEIVER)
    assert [result.reason for result in results] == ["recalled", "recalled", ""]
    assert [result.memory for result in results[:2]] == list(memories.values())


def test_archived_memory_does_not_hide_a_live_one_of_the_same_text(tenant: Tenant) -> None:
    live, gone = (make_memory(tenant, "Alex likes tea.", source_id=name) for name in ("live", "gone"))
    recall(live)
    recall(gone, FACTORY_NOW + timedelta(hours=1))
    with tenant_scope(tenant.pk):
        archive_memory(memory=gone, by=TESTER, now=FACTORY_NOW)
    (result,) = store(tenant, NewMemory("alex likes tea"), refuses_recalled_text=True, by=RECEIVER)
    assert (result.reason, result.memory) == ("recalled", live)


def test_context_of_the_longest_partition_is_recorded(tenant: Tenant) -> None:
    letters = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(816))
    path = "/".join(f"k{number}={letters[number * 102 : number * 102 + 102]}" for number in range(8))
    memory = make_memory(tenant, "Alex likes tea.", partition=path)
    recall(memory, partition=path)
    row = NewMemory("alex likes tea", partition=parse_partition(path))
    (result,) = store(tenant, row, refuses_recalled_text=True, by=RECEIVER)
    assert result.reason == "recalled"


# --- Many writers --------------------------------------------------------------------------------------------------


def in_threads(count: int, work: Any) -> list[Any]:
    """Run `work(number)` in threads that start together, each with its own connection."""
    barrier = Barrier(count)

    def run(number: int) -> Any:
        try:
            barrier.wait(timeout=60)
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.django_db(transaction=True)
def test_eight_concurrent_writers_of_one_text_make_one_memory() -> None:
    tenant = make_tenant()
    results = in_threads(8, lambda _: store(tenant, NewMemory("raced", partition=parse_partition("user=a/run=b")))[0])
    assert sorted(str(result.status) for result in results) == ["created"] + ["existing"] * 7
    assert len({result.memory.pk for result in results}) == 1
    assert live_count(tenant) == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_bulks_in_opposite_order_neither_deadlock_nor_duplicate() -> None:
    tenant = make_tenant()
    rows = [NewMemory(f"row {n}", partition=parse_partition(f"user=u{n % 7}")) for n in range(60)]

    def write(number: int) -> Sequence[StoreResult]:
        return store(tenant, *(rows if number % 2 else reversed(rows)))

    results = in_threads(6, write)
    assert live_count(tenant) == 60
    assert sum(result.status == "created" for batch in results for result in batch) == 60


@pytest.mark.django_db(transaction=True)
def test_concurrent_edits_make_one_version_each() -> None:
    tenant = make_tenant()
    memory = make_memory(tenant, "start")

    def edit(number: int) -> int:
        with tenant_scope(tenant.pk):
            # Clocks of servers differ: a later edit may carry an earlier time.
            now = FACTORY_NOW - timedelta(seconds=number)
            return update_memory(memory=memory, changes={"content": f"edit {number}"}, by=TESTER, now=now).version

    assert sorted(in_threads(6, edit)) == [2, 3, 4, 5, 6, 7]
    with tenant_scope(tenant.pk):
        assert memory.versions.count() == 6


def test_naive_time_is_refused(tenant: Tenant) -> None:
    (result,) = store(tenant, NewMemory("x", created_at=datetime(2026, 1, 1), expires_at=datetime(1, 1, 1, tzinfo=UTC)))  # noqa: DTZ001
    assert [(problem.field, problem.code) for problem in result.problems] == [("created_at", "no_offset")]
