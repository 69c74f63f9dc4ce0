"""Two people change the same scoring profile: the response to each, and the final state."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from context.models import ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.actions.assignments import SCORING_ASSIGNMENTS
from context.profiles.actions.scoring_profiles import (
    edit_scoring_profile,
    publish_scoring_profile,
    retire_scoring_profile,
    roll_back_scoring_profile,
)
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.concurrency import concurrent_refusal_codes
from tests.integration.context_helpers import CONTEXT_NOW, make_empty_tenant
from tests.integration.scoring_helpers import ARGUMENT, KIM, REASON, new_version, prove, published

TIMES = {"by": KIM, "now": CONTEXT_NOW}


def each_within(tenant: Tenant, *works: Callable[[], object]) -> list[str]:
    """Return the result of concurrent calls: the code of the refusal, or "" for success."""

    def within(work: Callable[[], object]) -> None:
        with tenant_scope(tenant.pk):
            work()

    return concurrent_refusal_codes([partial(within, work) for work in works])


def active_versions(tenant: Tenant) -> list[int]:
    with tenant_scope(tenant.pk):
        return [row.version for row in ScoringProfileVersion.objects.for_tenant(tenant.pk).active()]


def publishing(tenant: Tenant, version: int, replaces: int) -> Callable[[], object]:
    named: dict[str, Any] = {"tenant_id": tenant.pk, "name": "own", "version": version, "replaces": replaces}
    return lambda: publish_scoring_profile(**named, argument=ARGUMENT, reason=REASON, **TIMES)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_active", [False, True])
def test_of_two_admins_who_publish_at_once_one_wins(is_active: bool) -> None:
    tenant = make_empty_tenant()
    first = published(tenant, "own", 1) if is_active else new_version(tenant, "own", 1)
    new_version(tenant, "own", 2)
    new_version(tenant, "own", 3)
    prove(tenant, first.numbers)
    seen = 1 if is_active else 0
    outcomes = each_within(tenant, publishing(tenant, 2, seen), publishing(tenant, 3, seen))
    assert sorted(outcomes) == ["", "profile_changed"]
    assert active_versions(tenant) == [2 + outcomes.index("")]


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_publish_the_same_version_one_wins() -> None:
    tenant = make_empty_tenant()
    prove(tenant, new_version(tenant, "own", 1).numbers)
    outcomes = each_within(tenant, publishing(tenant, 1, 0), publishing(tenant, 1, 0))
    assert sorted(outcomes) == ["", "already_published"]
    assert active_versions(tenant) == [1]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_publishing_and_rolling_back_leave_one_active_version() -> None:
    tenant = make_empty_tenant()
    published(tenant, "own", 1, recorded_to=CONTEXT_NOW)
    published(tenant, "own", 2)
    new_version(tenant, "own", 3)
    back: dict[str, Any] = {"tenant_id": tenant.pk, "name": "own", "version": 1, "replaces": 2, **TIMES}
    outcomes = each_within(tenant, publishing(tenant, 3, 2), lambda: roll_back_scoring_profile(**back))
    assert sorted(outcomes) == ["", "profile_changed"]
    assert active_versions(tenant) == [3 if outcomes[0] == "" else 1]


@pytest.mark.django_db(transaction=True)
def test_profile_is_not_retired_while_it_is_being_assigned() -> None:
    tenant = make_empty_tenant()
    published(tenant, "own", 1)
    outcomes = each_within(
        tenant,
        lambda: retire_scoring_profile(tenant_id=tenant.pk, name="own", version=1, **TIMES),
        lambda: SCORING_ASSIGNMENTS.assign(tenant_id=tenant.pk, profile_name="own", partition_path="", **TIMES),
    )
    assert outcomes in (["", "not_published"], ["assigned", ""])
    with tenant_scope(tenant.pk):
        assert ScoringProfileAssignment.objects.for_tenant(tenant.pk).row_count() == (outcomes[1] == "")
    assert active_versions(tenant) == ([1] if outcomes[1] == "" else [])


@pytest.mark.django_db(transaction=True)
def test_of_two_concurrent_edits_of_a_draft_one_is_refused() -> None:
    tenant = make_empty_tenant()
    new_version(tenant, "own", 1)
    named: dict[str, Any] = {"tenant_id": tenant.pk, "name": "own", "edited_from": 1, **TIMES}
    outcomes = each_within(
        tenant,
        lambda: edit_scoring_profile(**named, changes={"pool_size": 50}),
        lambda: edit_scoring_profile(**named, changes={"pool_size": 60}),
    )
    assert sorted(outcomes) == ["", "profile_changed"]
    with tenant_scope(tenant.pk):
        assert ScoringProfileVersion.objects.for_tenant(tenant.pk).row_count() == 2
