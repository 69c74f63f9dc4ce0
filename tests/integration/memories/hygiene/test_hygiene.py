"""Findings of background comparisons, the actions on them, and the exact undo of each action."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from context.feedback.actions import record_feedback
from context.receipts.retention import find_unhelpful_memories
from memories.embeddings.indexer import index_memories
from memories.hygiene import maintenance
from memories.hygiene.actions import archive_memories, dismiss_findings, merge_memories, undo_hygiene
from memories.hygiene.maintenance import (
    COMPARE_LOCK,
    compare_new_memories_of_tenants,
    find_unused_and_expiring_memories,
)
from memories.models import (
    AuditEntry,
    Memory,
    MemoryEmbedding,
    MemoryFinding,
    MemoryLink,
    MemoryPair,
    Tenant,
    UncomparedMemory,
)
from memories.partitions.actions import link_memories
from memories.services.hygiene.rules import LOOP_WINDOW, NEVER_RETRIEVED_AFTER, UNHELPFUL_RETRIEVALS_MIN
from memories.services.store.drafts import NewMemory
from memories.store.actions.edit import MemoryCounters, archive_memory, import_counters, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.recall import fold_tenant_retrievals, record_retrieval_tick
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, make_tenant, reread_memory

pytestmark = pytest.mark.django_db

BAKER = "Alex prefers rye flour for the sourdough bread."
BAKER_AGAIN = "Alex prefers rye flour for sourdough bread!"
DUE = "The invoice of the mill is due on 12 March, 340 EUR."
DUE_LATER = "The invoice of the mill is due on 14 March, 340 EUR."


def memory(tenant: Tenant, text: str, partition: str = "user=alex", **fields: Any) -> Memory:
    return make_memory(tenant, text, partition=partition, is_embedded=True, **fields)


def compare(tenant: Tenant) -> list[MemoryPair]:
    while maintenance.detect_pairs_in_batch(tenant.pk, now=FACTORY_NOW + timedelta(hours=1)):
        pass
    return pairs(tenant)


def pairs(tenant: Tenant) -> list[MemoryPair]:
    with tenant_scope(tenant.pk):
        return list(MemoryPair.objects.for_tenant(tenant.pk).order_by("id"))


def in_list(tenant: Tenant, kind: str) -> list[Memory]:
    with tenant_scope(tenant.pk):
        return [row.memory for row in MemoryFinding.objects.for_tenant(tenant.pk).of_kind(kind).open().with_memories()]


def count(tenant: Tenant, *memories: Memory, times: int, usefulness: float = 0.5) -> None:
    counters = {row.pk: MemoryCounters(usefulness, times, FACTORY_NOW if times else None) for row in memories}
    with tenant_scope(tenant.pk):
        import_counters(tenant_id=tenant.pk, counters=counters, by=TESTER, now=FACTORY_NOW)


# --- Pairs ---------------------------------------------------------------------------------------------------------


def test_near_duplicate_texts_become_a_pair(tenant: Tenant) -> None:
    older = memory(tenant, BAKER, created_at=FACTORY_NOW - timedelta(days=3))
    newer = memory(tenant, BAKER_AGAIN)
    memory(tenant, "The warehouse closes at six.")
    (pair,) = compare(tenant)
    assert (pair.kind, pair.older_id, pair.newer_id) == ("near_duplicate", older.pk, newer.pk)
    assert 0.92 <= pair.similarity <= 1
    with tenant_scope(tenant.pk):
        assert not UncomparedMemory.objects.for_tenant(tenant.pk).exists()


def test_archived_and_expired_memories_are_no_pair(tenant: Tenant) -> None:
    archived = memory(tenant, "Alex prefers rye flour for his sourdough bread.")
    with tenant_scope(tenant.pk):
        archive_memory(memory=archived, by=TESTER, now=FACTORY_NOW)
    memory(tenant, "Alex prefers rye flour for a sourdough bread.", expires_at=FACTORY_NOW + timedelta(minutes=1))
    live = memory(tenant, BAKER, created_at=FACTORY_NOW - timedelta(days=1))
    newer = memory(tenant, BAKER_AGAIN)
    assert [(pair.older_id, pair.newer_id) for pair in compare(tenant)] == [(live.pk, newer.pk)]


def test_vectors_of_a_partition_are_read_without_their_memories(tenant: Tenant) -> None:
    """A join that was planned before a bulk load was counted did not end within minutes (ADR-0316)."""
    partition = MemoryEmbedding.objects.for_tenant(tenant.pk).of_partition("user=alex", "wordllama")
    for rows in (partition, partition.of_memories([tenant.pk])):
        assert str(rows.query).count("FROM") == 1
        assert "JOIN" not in str(rows.query)


def test_near_texts_of_two_partitions_or_tenants_are_no_pair(tenant: Tenant, other_tenant: Tenant) -> None:
    memory(tenant, BAKER)
    memory(tenant, BAKER_AGAIN, partition="user=mina")
    memory(other_tenant, BAKER_AGAIN)
    assert compare(tenant) == compare(other_tenant) == []


def test_texts_that_differ_in_a_date_are_a_contradiction_and_no_duplicates(tenant: Tenant) -> None:
    memory(tenant, DUE)
    memory(tenant, DUE_LATER)
    (pair,) = compare(tenant)
    assert pair.kind == "contradiction"


def test_text_that_was_shown_shortly_before_is_a_loop(tenant: Tenant) -> None:
    shown = memory(tenant, BAKER, created_at=FACTORY_NOW - timedelta(days=30))
    at = FACTORY_NOW - LOOP_WINDOW + timedelta(hours=1)
    with tenant_scope(tenant.pk):
        record_retrieval_tick(tenant_id=tenant.pk, texts={shown.pk: BAKER}, ids=[shown.pk], now=at)
    fold_tenant_retrievals(tenant.pk)
    memory(tenant, BAKER_AGAIN)
    assert [pair.kind for pair in compare(tenant)] == ["recall_loop"]


def test_text_that_was_shown_long_before_or_only_later_is_no_loop(tenant: Tenant) -> None:
    early, late = memory(tenant, BAKER, partition="user=a"), memory(tenant, BAKER, partition="user=b")
    memory(tenant, BAKER_AGAIN, partition="user=a", created_at=FACTORY_NOW)
    memory(tenant, BAKER_AGAIN, partition="user=b", created_at=FACTORY_NOW)
    for shown, at in (
        (early, FACTORY_NOW - LOOP_WINDOW - timedelta(hours=1)),
        (late, FACTORY_NOW + timedelta(minutes=5)),
    ):
        with tenant_scope(tenant.pk):
            record_retrieval_tick(tenant_id=tenant.pk, texts={shown.pk: "another text"}, ids=[shown.pk], now=at)
    fold_tenant_retrievals(tenant.pk)
    assert {pair.kind for pair in compare(tenant)} == {"near_duplicate"}


def test_shown_text_stored_in_another_partition_is_a_loop(tenant: Tenant) -> None:
    shown = memory(tenant, "The warehouse opens at eight.", created_at=FACTORY_NOW - timedelta(days=2))
    with tenant_scope(tenant.pk):
        record_retrieval_tick(tenant_id=tenant.pk, texts={shown.pk: shown.content}, ids=[shown.pk], now=FACTORY_NOW)
    fold_tenant_retrievals(tenant.pk)
    repeated = memory(tenant, "THE WAREHOUSE  opens at eight", partition="agent=writer")
    (pair,) = compare(tenant)
    assert (pair.kind, pair.older_id, pair.newer_id) == ("recall_loop", shown.pk, repeated.pk)


@pytest.mark.parametrize(
    ("read_in", "repeated_in"), [("user=alex", "user=mina"), ("", "user=mina"), ("user=alex", "agent=writer")]
)
def test_text_of_another_user_or_partition_is_no_pair(tenant: Tenant, read_in: str, repeated_in: str) -> None:
    shown = memory(tenant, BAKER, created_at=FACTORY_NOW - timedelta(days=2))
    repeated = memory(tenant, BAKER, partition=repeated_in)
    for row, at, place in ((shown, FACTORY_NOW, read_in), (repeated, FACTORY_NOW + timedelta(minutes=5), repeated_in)):
        with tenant_scope(tenant.pk):
            record_retrieval_tick(
                tenant_id=tenant.pk, texts={row.pk: BAKER}, ids=[row.pk], now=at, partition_path=place
            )
    fold_tenant_retrievals(tenant.pk)
    assert compare(tenant) == []


def test_edit_is_compared_again_and_its_former_pair_is_forgotten(tenant: Tenant) -> None:
    memory(tenant, BAKER)
    edited = memory(tenant, BAKER_AGAIN)
    assert len(compare(tenant)) == 1
    with tenant_scope(tenant.pk):
        update_memory(memory=edited, changes={"content": "Quite another thing."}, by=TESTER, now=FACTORY_NOW)
    index_memories(tenant.pk, [edited.pk])
    assert compare(tenant) == []


def test_dismissed_pair_stays_dismissed_until_a_text_changes(tenant: Tenant) -> None:
    memory(tenant, DUE)
    newer = memory(tenant, DUE_LATER)
    (pair,) = compare(tenant)
    with tenant_scope(tenant.pk):
        dismiss_findings(tenant_id=tenant.pk, pair_ids=[pair.pk], by=TESTER, now=FACTORY_NOW)
        update_memory(memory=newer, changes={"pinned": True}, by=TESTER, now=FACTORY_NOW)
    assert compare(tenant)[0].dismissed_at == FACTORY_NOW
    with tenant_scope(tenant.pk):
        changes = {"content": DUE_LATER.replace("14", "15")}
        update_memory(memory=reread_memory(newer), changes=changes, by=TESTER, now=FACTORY_NOW)
    index_memories(tenant.pk, [newer.pk])
    assert [row.dismissed_at for row in compare(tenant)] == [None]


def test_worker_that_was_killed_leaves_what_waited(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    memory(tenant, BAKER)
    memory(tenant, BAKER_AGAIN)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(maintenance, "_record", die)
        with pytest.raises(KeyboardInterrupt):
            maintenance.detect_pairs_in_batch(tenant.pk, now=FACTORY_NOW)
    assert pairs(tenant) == []
    assert len(compare(tenant)) == 1


def test_memory_that_is_erased_during_the_comparison_does_not_stop_it(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory(tenant, BAKER)
    erased, record = memory(tenant, BAKER_AGAIN), maintenance._record

    def erase_then_record(*arguments: Any) -> None:
        Memory.objects.filter(pk=erased.pk).delete()
        record(*arguments)

    monkeypatch.setattr(maintenance, "_record", erase_then_record)
    assert maintenance.detect_pairs_in_batch(tenant.pk, now=FACTORY_NOW + timedelta(hours=1)) == 2
    assert pairs(tenant) == []


def test_many_like_texts_are_paired_with_few_and_in_batches(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "COMPARED_BATCH", 7)
    monkeypatch.setattr(maintenance, "ROWS_READ", 4)
    for number in range(20):
        memory(tenant, f"{BAKER}{'!' * number}")
    found = compare(tenant)
    assert 20 <= len(found) <= 20 * 5
    assert len({frozenset((pair.older_id, pair.newer_id)) for pair in found}) == len(found)


def test_sweep_takes_every_tenant_and_one_sweep_runs_at_a_time() -> None:
    first, second = make_tenant(), make_tenant()
    for tenant in (first, second):
        memory(tenant, BAKER)
        memory(tenant, BAKER_AGAIN)
    cache.add(COMPARE_LOCK, True, 60)
    assert compare_new_memories_of_tenants(now=FACTORY_NOW) == 0
    cache.delete(COMPARE_LOCK)
    assert compare_new_memories_of_tenants(now=FACTORY_NOW) == 4
    assert len(pairs(first)) == len(pairs(second)) == 1


def test_comparison_without_time_takes_one_memory_at_a_time_and_finds_the_same_pairs(tenant: Tenant) -> None:
    for text in (BAKER, DUE, BAKER_AGAIN, DUE_LATER):
        memory(tenant, text)
    later = FACTORY_NOW + timedelta(hours=1)
    assert compare_new_memories_of_tenants(now=later, can_continue=lambda: False) == 0
    batches = [maintenance.detect_pairs_in_batch(tenant.pk, now=later, can_continue=lambda: False) for _ in range(5)]
    assert batches == [1, 1, 1, 1, 0]
    assert sorted(pair.kind for pair in pairs(tenant)) == ["contradiction", "near_duplicate"]


# --- Single memories -----------------------------------------------------------------------------------------------


def test_never_retrieved_are_old_enough_live_and_were_never_in_a_context(tenant: Tenant) -> None:
    old = memory(tenant, "old and unused")
    used, gone = memory(tenant, "old and used"), memory(tenant, "old and archived")
    count(tenant, used, times=1)
    later = FACTORY_NOW + NEVER_RETRIEVED_AFTER + timedelta(minutes=1)
    memory(tenant, "new", now=later)
    with tenant_scope(tenant.pk):
        archive_memory(memory=gone, by=TESTER, now=FACTORY_NOW)
    find_unused_and_expiring_memories(now=later)
    assert in_list(tenant, "never_retrieved") == [old]
    count(tenant, old, times=1)
    find_unused_and_expiring_memories(now=later)
    assert in_list(tenant, "never_retrieved") == []


def test_memories_that_expire_within_the_week_are_listed(tenant: Tenant) -> None:
    soon = memory(tenant, "soon", expires_at=FACTORY_NOW + timedelta(days=7))
    memory(tenant, "late", expires_at=FACTORY_NOW + timedelta(days=8))
    memory(tenant, "gone", expires_at=FACTORY_NOW + timedelta(minutes=1))
    find_unused_and_expiring_memories(now=FACTORY_NOW + timedelta(hours=1))
    assert in_list(tenant, "expires_soon") == [soon]


def test_unhelpful_are_shown_often_and_only_judged_negatively(tenant: Tenant) -> None:
    unjudged, useful, mixed, disliked = (memory(tenant, text) for text in ("unjudged", "useful", "mixed", "disliked"))
    seldom = memory(tenant, "seldom")
    count(tenant, unjudged, useful, mixed, disliked, times=UNHELPFUL_RETRIEVALS_MIN)
    count(tenant, seldom, times=UNHELPFUL_RETRIEVALS_MIN - 1)
    yesterday = FACTORY_NOW - timedelta(days=1)
    judged = ((useful, "POSITIVE", yesterday), (mixed, "POSITIVE", yesterday))
    for row, vote, at in (*judged, (mixed, "VERY_NEGATIVE", FACTORY_NOW), (disliked, "NEGATIVE", FACTORY_NOW)):
        with tenant_scope(tenant.pk):
            record_feedback(tenant_id=tenant.pk, memory_id=row.pk, feedback=vote, by=TESTER, now=at)
    find_unhelpful_memories(now=FACTORY_NOW)
    assert {row.pk for row in in_list(tenant, "unhelpful")} == {disliked.pk}, "silence says nothing"


# --- Acts and their undoing ----------------------------------------------------------------------------------------


def state(tenant: Tenant) -> dict[str, Any]:
    """Return everything about the tenant's memories that an undo must restore; versions are named by their text."""
    columns = [
        "id", "content", "kind", "confidence", "pinned", "metadata", "created_at", "expires_at", "source_id",
        "partition_path", "usefulness_score", "retrieval_count", "last_retrieved_at", "embedding_state", "archived_at",
    ]  # fmt: skip
    with tenant_scope(tenant.pk):
        rows = list(Memory.objects.for_tenant(tenant.pk).order_by("id").values(*columns))
        links = MemoryLink.objects.for_tenant(tenant.pk).current().order_by("source", "target", "kind")
        return {"rows": rows, "links": list(links.values_list("source", "target", "kind"))}


def linked(tenant: Tenant, source: Memory, kind: str, target: Memory) -> None:
    with tenant_scope(tenant.pk):
        link_memories(source=source, target=target, kind=kind, by=TESTER, now=FACTORY_NOW)


def edges(tenant: Tenant) -> set[tuple[Any, str, Any]]:
    with tenant_scope(tenant.pk):
        rows = MemoryLink.objects.for_tenant(tenant.pk).current()
        return set(rows.values_list("source_id", "kind", "target_id"))


def merge(tenant: Tenant, groups: dict[Memory, list[Memory]]) -> Any:
    with tenant_scope(tenant.pk):
        wanted = {kept.pk: [row.pk for row in others] for kept, others in groups.items()}
        return merge_memories(tenant_id=tenant.pk, groups=wanted, by=TESTER, now=FACTORY_NOW + timedelta(hours=2))


def undo(tenant: Tenant, act: Any) -> Any:
    with tenant_scope(tenant.pk):
        return undo_hygiene(tenant_id=tenant.pk, act_id=act.pk, by=TESTER, now=FACTORY_NOW + timedelta(hours=3))


def test_merge_keeps_one_with_links_pin_and_counters_of_all(tenant: Tenant) -> None:
    kept, other = memory(tenant, BAKER), memory(tenant, BAKER_AGAIN, pinned=True)
    topic = memory(tenant, "Bread.")
    linked(tenant, other, "about", topic)
    linked(tenant, topic, "names", other)
    linked(tenant, other, "supports", kept)
    count(tenant, kept, times=3, usefulness=0.8)
    count(tenant, other, times=1, usefulness=0.2)
    merge(tenant, {kept: [other]})
    after = reread_memory(kept)
    assert (after.content, after.pinned, after.retrieval_count) == (BAKER, True, 4)
    assert after.usefulness_score == pytest.approx((0.8 * 4 + 0.2 * 2) / 6)
    assert reread_memory(other).archived_at is not None
    drawn = {(kept.pk, "about", topic.pk), (topic.pk, "names", kept.pk), (other.pk, "merged_into", kept.pk)}
    assert drawn <= edges(tenant)
    assert not any(source == target for source, _, target in edges(tenant))
    with tenant_scope(tenant.pk):
        verbs = AuditEntry.objects.for_tenant(tenant.pk).about(other.pk).values_list("verb", flat=True)
        assert {"merge_memories", "archive_memory"} <= set(verbs)


def test_undo_of_a_merge_restores_exactly(tenant: Tenant) -> None:
    kept, other, third = memory(tenant, BAKER), memory(tenant, BAKER_AGAIN, pinned=True), memory(tenant, DUE)
    topic = memory(tenant, "Bread.")
    linked(tenant, other, "about", topic)
    linked(tenant, third, "about", topic)
    count(tenant, kept, third, times=3, usefulness=0.8)
    before = state(tenant)
    act = merge(tenant, {kept: [other, third]})
    assert state(tenant) != before
    undo(tenant, act)
    assert state(tenant) == before
    with pytest.raises(Conflict) as caught:
        undo(tenant, act)
    assert caught.value.code == "already_undone"


def test_undo_of_a_merge_keeps_what_was_counted_since(tenant: Tenant) -> None:
    kept, other = memory(tenant, BAKER), memory(tenant, BAKER_AGAIN)
    count(tenant, other, times=5)
    act = merge(tenant, {kept: [other]})
    with tenant_scope(tenant.pk):
        record_retrieval_tick(tenant_id=tenant.pk, texts={}, ids=[kept.pk], now=FACTORY_NOW + timedelta(hours=2))
        record_feedback(tenant_id=tenant.pk, memory_id=kept.pk, feedback="POSITIVE", by=TESTER, now=FACTORY_NOW)
    fold_tenant_retrievals(tenant.pk)
    voted = reread_memory(kept).usefulness_score
    undo(tenant, act)
    assert (reread_memory(kept).retrieval_count, reread_memory(kept).usefulness_score) == (1, voted)
    assert reread_memory(other).retrieval_count == 5


def test_whole_undo_is_refused_if_a_text_was_stored_again(tenant: Tenant) -> None:
    kept, other, third = memory(tenant, BAKER), memory(tenant, BAKER_AGAIN), memory(tenant, DUE)
    act = merge(tenant, {kept: [other, third]})
    again = memory(tenant, DUE)
    before = state(tenant)
    with pytest.raises(Conflict) as caught:
        undo(tenant, act)
    assert caught.value.code == "duplicate"
    assert state(tenant) == before
    with tenant_scope(tenant.pk):
        archive_memory(memory=again, by=TESTER, now=FACTORY_NOW)
    undo(tenant, act)
    assert reread_memory(third).archived_at is None


def test_archive_of_several_and_its_undo(tenant: Tenant) -> None:
    rows = [memory(tenant, text) for text in (BAKER, DUE, "third")]
    before = state(tenant)
    with tenant_scope(tenant.pk):
        act = archive_memories(tenant_id=tenant.pk, memory_ids=[row.pk for row in rows[:2]], by=TESTER, now=FACTORY_NOW)
    assert [bool(reread_memory(row).archived_at) for row in rows] == [True, True, False]
    undo(tenant, act)
    assert state(tenant) == before


def test_undo_of_a_merge_leaves_those_that_were_changed_by_hand_since(tenant: Tenant) -> None:
    kept, other, third = memory(tenant, BAKER), memory(tenant, BAKER_AGAIN, pinned=True), memory(tenant, DUE)
    act = merge(tenant, {kept: [other, third]})
    with tenant_scope(tenant.pk):
        for step in (restore_memory, archive_memory):
            step(memory=other, by=TESTER, now=FACTORY_NOW + timedelta(hours=2))
        for pinned in (False, True):
            update_memory(memory=kept, changes={"pinned": pinned}, by=TESTER, now=FACTORY_NOW + timedelta(hours=2))
    undone = undo(tenant, act)
    assert (undone.count, undone.left) == (1, 2)
    assert reread_memory(kept).pinned
    assert [bool(reread_memory(row).archived_at) for row in (other, third)] == [True, False]


def test_dismissal_of_pairs_and_findings_is_undone(tenant: Tenant) -> None:
    memory(tenant, BAKER)
    memory(tenant, BAKER_AGAIN)
    (pair,) = compare(tenant)
    later = FACTORY_NOW + NEVER_RETRIEVED_AFTER + timedelta(days=1)
    find_unused_and_expiring_memories(now=later)
    with tenant_scope(tenant.pk):
        finding = MemoryFinding.objects.for_tenant(tenant.pk).first()
        act = dismiss_findings(tenant_id=tenant.pk, pair_ids=[pair.pk], finding_ids=[finding.pk], by=TESTER, now=later)
    find_unused_and_expiring_memories(now=later)
    assert len(in_list(tenant, "never_retrieved")) == 1
    assert pairs(tenant)[0].dismissed_at == later
    assert str(undo(tenant, act)) == "Undone: 2 findings restored to their former state."
    assert pairs(tenant)[0].dismissed_at is None
    assert len(in_list(tenant, "never_retrieved")) == 2


def test_restored_memory_is_compared_again(tenant: Tenant) -> None:
    memory(tenant, BAKER)
    newer = memory(tenant, BAKER_AGAIN)
    with tenant_scope(tenant.pk):
        archive_memory(memory=newer, by=TESTER, now=FACTORY_NOW)
    assert compare(tenant) == []
    with tenant_scope(tenant.pk):
        restore_memory(memory=newer, by=TESTER, now=FACTORY_NOW)
    assert len(compare(tenant)) == 1


def test_acts_refuse_nonsense_and_change_nothing(tenant: Tenant, other_tenant: Tenant) -> None:
    kept, other, foreign = memory(tenant, BAKER), memory(tenant, DUE), memory(other_tenant, BAKER)
    before = state(tenant)
    for groups, error in (
        ({}, InvalidInput),
        ({kept: [kept]}, InvalidInput),
        ({kept: [other], other: [kept]}, InvalidInput),
        ({kept: [foreign]}, NotFound),
        ({foreign: [kept]}, NotFound),
    ):
        with pytest.raises(error):
            merge(tenant, groups)
    with pytest.raises(NotFound), tenant_scope(tenant.pk):
        dismiss_findings(tenant_id=tenant.pk, pair_ids=[10**9], by=TESTER, now=FACTORY_NOW)
    act = merge(other_tenant, {foreign: [memory(other_tenant, DUE)]})
    with pytest.raises(NotFound):
        undo(tenant, act)
    with tenant_scope(tenant.pk):
        archive_memory(memory=other, by=TESTER, now=FACTORY_NOW)
    with pytest.raises(Conflict):
        merge(tenant, {kept: [other]})
    assert reread_memory(kept).version == 1
    assert before["rows"][0]["id"] in {row["id"] for row in state(tenant)["rows"]}


def test_one_text_stored_twice_by_agents_stays_one(tenant: Tenant) -> None:
    first = memory(tenant, BAKER)
    with tenant_scope(tenant.pk):
        (again,) = store_memories(tenant=tenant, rows=[NewMemory(BAKER)], by=TESTER, now=timezone.now())
    assert again.memory is not None
    assert again.memory.pk != first.pk
    assert compare(tenant) == []
