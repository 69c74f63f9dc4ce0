"""Named budget profiles, their assignments, and which one applies to a key and a partition."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.models import BudgetProfile, BudgetProfileAssignment
from context.profiles.actions.assignments import BUDGET_ASSIGNMENTS, assign_budget_profile
from context.profiles.actions.budget_profiles import (
    create_budget_profile,
    roll_back_budget_profile,
    save_budget_profile,
)
from context.profiles.budget_profiles import (
    budget_profile_for,
    budget_profile_version,
    budget_profile_versions,
    current_budget_profiles,
)
from context.profiles.versions import compare_versions
from context.services.profiles.fields import BUDGET_FIELDS
from memories.models import ApiKey, AuditEntry, Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound
from memories.tenancy.scopes import operator_read_scope, tenant_scope
from tests.concurrency import concurrent_refusal_codes, run_concurrently
from tests.factories import make_key
from tests.integration.context_helpers import CONTEXT_NOW, make_empty_tenant

pytestmark = pytest.mark.django_db

KIM = Actor.operator(7, "Kim")
HOUR = timedelta(hours=1)


def create(
    tenant: Tenant, name: str, *, based_on: str = "default", now: datetime = CONTEXT_NOW, **changes: Any
) -> BudgetProfile:
    with tenant_scope(tenant.pk):
        return create_budget_profile(
            tenant_id=tenant.pk, name=name, changes=changes, based_on=based_on, by=KIM, now=now
        )


def assign(tenant: Tenant, name: str, *, now: datetime = CONTEXT_NOW, **target: Any) -> BudgetProfileAssignment:
    with tenant_scope(tenant.pk):
        return assign_budget_profile(tenant_id=tenant.pk, profile_name=name, by=KIM, now=now, **target)


def unassign(tenant: Tenant, *, now: datetime = CONTEXT_NOW, **target: Any) -> BudgetProfileAssignment:
    with tenant_scope(tenant.pk):
        return BUDGET_ASSIGNMENTS.unassign(tenant_id=tenant.pk, by=KIM, now=now, **target)


def applies(
    tenant: Tenant,
    partition_path: str = "",
    key: ApiKey | None = None,
    name: str | None = None,
    at: datetime | None = None,
) -> tuple[str, int]:
    with tenant_scope(tenant.pk):
        key_id = key.pk if key else None
        profile = budget_profile_for(tenant.pk, api_key_id=key_id, partition_path=partition_path, name=name, at=at)
    return profile.name, profile.version


def shop() -> Tenant:
    """A tenant with three profiles besides the default."""
    tenant = make_empty_tenant()
    for name in ("small", "large", "long"):
        create(tenant, name)
    return tenant


def test_named_profile_begins_with_the_numbers_in_force_and_is_version_1() -> None:
    tenant = make_empty_tenant()
    profile = create(tenant, "support", default_tokens=1200)
    other = create(tenant, "support-short", based_on="support", minimum_score=0.2)
    assert (profile.version, profile.default_tokens, profile.created_by) == (1, 1200, "Kim")
    assert (other.default_tokens, other.minimum_score) == (1200, 0.2)
    with tenant_scope(tenant.pk):
        assert [row.name for row in current_budget_profiles(tenant.pk)] == ["default", "support", "support-short"]
        entry = AuditEntry.objects.for_tenant(tenant.pk).get(target_ids=["support 1"])
    assert (entry.verb, entry.actor_label, entry.fields) == ("create_budget_profile", "Kim", sorted(BUDGET_FIELDS))


@pytest.mark.parametrize("name", ["", "Support", "two words", "9lives", "a" * 65, "söhne", "x\n"])
def test_name_that_is_no_word_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        create(make_empty_tenant(), name)
    assert (refused.value.field, refused.value.code) == ("name", "bad_name")


@pytest.mark.parametrize("name", ["default", "small"])
def test_name_that_is_taken_is_a_conflict(name: str) -> None:
    with pytest.raises(Conflict) as refused:
        create(shop(), name)
    assert (refused.value.field, refused.value.code) == ("name", "duplicate")


def test_new_profile_with_a_value_out_of_bounds_or_an_unknown_base_is_refused() -> None:
    tenant = make_empty_tenant()
    with pytest.raises(InvalidInput) as refused:
        create(tenant, "small", receipt_days=0)
    assert refused.value.field == "receipt_days"
    with pytest.raises(InvalidInput) as refused:
        create(tenant, "small", based_on="absent")
    assert refused.value.code == "unknown_budget_profile"


def test_versions_of_a_name_and_comparison_of_any_two() -> None:
    tenant = make_empty_tenant()
    create(tenant, "small", default_tokens=500)
    with tenant_scope(tenant.pk):
        save_budget_profile(
            tenant_id=tenant.pk,
            name="small",
            changes={"default_tokens": 700, "sections": {"memories": {"share": 0.5}}},
            edited_from=1,
            by=KIM,
            now=CONTEXT_NOW + HOUR,
        )
        roll_back_budget_profile(
            tenant_id=tenant.pk, name="small", version=1, replaces=2, by=KIM, now=CONTEXT_NOW + 2 * HOUR
        )
        assert [row.version for row in budget_profile_versions(tenant.pk, "small")] == [3, 2, 1]
        assert [row.version for row in budget_profile_versions(tenant.pk, "default")] == [0]
        default, first, second, third = (
            budget_profile_version(tenant.pk, *each)
            for each in (("default", 0), ("small", 1), ("small", 2), ("small", 3))
        )
        rows, with_default = compare_versions(first, second), compare_versions(third, default)
        with pytest.raises(InvalidInput) as unknown:
            budget_profile_version(tenant.pk, "small", 9)
        with pytest.raises(NotFound):
            budget_profile_versions(tenant.pk, "absent")
    assert [row.field for row in rows] == list(BUDGET_FIELDS)
    different = {row.field: (row.left, row.right) for row in rows if row.differs}
    assert different == {"default_tokens": (500, 700), "sections": ({}, {"memories": {"share": 0.5}})}
    assert [row.field for row in with_default if row.differs] == ["default_tokens"]
    assert unknown.value.field == "version"


def test_key_outranks_longest_partition_outranks_tenant_outranks_default() -> None:
    tenant = shop()
    key, _ = make_key(tenant)
    assert applies(tenant, "user=alex/topic=food", key) == ("default", 0)
    assign(tenant, "small", partition_path="")
    assert applies(tenant, "user=alex/topic=food", key) == ("small", 1)
    assign(tenant, "large", partition_path="user=alex")
    assert applies(tenant, "user=alex/topic=food", key) == ("large", 1)
    assert applies(tenant, "user=alexandra", key) == ("small", 1)
    assign(tenant, "default", partition_path="user=alex/topic=food")
    assert applies(tenant, "user=alex/topic=food", key) == ("default", 0)
    assign(tenant, "long", api_key_id=key.pk)
    assert applies(tenant, "user=alex/topic=food", key) == ("long", 1)
    assert applies(tenant, "user=alex/topic=food") == ("default", 0)
    assert applies(tenant, "", make_key(tenant)[0]) == ("small", 1)


def test_named_profile_wins_and_an_unknown_name_is_refused() -> None:
    tenant = shop()
    key, _ = make_key(tenant)
    assign(tenant, "long", api_key_id=key.pk)
    assert applies(tenant, "", key, name="small") == ("small", 1)
    assert applies(tenant, "", key, name="default") == ("default", 0)
    with pytest.raises(InvalidInput) as refused:
        applies(tenant, "", key, name="absent")
    assert (refused.value.field, refused.value.code) == ("budget_profile", "unknown_budget_profile")


def test_profile_that_applies_is_found_in_one_query() -> None:
    tenant = shop()
    key, _ = make_key(tenant)
    assign(tenant, "small", partition_path="user=alex")
    with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
        budget_profile_for(tenant.pk, api_key_id=key.pk, partition_path="user=alex/topic=food")
    assert len(queries) == 1


def test_history_of_assignments_is_kept_and_any_moment_can_be_read() -> None:
    tenant = shop()
    assign(tenant, "small", partition_path="user=alex", now=CONTEXT_NOW)
    assign(tenant, "large", partition_path="user=alex", now=CONTEXT_NOW + HOUR)
    unassign(tenant, partition_path="user=alex", now=CONTEXT_NOW + 2 * HOUR)
    moments = [CONTEXT_NOW - HOUR, CONTEXT_NOW, CONTEXT_NOW + HOUR, CONTEXT_NOW + 2 * HOUR]
    assert [applies(tenant, "user=alex", at=moment)[0] for moment in moments] == [
        "default",
        "small",
        "large",
        "default",
    ]
    with tenant_scope(tenant.pk):
        rows = BudgetProfileAssignment.objects.for_tenant(tenant.pk).newest_first()
        assert [(row.profile_name, row.recorded_to) for row in rows] == [
            ("large", CONTEXT_NOW + 2 * HOUR),
            ("small", CONTEXT_NOW + HOUR),
        ]
        verbs = AuditEntry.objects.for_tenant(tenant.pk).filter(target_ids__contains=["user=alex"]).order_by("at")
        assert [(entry.verb, entry.target_ids[0]) for entry in verbs] == [
            ("assign_budget_profile", "small"),
            ("assign_budget_profile", "large"),
            ("unassign_budget_profile", "large"),
        ]


def test_earlier_version_counts_at_an_earlier_moment() -> None:
    tenant = make_empty_tenant()
    create(tenant, "small", now=CONTEXT_NOW)
    with tenant_scope(tenant.pk):
        save_budget_profile(
            tenant_id=tenant.pk,
            name="small",
            changes={"default_tokens": 9},
            edited_from=1,
            by=KIM,
            now=CONTEXT_NOW + HOUR,
        )
    assign(tenant, "small", partition_path="", now=CONTEXT_NOW)
    assert [applies(tenant, at=moment) for moment in (CONTEXT_NOW, CONTEXT_NOW + HOUR)] == [("small", 1), ("small", 2)]
    assert applies(tenant, name="small", at=CONTEXT_NOW) == ("small", 1)


@pytest.mark.parametrize("is_ended", [False, True])
def test_assignment_begins_when_the_last_one_ended_whichever_request_came_first(is_ended: bool) -> None:
    tenant = make_empty_tenant()
    for name in ("brief", "chat"):
        create(tenant, name)
    last = assign(tenant, "brief", partition_path="", now=CONTEXT_NOW + HOUR)
    if is_ended:
        last = unassign(tenant, partition_path="", now=CONTEXT_NOW + 2 * HOUR)
    row = assign(tenant, "chat", partition_path="", now=CONTEXT_NOW)
    with tenant_scope(tenant.pk):
        last.refresh_from_db()
    assert row.recorded_from == last.recorded_to == CONTEXT_NOW + (2 if is_ended else 1) * HOUR


def test_assigning_the_same_again_changes_nothing() -> None:
    tenant = shop()
    first = assign(tenant, "small", partition_path="user=alex")
    assert assign(tenant, "small", partition_path="user=%61lex", now=CONTEXT_NOW + HOUR).pk == first.pk


@pytest.mark.parametrize(
    ("target", "field", "code"),
    [
        ({}, "partition", "one_target"),
        ({"api_key_id": "x", "partition_path": ""}, "partition", "one_target"),
        ({"partition_path": "alex"}, "partition", "bad_segment"),
        ({"api_key_id": "absent"}, "api_key", "not_found"),
    ],
)
def test_target_that_cannot_be_is_refused(target: Mapping[str, str], field: str, code: str) -> None:
    tenant = shop()
    with pytest.raises((InvalidInput, NotFound)) as refused:
        assign(tenant, "small", **target)
    assert (refused.value.field, refused.value.code) == (field, code)
    with pytest.raises((InvalidInput, NotFound)) as refused:
        unassign(tenant, **target)
    assert refused.value.code == code


def test_unknown_profile_is_not_assigned_and_nothing_assigned_is_not_ended() -> None:
    tenant = shop()
    with pytest.raises(InvalidInput) as refused:
        assign(tenant, "absent", partition_path="")
    assert refused.value.code == "unknown_budget_profile"
    with pytest.raises(NotFound) as absent:
        unassign(tenant, partition_path="")
    assert absent.value.code == "not_assigned"


def test_end_of_an_assignment_that_the_caller_did_not_see_is_a_conflict() -> None:
    tenant = shop()
    seen = assign(tenant, "large", partition_path="")
    unassign(tenant, partition_path="")
    again = assign(tenant, "large", partition_path="")  # the same profile, by someone else
    with pytest.raises(Conflict):
        unassign(tenant, shown=seen.pk, partition_path="")
    assert unassign(tenant, shown=again.pk, partition_path="").pk == again.pk


def test_assignment_over_one_that_the_caller_did_not_see_is_a_conflict() -> None:
    tenant = shop()
    assign(tenant, "small", partition_path="", replaces="")
    with pytest.raises(Conflict) as refused:
        assign(tenant, "large", partition_path="", replaces="")
    assert refused.value.code == "assignment_changed"
    assert assign(tenant, "large", partition_path="", replaces="small").profile_name == "large"


def test_key_that_is_deleted_takes_its_assignment_along() -> None:
    tenant = shop()
    key, _ = make_key(tenant)
    assign(tenant, "small", api_key_id=key.pk)
    with tenant_scope(tenant.pk):
        ApiKey.objects.for_tenant(tenant.pk).filter(pk=key.pk).delete()
        assert not BudgetProfileAssignment.objects.for_tenant(tenant.pk).exists()


def test_key_and_profile_of_another_tenant_are_out_of_reach() -> None:
    tenant, other = shop(), make_empty_tenant()
    create(other, "theirs")
    foreign_key, _ = make_key(other)
    with pytest.raises(NotFound):
        assign(tenant, "small", api_key_id=foreign_key.pk)
    with pytest.raises(InvalidInput):
        assign(tenant, "theirs", partition_path="")
    assign(tenant, "small", partition_path="")
    assert applies(other) == ("default", 0)
    with operator_read_scope([other.pk]):
        assert not BudgetProfileAssignment.objects.for_tenant(tenant.pk).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_assigned", [False, True])
def test_simultaneous_assignments_of_one_target_are_not_lost_unnoticed(is_assigned: bool) -> None:
    tenant = shop()
    if is_assigned:
        assign(tenant, "long", partition_path="")
    take = partial(assign, tenant, partition_path="", now=CONTEXT_NOW + HOUR)
    found = run_concurrently([partial(take, name) for name in ("small", "large")])
    outcomes = [each.profile_name for each in found if isinstance(each, BudgetProfileAssignment)]
    with tenant_scope(tenant.pk):
        (row,) = BudgetProfileAssignment.objects.for_tenant(tenant.pk).current()
    assert row.profile_name in outcomes
    assert all(isinstance(each, BudgetProfileAssignment | Conflict) for each in found)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_one_name_one_gets_a_conflict() -> None:
    tenant = make_empty_tenant()
    assert sorted(concurrent_refusal_codes([partial(create, tenant, "small")] * 2)) == ["", "duplicate"]
