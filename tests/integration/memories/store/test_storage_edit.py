"""Changing memories: versions by two times, archive and restore, duplicates, the memo, links."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from memories.models import AuditEntry, Memory, MemoryLink, MemoryVersion, Tenant, TenantMemo
from memories.partitions.actions import link_memories, set_tenant_memo, unlink_memories
from memories.services.partitions.paths import parse_partition
from memories.services.store.content import content_hash
from memories.services.tokens import token_counts
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound, StaleVersion
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, reread_memory

pytestmark = pytest.mark.django_db

LATER = FACTORY_NOW + timedelta(hours=1)


def edit(memory: Memory, at: datetime = LATER, if_version: int | None = None, **changes: Any) -> Memory:
    with tenant_scope(memory.tenant_id):
        return update_memory(memory=memory, changes=changes, if_version=if_version, by=TESTER, now=at)


def archive(memory: Memory, at: datetime = LATER) -> Memory:
    with tenant_scope(memory.tenant_id):
        return archive_memory(memory=memory, by=TESTER, now=at)


def restore(memory: Memory, at: datetime = LATER) -> Memory:
    with tenant_scope(memory.tenant_id):
        return restore_memory(memory=memory, by=TESTER, now=at)


def history(memory: Memory) -> list[MemoryVersion]:
    with tenant_scope(memory.tenant_id):
        return list(MemoryVersion.objects.for_tenant(memory.tenant_id).of_memory(memory.pk))


def verbs(memory: Memory) -> list[tuple[str, list[str]]]:
    with tenant_scope(memory.tenant_id):
        entries = AuditEntry.objects.for_tenant(memory.tenant_id).about(memory.pk).order_by("at", "verb")
        return [(entry.verb, entry.fields) for entry in entries]


def test_edit_opens_a_version_and_recounts(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex works at Acme.", is_embedded=True)
    edit(memory, content="  Alex works at Globex, since May. ", confidence=0.6)
    current = reread_memory(memory)
    assert current.content == "Alex works at Globex, since May."
    assert current.content_hash == content_hash(current.content)
    assert current.token_counts == token_counts(current.content)
    assert (current.version, current.valid_from, current.recorded_from) == (2, LATER, LATER)
    assert current.embedding_state == "pending"
    (old,) = history(memory)
    assert (old.version, old.content, old.confidence) == (1, "Alex works at Acme.", 0.8)
    assert (old.valid_from, old.valid_to) == (FACTORY_NOW, LATER)
    assert (old.recorded_from, old.recorded_to) == (FACTORY_NOW, LATER)
    assert verbs(memory) == [("store_memory", []), ("update_memory", ["confidence", "content"])]


def test_change_of_nothing_makes_no_version(tenant: Tenant) -> None:
    memory = make_memory(tenant, "same", metadata={"a": 1})
    edit(memory, content=" same ", metadata={"a": 1}, pinned=False)
    assert reread_memory(memory).version == 1
    assert history(memory) == []
    assert verbs(memory) == [("store_memory", [])]


def test_change_of_other_fields_keeps_the_vector(tenant: Tenant) -> None:
    memory = make_memory(tenant, "steady", is_embedded=True)
    edit(memory, pinned=True)
    current = reread_memory(memory)
    assert (current.version, current.embedding_state) == (2, "ready")
    with tenant_scope(tenant.pk):
        assert sorted(memory.embeddings.values_list("version", flat=True)) == [1, 2]


def test_move_to_another_partition_is_an_edit(tenant: Tenant) -> None:
    memory = make_memory(tenant, "moved", partition="user=alex")
    edit(memory, partition=parse_partition("user=sam/topic=x"))
    current = reread_memory(memory)
    assert current.partition_path == "user=sam/topic=x"
    assert history(memory)[0].partition_path == "user=alex"


def test_edit_onto_a_live_duplicate_is_a_conflict(tenant: Tenant) -> None:
    make_memory(tenant, "taken")
    memory = make_memory(tenant, "free")
    with pytest.raises(Conflict) as caught:
        edit(memory, content="taken")
    assert (caught.value.code, caught.value.field) == ("duplicate", "content")
    assert reread_memory(memory).version == 1


def test_edit_onto_an_expired_duplicate_archives_that_one(tenant: Tenant) -> None:
    expired = make_memory(tenant, "taken", expires_at=FACTORY_NOW + timedelta(minutes=1))
    memory = make_memory(tenant, "free")
    edit(memory, content="taken")
    assert reread_memory(memory).content == "taken"
    assert reread_memory(expired).archived_at == LATER


BAD_CHANGES = [
    ({"content": " "}, "content", "blank"),
    ({"content": None}, "content", "not_text"),
    ({"confidence": 1.5}, "confidence", "out_of_range"),
    ({"confidence": True}, "confidence", "not_a_number"),
    ({"kind": "Fact"}, "kind", "bad_kind"),
    ({"metadata": []}, "metadata", "not_an_object"),
    ({"created_at": None}, "created_at", "required"),
    ({"created_at": LATER + timedelta(days=2)}, "created_at", "too_far_ahead"),
    ({"expires_at": FACTORY_NOW - timedelta(days=1)}, "expires_at", "before_creation"),
    ({"usefulness_score": 1.0}, "usefulness_score", "unknown_field"),
    ({"position": -1}, "position", "out_of_range"),
    ({"source_id": "x" * 256}, "source_id", "too_long"),
    ({"session": "a\x00"}, "session", "bad_characters"),
    ({"pinned": 1}, "pinned", "not_a_boolean"),
]


def test_bad_change_is_refused_by_field(tenant: Tenant) -> None:
    memory = make_memory(tenant)
    for changes, field, code in BAD_CHANGES:
        with pytest.raises(InvalidInput) as caught:
            edit(memory, **changes)
        assert (field, code) in {(problem.field, problem.code) for problem in caught.value.problems}
        assert reread_memory(memory).version == 1


def test_edit_of_an_older_version_is_refused(tenant: Tenant) -> None:
    memory = edit(make_memory(tenant), content="second")
    with pytest.raises(StaleVersion):
        edit(memory, if_version=1, content="third")
    assert edit(memory, if_version=2, content="third").version == 3


def test_edit_with_an_earlier_clock_starts_where_the_version_began(tenant: Tenant) -> None:
    memory = make_memory(tenant)
    edit(memory, FACTORY_NOW - timedelta(minutes=5), content="from a slow clock")
    (old,) = history(memory)
    assert (old.valid_to, old.recorded_to) == (FACTORY_NOW, FACTORY_NOW)


def test_archived_memory_cannot_be_edited_but_restored(tenant: Tenant) -> None:
    memory = make_memory(tenant, "away", is_embedded=True)
    archive(memory)
    with pytest.raises(Conflict) as caught:
        edit(memory, content="other")
    assert caught.value.code == "archived"
    restored = restore(memory, LATER + timedelta(hours=1))
    assert (restored.version, restored.archived_at, restored.content) == (2, None, "away")
    assert restored.valid_from == LATER + timedelta(hours=1)
    assert reread_memory(memory).embedding_state == "ready"
    (gone,) = history(memory)
    assert (gone.version, gone.valid_to, gone.recorded_to) == (1, LATER, LATER)
    assert [verb for verb, _ in verbs(memory)] == ["store_memory", "archive_memory", "restore_memory"]


def test_archiving_and_restoring_twice_changes_nothing(tenant: Tenant) -> None:
    memory = make_memory(tenant)
    archive(memory)
    archive(memory, LATER + timedelta(hours=1))
    assert reread_memory(memory).archived_at == LATER
    restore(memory)
    restore(memory)
    assert (reread_memory(memory).version, len(verbs(memory))) == (2, 3)


def test_restore_onto_a_live_duplicate_is_a_conflict(tenant: Tenant) -> None:
    memory = make_memory(tenant, "twice")
    archive(memory)
    make_memory(tenant, "twice")
    with pytest.raises(Conflict) as caught:
        restore(memory)
    assert caught.value.code == "duplicate"
    assert reread_memory(memory).archived_at == LATER


def test_memory_of_another_tenant_is_not_found(tenant: Tenant, other_tenant: Tenant) -> None:
    memory = make_memory(other_tenant)
    with pytest.raises(NotFound), tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "mine"}, by=TESTER, now=LATER)
    assert reread_memory(memory).version == 1


# --- Rows that the database refuses from every writer ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "constraint"),
    [
        ({"content": " \n "}, "memory_content_is_not_blank"),
        ({"content": "ä" * 16385}, "memory_content_is_bounded"),
        ({"confidence": 1.01}, "memory_confidence_is_a_share"),
        ({"confidence": float("nan")}, "memory_confidence_is_a_share"),
        ({"usefulness_score": -0.1}, "memory_usefulness_is_a_share"),
        ({"kind": "Two words"}, "memory_kind_is_a_word"),
        ({"metadata": [1]}, "memory_metadata_is_an_object"),
        ({"version": 0}, "memory_version_starts_at_one"),
        ({"expires_at": FACTORY_NOW}, "memory_expires_after_creation"),
    ],
)
def test_constraint_is_enforced_by_the_database(tenant: Tenant, values: dict[str, Any], constraint: str) -> None:
    memory = make_memory(tenant)
    with pytest.raises(IntegrityError, match=constraint), tenant_scope(tenant.pk), transaction.atomic():
        Memory.objects.filter(pk=memory.pk).update(**values)


# --- Memo and links ------------------------------------------------------------------------------------------------


def memo(tenant: Tenant, content: str, at: datetime = FACTORY_NOW) -> TenantMemo:
    with tenant_scope(tenant.pk):
        return set_tenant_memo(tenant=tenant, content=content, by=TESTER, now=at)


def test_memo_has_one_current_version_and_keeps_the_others(tenant: Tenant) -> None:
    memo(tenant, "first")
    memo(tenant, " first ")
    second = memo(tenant, "second", LATER)
    memo(tenant, "", LATER + timedelta(hours=1))
    with tenant_scope(tenant.pk):
        rows = TenantMemo.objects.for_tenant(tenant.pk)
        assert list(rows.values_list("version", "content")) == [(3, ""), (2, "second"), (1, "first")]
        assert rows.current().get().version == 3
        assert rows.recorded_at(LATER).get() == second
        assert rows.recorded_at(LATER - timedelta(seconds=1)).get().content == "first"
    assert second.token_counts == token_counts("second")


def test_memo_that_cannot_be_stored_is_refused(tenant: Tenant) -> None:
    with pytest.raises(InvalidInput) as caught:
        memo(tenant, "a\x00")
    assert (caught.value.field, caught.value.code) == ("content", "null_character")


def test_link_is_made_once_ended_and_made_again(tenant: Tenant) -> None:
    source, target = make_memory(tenant), make_memory(tenant)
    with tenant_scope(tenant.pk):
        link = link_memories(source=source, target=target, kind="supports", by=TESTER, now=FACTORY_NOW)
        assert link_memories(source=source, target=target, kind="supports", by=TESTER, now=LATER) == link
        unlink_memories(link=link, by=TESTER, now=LATER)
        unlink_memories(link=link, by=TESTER, now=LATER + timedelta(hours=1))
        again = link_memories(source=source, target=target, kind="supports", by=TESTER, now=LATER)
        assert again != link
        edges = MemoryLink.objects.for_tenant(tenant.pk).touching(target.pk)
        assert sorted(edges.values_list("recorded_to", flat=True), key=str) == [LATER, None]
    assert sorted(verb for verb, _ in verbs(target)) == [
        "link_memories",
        "link_memories",
        "store_memory",
        "unlink_memories",
    ]


def test_link_never_ends_before_it_began_and_circles_are_allowed(tenant: Tenant) -> None:
    source, target = make_memory(tenant), make_memory(tenant)
    with tenant_scope(tenant.pk):
        link = link_memories(source=source, target=target, kind="supports", by=TESTER, now=LATER)
        link_memories(source=target, target=source, kind="supports", by=TESTER, now=LATER)
        assert unlink_memories(link=link, by=TESTER, now=FACTORY_NOW).recorded_to == LATER
        assert MemoryLink.objects.for_tenant(tenant.pk).current().touching(source.pk).count() == 1


def test_link_that_makes_no_sense_is_refused(tenant: Tenant, other_tenant: Tenant) -> None:
    source, foreign = make_memory(tenant), make_memory(other_tenant)
    with tenant_scope(tenant.pk):
        with pytest.raises(InvalidInput, match="itself"):
            link_memories(source=source, target=source, kind="supports", by=TESTER, now=FACTORY_NOW)
        with pytest.raises(InvalidInput, match="lower-case"):
            link_memories(source=source, target=foreign, kind="No!", by=TESTER, now=FACTORY_NOW)
        with pytest.raises(NotFound):
            link_memories(source=source, target=foreign, kind="supports", by=TESTER, now=FACTORY_NOW)
