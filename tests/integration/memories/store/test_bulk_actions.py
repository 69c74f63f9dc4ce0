"""Bulk actions: a constant number of queries, no overwritten concurrent change, exact undo."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest

from memories.embeddings.indexer import index_memories
from memories.hygiene.actions import HygieneUndoResult, merge_seen_memories, undo_hygiene
from memories.models import AuditEntry, Memory, MemoryEmbedding, MemoryVersion, Tenant, UncomparedMemory
from memories.services.store.bulk import BULK_MEMORIES_MAX, MERGED_MAX
from memories.services.store.drafts import NewMemory
from memories.store.actions.bulk import BulkActionResult, apply_bulk_action
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.scopes import tenant_scope
from tests.concurrency import run_concurrently
from tests.factories import FACTORY_NOW, TESTER, make_memory, make_tenant, reread_memory

pytestmark = pytest.mark.django_db

LATER = FACTORY_NOW + timedelta(hours=2)
ALL_ACTS = ["archive", "restore", "pin", "unpin", "kind"]


def memory(tenant: Tenant, text: str = "", **fields: Any) -> Memory:
    return make_memory(tenant, text, is_embedded=True, **fields)


def many(tenant: Tenant, count: int, **fields: Any) -> list[Memory]:
    """Stored in one request, with vectors."""
    with tenant_scope(tenant.pk):
        drafts = [NewMemory(f"Bike number {n} was sold.", **fields) for n in range(count)]
        found = [result.memory for result in store_memories(tenant=tenant, rows=drafts, by=TESTER, now=FACTORY_NOW)]
    rows = [row for row in found if row is not None]
    index_memories(tenant.pk, [row.pk for row in rows])
    return rows


def ready_for(act: str, rows: list[Memory]) -> dict[UUID, int]:
    """Return rows as `act` needs them, with the versions on the page."""
    for row in rows:
        with tenant_scope(row.tenant_id):
            if act == "restore":
                archive_memory(memory=row, by=TESTER, now=FACTORY_NOW)
            if act == "unpin":
                update_memory(memory=row, changes={"pinned": True}, by=TESTER, now=FACTORY_NOW)
    return {row.pk: reread_memory(row).version for row in rows}


def do(tenant: Tenant, act: str, seen: dict[UUID, int], kind: str = "") -> BulkActionResult:
    with tenant_scope(tenant.pk):
        return apply_bulk_action(tenant_id=tenant.pk, action=act, seen=seen, kind=kind, by=TESTER, now=LATER)


def undo(tenant: Tenant, done: BulkActionResult) -> HygieneUndoResult:
    with tenant_scope(tenant.pk):
        return undo_hygiene(tenant_id=tenant.pk, act_id=done.act.pk, by=TESTER, now=LATER + timedelta(hours=1))


def state(tenant: Tenant) -> list[tuple[Any, ...]]:
    """Return what an undo must restore; versions and their times are history."""
    columns = ["id", "content", "kind", "pinned", "confidence", "partition_path", "usefulness_score", "embedding_state"]
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).order_by("id")
        return [(*row, archived is None) for *row, archived in rows.values_list(*columns, "archived_at")]


@pytest.mark.parametrize("act", ALL_ACTS)
def test_act_is_done_audited_once_and_undone_exactly(act: str, tenant: Tenant) -> None:
    rows = [memory(tenant) for _ in range(3)]
    bystander = memory(tenant, "Not chosen.")
    seen = ready_for(act, rows)
    before, untouched = state(tenant), reread_memory(bystander)
    done = do(tenant, act, seen, kind="procedure")
    assert (done.count, done.left) == (3, {})
    assert state(tenant) != before
    assert reread_memory(bystander).version == untouched.version
    with tenant_scope(tenant.pk):
        verb = {"kind": "change_memories"}.get(act, f"{act}_memories")
        entry = AuditEntry.objects.for_tenant(tenant.pk).get(verb=verb)
        assert set(entry.target_ids) == {str(row.pk) for row in rows}
    undo(tenant, done)
    assert state(tenant) == before


@pytest.mark.parametrize("act", ["restore", "pin", "unpin", "kind"])
def test_every_version_keeps_its_interval_and_the_new_one_its_vectors(act: str, tenant: Tenant) -> None:
    row = memory(tenant)
    seen = ready_for(act, [row])
    do(tenant, act, seen, kind="procedure")
    after = reread_memory(row)
    assert after.version == seen[row.pk] + 1
    with tenant_scope(tenant.pk):
        former = MemoryVersion.objects.for_tenant(tenant.pk).of_memory(row.pk).numbered(seen[row.pk])
        vectors = MemoryEmbedding.objects.for_tenant(tenant.pk).of_version(row.pk, after.version)
        assert [vector.is_current for vector in vectors] == [True]
        assert UncomparedMemory.objects.for_tenant(tenant.pk).filter(memory=row.pk, version=after.version).exists()
    assert former.content == row.content
    assert former.recorded_to == (FACTORY_NOW if act == "restore" else LATER)
    assert after.recorded_from == LATER


@pytest.mark.parametrize(
    ("act", "count"), [("kind", BULK_MEMORIES_MAX), ("archive", 50), ("restore", 50), ("pin", 50), ("unpin", 50)]
)
def test_as_many_queries_for_a_thousand_as_for_two(
    act: str, count: int, tenant: Tenant, other_tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    is_pinned = act == "unpin"
    few, all_of_them = many(other_tenant, 2, pinned=is_pinned), many(tenant, count, pinned=is_pinned)
    seen = [{row.pk: row.version for row in rows} for rows in (few, all_of_them)]
    if act == "restore":
        for place, chosen in ((other_tenant, seen[0]), (tenant, seen[1])):
            do(place, "archive", chosen)
    with django_assert_max_num_queries(60) as counted:
        undo(other_tenant, do(other_tenant, act, seen[0], kind="procedure"))
    with django_assert_max_num_queries(len(counted)):
        done = do(tenant, act, seen[1], kind="procedure")
        undo(tenant, done)
    assert done.count == count


@pytest.mark.parametrize("act", ALL_ACTS)
def test_memory_that_changed_meanwhile_is_reported_and_left_alone(act: str, tenant: Tenant) -> None:
    rows = [memory(tenant) for _ in range(3)]
    seen = ready_for(act, rows)
    changed, gone = rows[0], uuid4()
    with tenant_scope(tenant.pk):
        if act == "restore":
            restore_memory(memory=changed, by=TESTER, now=FACTORY_NOW)
            archive_memory(memory=changed, by=TESTER, now=FACTORY_NOW)
        else:
            update_memory(memory=changed, changes={"content": "Somebody was faster."}, by=TESTER, now=FACTORY_NOW)
    kept = reread_memory(changed)
    done = do(tenant, act, seen | {gone: 1}, kind="procedure")
    assert (done.count, done.left) == (2, {"changed": 1, "not_found": 1})
    after = reread_memory(changed)
    assert (after.version, after.archived_at, after.kind) == (kept.version, kept.archived_at, kept.kind)


def test_those_that_are_so_already_are_left_alone_and_all_of_them_is_a_conflict(tenant: Tenant) -> None:
    pinned, plain, archived = memory(tenant, pinned=True), memory(tenant), memory(tenant)
    with tenant_scope(tenant.pk):
        archive_memory(memory=archived, by=TESTER, now=FACTORY_NOW)
    done = do(tenant, "pin", {pinned.pk: 1, plain.pk: 1, archived.pk: 1})
    assert (done.count, done.left) == (1, {"unchanged": 1, "archived": 1})
    for act, chosen in (("pin", pinned), ("archive", archived), ("restore", pinned)):
        with pytest.raises(Conflict) as caught:
            do(tenant, act, {chosen.pk: 1})
        assert caught.value.code == "nothing_left"
    with pytest.raises(Conflict):
        do(tenant, "kind", {pinned.pk: 1}, kind="fact")


def test_archived_duplicates_of_a_live_text_stay_archived(tenant: Tenant) -> None:
    duplicates = []
    for _ in range(2):
        duplicates.append(memory(tenant, "Said twice."))
        with tenant_scope(tenant.pk):
            archive_memory(memory=duplicates[-1], by=TESTER, now=FACTORY_NOW)
    done = do(tenant, "restore", {row.pk: 1 for row in duplicates})
    assert (done.count, done.left) == (1, {"duplicate": 1})
    undo(tenant, done)
    memory(tenant, "Said twice.")
    with pytest.raises(Conflict):
        do(tenant, "restore", {row.pk: reread_memory(row).version for row in duplicates})


def test_undo_leaves_what_was_changed_since(tenant: Tenant) -> None:
    first, second = memory(tenant), memory(tenant)
    done = do(tenant, "kind", {first.pk: 1, second.pk: 1}, kind="procedure")
    with tenant_scope(tenant.pk):
        update_memory(memory=first, changes={"kind": "episode"}, by=TESTER, now=LATER)
    undone = undo(tenant, done)
    assert (undone.count, undone.left) == (1, 1)
    assert [reread_memory(row).kind for row in (first, second)] == ["episode", "fact"]
    with pytest.raises(Conflict):
        undo(tenant, done)


def by_hand_again(act: str, row: Memory, former: Memory) -> None:
    """Somebody else undoes the act for one memory and repeats the change: the memory looks as the act left it."""
    with tenant_scope(row.tenant_id):
        if act in ("archive", "restore"):
            steps = [restore_memory, archive_memory] if act == "archive" else [archive_memory, restore_memory]
            for step in steps:
                step(memory=row, by=TESTER, now=LATER)
        else:
            for fields in (former, reread_memory(row)):
                changes = {"pinned": fields.pinned, "kind": fields.kind}
                update_memory(memory=row, changes=changes, by=TESTER, now=LATER)


@pytest.mark.parametrize("act", ALL_ACTS)
def test_undo_skips_rows_that_were_undone_and_changed_again_manually(act: str, tenant: Tenant) -> None:
    touched, other = memory(tenant), memory(tenant)
    seen = ready_for(act, [touched, other])
    former = [reread_memory(row) for row in (touched, other)]
    done = do(tenant, act, seen, kind="procedure")
    by_hand_again(act, touched, former[0])
    kept = reread_memory(touched)
    undone = undo(tenant, done)
    assert (undone.count, undone.left) == (1, 1)
    assert str(undone) == "Undone: 1 memory restored to its former state; 1 was changed since and skipped."
    after = reread_memory(touched)
    assert (after.version, after.archived_at) == (kept.version, kept.archived_at)
    back = reread_memory(other)
    assert (back.kind, back.pinned, bool(back.archived_at)) == (
        former[1].kind,
        former[1].pinned,
        bool(former[1].archived_at),
    )


@pytest.mark.parametrize("act", ALL_ACTS)
def test_undo_that_would_leave_every_memory_is_refused(act: str, tenant: Tenant) -> None:
    row = memory(tenant)
    seen = ready_for(act, [row])
    former = reread_memory(row)
    done = do(tenant, act, seen, kind="procedure")
    by_hand_again(act, row, former)
    kept = reread_memory(row)
    for _ in range(2):
        with pytest.raises(Conflict) as caught:
            undo(tenant, done)
        assert (caught.value.code, caught.value.detail) == ("changed", "1 was changed since and skipped.")
    assert (reread_memory(row).version, reread_memory(row).archived_at) == (kept.version, kept.archived_at)


def test_merge_takes_all_as_they_were_seen_or_none(tenant: Tenant) -> None:
    kept, other, third = memory(tenant), memory(tenant), memory(tenant)
    before = state(tenant)

    def merge(keep: UUID, seen: dict[UUID, int]) -> BulkActionResult:
        with tenant_scope(tenant.pk):
            return merge_seen_memories(tenant_id=tenant.pk, keep=keep, seen=seen, by=TESTER, now=LATER)

    for keep, seen in ((third.pk, {kept.pk: 1, other.pk: 1}), (kept.pk, {kept.pk: 1})):
        with pytest.raises(InvalidInput):
            merge(keep, seen)
    with pytest.raises(InvalidInput):
        merge(kept.pk, {uuid4(): 1 for _ in range(MERGED_MAX)} | {kept.pk: 1})
    with pytest.raises(Conflict):
        merge(kept.pk, {kept.pk: 1, other.pk: 7})
    assert state(tenant) == before
    done = merge(kept.pk, {kept.pk: 1, other.pk: 1})
    assert reread_memory(other).archived_at is not None
    undo(tenant, done)
    assert state(tenant) == before


def test_invalid_acts_are_refused(tenant: Tenant, other_tenant: Tenant) -> None:
    foreign = memory(other_tenant)
    with pytest.raises(Conflict):
        do(tenant, "archive", {foreign.pk: 1})
    for act, seen, kind in (
        ("merge", {foreign.pk: 1}, ""),
        ("erase", {foreign.pk: 1}, ""),
        ("kind", {foreign.pk: 1}, ""),
        ("archive", {}, ""),
        ("archive", {uuid4(): 1 for _ in range(BULK_MEMORIES_MAX + 1)}, ""),
    ):
        with pytest.raises(InvalidInput):
            do(tenant, act, seen, kind)
    assert reread_memory(foreign).archived_at is None


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_change_each_memory_once() -> None:
    tenant = make_tenant()
    rows = many(tenant, 40)
    seen = {row.pk: row.version for row in rows}
    halves = [dict(list(seen.items())[:30]), dict(reversed(list(seen.items())[10:]))]
    done = run_concurrently([partial(do, tenant, "pin", half) for half in halves])
    assert sum(each.count for each in done) == 40
    assert sorted(sum(each.left.values()) for each in done) == [0, 20]
    with tenant_scope(tenant.pk):
        assert set(Memory.objects.for_tenant(tenant.pk).values_list("version", "pinned")) == {(2, True)}
