"""The difference between a context and the current one, a snapshot, a time or another profile."""

import uuid
from datetime import timedelta
from typing import Any

import pytest

from context.assembly.diff import ContextDiff, diff_budget_profiles, diff_contexts
from context.assembly.sources import ContextCaller
from context.models import Receipt
from context.profiles.actions.budget_profiles import create_budget_profile
from context.receipts.results import ContextRequest, Focus
from memories.models import Memory, Tenant
from memories.partitions.actions import create_snapshot
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.recall import fold_tenant_retrievals
from memories.tenancy.exceptions import InvalidInput, NotFound, PlatformError
from memories.tenancy.scopes import tenant_scope
from tests.integration.context.assembly.test_assembly import QUESTION, RYE
from tests.integration.context_helpers import (
    BAKERY,
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    bakery,
    make_empty_tenant,
    new_row,
    store,
)

pytestmark = pytest.mark.django_db

LATER = CONTEXT_NOW + timedelta(days=1)
SPELT = "Alex now likes spelt flour."
SISTER = "Alex's sister Mina lives in Lisbon."


def differ(tenant: Tenant, since: dict[str, Any], *, reach: str = "", **options: Any) -> ContextDiff:
    request = ContextRequest(**{"query": QUESTION} | options)
    return diff_contexts(request, ContextCaller(tenant.pk, SYSTEM, LATER, reach), **since)


def change_memories(tenant: Tenant) -> None:
    """After NOW, the flour is edited, the sister is archived and a memory is added."""
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk)
        hour = CONTEXT_NOW + timedelta(hours=1)
        update_memory(memory=rows.get(content=RYE), changes={"content": SPELT}, by=SYSTEM, now=hour)
        archive_memory(memory=rows.get(content=SISTER), by=SYSTEM, now=hour)


@pytest.fixture
def tenant() -> Tenant:
    tenant = bakery()
    with tenant_scope(tenant.pk):
        create_snapshot(tenant=tenant, name="before", by=SYSTEM, now=CONTEXT_NOW)
    return tenant


@pytest.fixture(params=["context", "snapshot", "snapshot id", "as_of"])
def since(tenant: Tenant, request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "context":
        return {"context_id": assemble_test_context(tenant, QUESTION).id}
    if request.param == "as_of":
        return {"as_of": CONTEXT_NOW}
    if request.param == "snapshot":
        return {"snapshot": "before"}
    with tenant_scope(tenant.pk):
        return {"snapshot": str(tenant.snapshots.get().pk)}


def test_edited_archived_and_kept_memories_are_distinguished(tenant: Tenant, since: dict[str, Any]) -> None:
    change_memories(tenant)
    difference = differ(tenant, since)
    assert [block.text for block in difference.added] == [SPELT]
    assert len(difference.removed) == 2
    assert len(difference.kept) == len(BAKERY) - 2 + 1
    assert difference.added[0].anchor.id in {anchor.id for anchor in difference.removed}
    assert difference.as_answer()["tokens_estimated_added"] == difference.added[0].tokens
    answer = difference.as_answer()
    assert answer["added"][0]["text"] == SPELT
    assert all(set(anchor) == {"type", "id", "version"} for anchor in answer["removed"] + answer["kept"])
    order = [block.anchor for block in difference.now.blocks]
    assert [anchor for anchor in order if anchor in difference.kept] == list(difference.kept)


def test_nothing_changed_is_nothing_added_and_nothing_removed(tenant: Tenant, since: dict[str, Any]) -> None:
    difference = differ(tenant, since)
    assert (list(difference.added), list(difference.removed)) == ([], [])
    assert len(difference.kept) == len(difference.now.blocks)
    assert difference.as_answer()["tokens_estimated_added"] == 0


def test_snapshot_is_of_what_was_known_and_a_time_of_what_was_true(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        create_snapshot(
            tenant=tenant, name="early", recorded_at=CONTEXT_NOW - timedelta(days=2), by=SYSTEM, now=CONTEXT_NOW
        )
    by_snapshot = differ(tenant, {"snapshot": "early"})
    by_time = differ(tenant, {"as_of": CONTEXT_NOW - timedelta(days=2)})
    assert len(by_snapshot.added) == len(BAKERY) + 1
    assert [block.kind for block in by_time.added] == ["tenant_memo"]


def test_differences_store_and_count_nothing(tenant: Tenant, since: dict[str, Any]) -> None:
    fold_tenant_retrievals(tenant.pk)
    with tenant_scope(tenant.pk):
        before = Receipt.objects.for_tenant(tenant.pk).row_count()
    differ(tenant, since)
    with tenant_scope(tenant.pk):
        assert Receipt.objects.for_tenant(tenant.pk).row_count() == before
    assert fold_tenant_retrievals(tenant.pk) == 0


def test_two_profiles_on_one_question(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        changes = {"default_tokens": 60, "include_tenant_memo": False}
        create_budget_profile(tenant_id=tenant.pk, name="small", changes=changes, by=SYSTEM, now=CONTEXT_NOW)

    def between(before: str, after: str) -> ContextDiff:
        caller = ContextCaller(tenant.pk, SYSTEM, CONTEXT_NOW)
        return diff_budget_profiles(ContextRequest(query=QUESTION), caller, before=before, after=after)

    less, more = between("default", "small"), between("small", "default")
    assert list(less.added) == []
    assert "tenant_memo" in {anchor.type for anchor in less.removed}
    assert {block.anchor for block in more.added} == set(less.removed)
    assert more.now.budget_profile["name"] == "default"
    for before, after, field in (("absent", "small", "profiles.0"), ("small", "absent", "profiles.1")):
        with pytest.raises(InvalidInput) as refused:
            between(before, after)
        assert refused.value.field == field


def test_context_of_another_partition_or_out_of_reach_is_refused(tenant: Tenant) -> None:
    sams = assemble_test_context(tenant, QUESTION, partition="user=sam").id
    with pytest.raises(InvalidInput) as refused:
        differ(tenant, {"context_id": sams}, partition="user=alex")
    assert (refused.value.code, refused.value.field) == ("another_partition", "since.context_id")
    with pytest.raises(NotFound) as absent:
        differ(tenant, {"context_id": sams}, reach="user=alex")
    assert absent.value.field == "since.context_id"
    store(make_empty_tenant(), [new_row("Elsewhere.")])
    with pytest.raises(NotFound):
        differ(make_empty_tenant(), {"context_id": sams})


@pytest.mark.parametrize(
    ("since", "options", "field"),
    [
        ({"snapshot": "absent"}, {}, "since.snapshot"),
        ({"snapshot": str(uuid.uuid4())}, {}, "since.snapshot"),
        ({"context_id": uuid.uuid4()}, {}, "since.context_id"),
        ({"snapshot": "before"}, {"as_of": CONTEXT_NOW}, "as_of"),
        ({"snapshot": "before"}, {"focus": Focus()}, "focus"),
    ],
)
def test_comparison_that_cannot_be_made_is_refused_by_field(
    tenant: Tenant, since: dict[str, Any], options: dict[str, Any], field: str
) -> None:
    with pytest.raises(PlatformError) as refused:
        differ(tenant, since, **options)
    assert refused.value.field == field


def test_focus_that_was_not_there_then_makes_everything_new(tenant: Tenant) -> None:
    row = store(tenant, [new_row("Brand new.", created_at=CONTEXT_NOW - timedelta(hours=30))])[0]
    difference = differ(tenant, {"as_of": CONTEXT_NOW - timedelta(hours=40)}, focus=Focus(memory_id=row.pk))
    assert "Brand new." in [block.text for block in difference.added]
    assert not difference.removed
