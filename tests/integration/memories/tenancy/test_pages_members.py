"""The members of a tenant: added, given another role, removed; one admin always remains."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memories.models import AuditEntry, Membership, Tenant
from memories.tenancy.actions.operators import change_role, remove_member
from memories.tenancy.exceptions import NotFound, StaleVersion
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.roles import Role, role_of
from tests.factories import FACTORY_NOW, TESTER
from tests.integration.page_helpers import client_of, page, text_of
from tests.users import PASSWORD, new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna(tenant: Tenant) -> User:
    return new_operator("anna", "admin", tenant)


@pytest.fixture
def admin(anna: User) -> Client:
    return client_of(anna)


def members_of(tenant: Tenant) -> list[str]:
    with tenant_scope(tenant.pk):
        return [row.user.username for row in Membership.objects.for_tenant(tenant.pk).with_roles()]


def role_in_database(user: User) -> Role | None:
    return role_of(User.objects.get(pk=user.pk))


def set_role(client: Client, tenant: Tenant, username: str, role: str) -> Any:
    return client.post(page("member-role", tenant, username), {"role": role}, follow=True)


def test_page_names_members_with_their_roles(anna: User, tenant: Tenant) -> None:
    vera = client_of(new_operator("vera", "viewer", tenant))
    User.objects.create_superuser("root", password=PASSWORD)
    gone = new_operator("gone", "operator", tenant)
    gone.is_active = False
    gone.save()
    text = text_of(vera.get(page("members", tenant)))
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))
    assert "anna admin" in words
    assert "vera you viewer" in words
    assert "gone cannot sign in" in words
    assert "root admin in every tenant" in words
    assert "Invite a person" not in text


def test_member_is_added_by_name_and_removed_after_a_question(admin: Client, tenant: Tenant) -> None:
    otto = new_operator("otto", "viewer")
    admin.post(page("member-add", tenant), {"username": "otto"})
    assert members_of(tenant) == ["anna", "otto"]
    assert client_of(otto).get(page("memories", tenant)).status_code == 200
    address = page("member-remove", tenant, "otto")
    assert "Remove otto from Acme?" in text_of(admin.get(address))
    assert "removed from Acme" in text_of(admin.post(address, follow=True))
    assert members_of(tenant) == ["anna"]
    assert client_of(otto).get(page("memories", tenant)).status_code == 404
    log = text_of(admin.get(page("audit-log", tenant), {"target_kind": "user"}))
    assert log.count(f'href="{page("members", tenant)}" title="otto">otto</a>') == 2


@pytest.mark.parametrize("username", ["", "nobody", "customer", "foreign", "root"])
def test_only_a_person_with_a_role_and_of_no_other_tenant_can_be_added(
    username: str, admin: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    User.objects.create_user("customer", password=PASSWORD)
    User.objects.create_superuser("root", password=PASSWORD)
    new_operator("foreign", "viewer", other_tenant)
    response = admin.post(page("member-add", tenant), {"username": username})
    assert response.status_code == 422
    assert 'id="username-errors"><ul class="errorlist"' in text_of(response)
    assert members_of(tenant) == ["anna"]


def test_admin_changes_the_role_of_a_member(admin: Client, tenant: Tenant) -> None:
    otto = new_operator("otto", "viewer", tenant)
    assert "otto is now operator." in text_of(set_role(admin, tenant, "otto", "operator"))
    assert role_in_database(otto) is Role.OPERATOR
    log = text_of(admin.get(page("audit-log", tenant), {"action": "change role"}))
    assert "otto" in log
    assert "Select a valid choice" in text_of(set_role(admin, tenant, "otto", "king"))


def test_role_that_another_admin_changed_meanwhile_stays(admin: Client, tenant: Tenant) -> None:
    otto = new_operator("otto", "viewer", tenant)
    stale = {"role": "admin", "replaces": "operator"}
    refused = admin.post(page("member-role", tenant, "otto"), stale, follow=True)
    assert "Someone else changed the role of otto." in text_of(refused)
    assert role_in_database(otto) is Role.VIEWER
    admin.post(page("member-role", tenant, "otto"), stale | {"replaces": "viewer"})
    assert role_in_database(otto) is Role.ADMIN


def test_what_another_admin_did_before_the_lock_is_seen(tenant: Tenant) -> None:
    otto = new_operator("otto", "viewer", tenant)
    who: dict[str, Any] = {"by": TESTER, "now": FACTORY_NOW}
    with tenant_scope(tenant.pk):
        rows = Membership.objects.for_tenant(tenant.pk).with_roles()
        first, second, third = (rows.get(user=otto) for _ in range(3))
        change_role(membership=first, role="operator", is_fixed=False, **who)
        with pytest.raises(StaleVersion):
            change_role(membership=second, role="admin", replaces="viewer", is_fixed=False, **who)
        for membership in (first, second):
            remove_member(membership=membership, **who)
        with pytest.raises(NotFound):
            change_role(membership=third, role="admin", is_fixed=False, **who)
        entries = AuditEntry.objects.for_tenant(tenant.pk).filter(target_kind="user", actor_id=TESTER.id)
        verbs = entries.exclude(verb="add_member").values_list("verb", flat=True)
        assert sorted(verbs) == ["change_role", "remove_member"]


def test_member_without_a_role_gets_one(admin: Client, tenant: Tenant) -> None:
    new_operator("otto", "viewer", tenant).groups.clear()
    assert 'name="replaces" value="none"' in admin.get(page("members", tenant)).content.decode()
    form = {"role": "operator", "replaces": "none"}
    assert "otto is now operator." in text_of(admin.post(page("member-role", tenant, "otto"), form, follow=True))


def test_role_is_fixed_for_members_of_foreign_tenants_and_superusers(
    admin: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    """A role applies to all tenants of a person: an admin of one tenant cannot grant roles in another."""
    otto = new_operator("otto", "viewer", tenant, other_tenant)
    root = User.objects.create_superuser("root", password=PASSWORD)
    with tenant_scope(tenant.pk):
        Membership.objects.create(user=root, tenant=tenant)
    for name in ("otto", "root"):
        assert page("member-role", tenant, name) not in text_of(admin.get(page("members", tenant)))
        assert "A superuser changes the role." in text_of(set_role(admin, tenant, name, "admin"))
    assert role_in_database(otto) is Role.VIEWER
    assert "otto is now admin." in text_of(set_role(client_of(root), tenant, "otto", "admin"))


def test_admin_of_both_tenants_changes_the_role(tenant: Tenant, other_tenant: Tenant) -> None:
    both = client_of(new_operator("both", "admin", tenant, other_tenant))
    new_operator("otto", "viewer", tenant, other_tenant)
    assert "otto is now operator." in text_of(set_role(both, tenant, "otto", "operator"))


def test_last_admin_is_neither_removed_nor_given_a_lower_role(admin: Client, anna: User, tenant: Tenant) -> None:
    new_operator("otto", "operator", tenant)
    assert "anna is the only admin of a tenant." in text_of(set_role(admin, tenant, "anna", "viewer"))
    assert "anna is the only admin of a tenant." in text_of(
        admin.post(page("member-remove", tenant, "anna"), follow=True)
    )
    assert members_of(tenant) == ["anna", "otto"]
    assert role_in_database(anna) is Role.ADMIN


def test_role_is_kept_where_another_tenant_would_lose_its_last_admin(tenant: Tenant, other_tenant: Tenant) -> None:
    both = new_operator("both", "admin", tenant, other_tenant)
    new_operator("adam", "admin", tenant)
    client = client_of(both)
    assert "both is the only admin of a tenant." in text_of(set_role(client, tenant, "both", "viewer"))
    new_operator("eve", "admin", other_tenant)
    set_role(client, tenant, "both", "viewer")
    assert role_in_database(both) is Role.VIEWER


def test_one_of_two_admins_who_removes_themselves_is_warned_and_led_away(admin: Client, tenant: Tenant) -> None:
    new_operator("adam", "admin", tenant)
    address = page("member-remove", tenant, "anna")
    assert "your own access" in text_of(admin.get(address))
    assert admin.post(address)["Location"] == "/"
    assert members_of(tenant) == ["adam"]


def test_only_an_admin_changes_members(operator: User, anna: User, tenant: Tenant) -> None:
    before = members_of(tenant)
    for client in (client_of(new_operator("vera", "viewer")), client_of(operator)):
        for name, fields in (("member-add", {"username": "anna"}), ("invitation-create", {"role": "admin", "days": 1})):
            assert client.post(page(name, tenant), fields).status_code == 403
        assert client.post(page("member-remove", tenant, "anna")).status_code == 403
        assert client.post(page("member-role", tenant, "anna"), {"role": "viewer"}).status_code == 403
    assert members_of(tenant) == before
