"""Budget profiles are renamed, retired and restored; assigning one to a partition without memories asks first."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from context.models import BudgetProfileAssignment
from context.profiles.actions.assignments import BUDGET_ASSIGNMENTS
from context.profiles.actions.budget_profiles import create_budget_profile
from context.profiles.budget_profiles import current_budget_profiles
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import TESTER, client_of, make_bakery_memories, page, text_of, undo_of


@pytest.fixture
def client(operator: User, tenant: Tenant) -> Client:
    with tenant_scope(tenant.pk):
        create_budget_profile(tenant_id=tenant.pk, name="short", **by_now())
        BUDGET_ASSIGNMENTS.assign(tenant_id=tenant.pk, profile_name="short", partition_path="agent=support", **by_now())
    return client_of(operator)


def by_now() -> dict[str, Any]:
    return {"by": TESTER, "now": timezone.now()}


def names(tenant: Tenant) -> list[str]:
    with tenant_scope(tenant.pk):
        return [row.name for row in current_budget_profiles(tenant.pk)]


def assigned(tenant: Tenant) -> dict[str, str]:
    with tenant_scope(tenant.pk):
        rows = BudgetProfileAssignment.objects.for_tenant(tenant.pk).active()
        return dict(rows.values_list("partition_path", "profile_name"))


def test_profile_is_renamed_with_its_assignments(client: Client, tenant: Tenant) -> None:
    rename = page("budget-rename", tenant, "short")
    assert "Assignments move" in text_of(client.get(rename))
    for wrong in ("default", "short", "Big", ""):
        assert client.post(rename, {"name": wrong}).status_code == 422
    assert "short is now brief" in text_of(client.post(rename, {"name": "brief"}, follow=True))
    assert names(tenant) == ["default", "brief"]
    assert assigned(tenant) == {"agent=support": "brief"}
    assert client.get(page("budget-rename", tenant, "short")).status_code == 404


def test_profile_is_retired_unless_it_is_assigned_and_restored(client: Client, tenant: Tenant) -> None:
    retire = page("budget-retire", tenant, "short")
    assert "1 assignment" in text_of(client.post(retire, follow=True))
    with tenant_scope(tenant.pk):
        BUDGET_ASSIGNMENTS.unassign(tenant_id=tenant.pk, partition_path="agent=support", **by_now())
    retired = client.post(retire, follow=True)
    assert names(tenant) == ["default"]
    assert "1 retired" in text_of(retired)
    assert client.get(page("budget", tenant, "short")).status_code == 404
    client.post(undo_of(retired))
    assert names(tenant) == ["default", "short"]
    assert "in use" in text_of(client.post(page("budget-restore", tenant, "short"), follow=True))
    assert "cannot be retired" in text_of(client.post(page("budget-retire", tenant, "default"), follow=True))


def test_assignment_to_a_partition_without_memories_needs_confirmation(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    address = page("budget-assignments", tenant)
    typed = {"profile_name": "short", "partition": "agent=suport"}
    asked = client.post(address, typed)
    assert asked.status_code == 422
    assert "agent=suport contains no memories. Did you mean agent=support?" in text_of(asked)
    assert "agent=suport" not in assigned(tenant)
    assert client.post(address, typed | {"confirmed": "agent=suport"}).status_code == 302
    assert assigned(tenant)["agent=suport"] == "short"
    assert client.post(address, typed | {"partition": "agent=service"}).status_code == 302
