"""Invitations: a link that is shown once, works once, expires, and is stored as a hash."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import Invitation, Membership, Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.roles import Role, role_of
from tests.integration.page_helpers import client_of, page, text_of
from tests.users import PASSWORD, new_operator

pytestmark = pytest.mark.django_db

ACCOUNT = {"username": "otto", "password": PASSWORD, "password_again": PASSWORD}


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("anna", "admin", tenant))


def invite(admin: Client, tenant: Tenant, **fields: Any) -> str:
    given = {"role": "operator", "note": "Otto", "days": 7} | fields
    found = re.search(r'id="new-link">([^<]+)<', text_of(admin.post(page("invitation-create", tenant), given)))
    assert found, "no link is shown"
    return unescape(found[1])


def invitations(tenant: Tenant) -> list[Invitation]:
    with tenant_scope(tenant.pk):
        return list(Invitation.objects.for_tenant(tenant.pk))


def test_link_is_shown_once_and_stored_as_a_hash(admin: Client, tenant: Tenant) -> None:
    link = invite(admin, tenant)
    secret = link.rpartition("/")[2]
    assert len(secret) >= 43
    assert secret not in text_of(admin.get(page("members", tenant)))
    (row,) = invitations(tenant)
    assert secret not in repr(vars(row))
    assert len(row.secret_hash) == 64


def test_invited_person_creates_an_account_and_is_signed_in_with_the_role(admin: Client, tenant: Tenant) -> None:
    link, otto = invite(admin, tenant), Client()
    text = text_of(otto.get(link))
    assert "Join Acme" in text
    assert "anna invited you to join as operator." in text
    assert otto.post(link, ACCOUNT)["Location"] == page("tenant-overview", tenant)
    assert otto.get(page("memories", tenant)).status_code == 200
    user = User.objects.get(username="otto")
    assert role_of(user) is Role.OPERATOR
    with tenant_scope(tenant.pk):
        assert Membership.objects.for_tenant(tenant.pk).of_username("otto").exists()
    log = text_of(admin.get(page("audit-log", tenant)))
    assert "Accepted an invitation" in log
    assert "invitation by anna" in log


def test_link_works_once(admin: Client, tenant: Tenant) -> None:
    link = invite(admin, tenant)
    Client().post(link, ACCOUNT)
    for response in (Client().get(link), Client().post(link, ACCOUNT | {"username": "emma"})):
        assert response.status_code == 404
        assert "Link not valid" in text_of(response)
    assert not User.objects.filter(username="emma").exists()


def test_revoked_and_expired_links_are_not_valid(admin: Client, tenant: Tenant) -> None:
    revoked, expired = invite(admin, tenant), invite(admin, tenant, note="late")
    rows = {row.note: row for row in invitations(tenant)}
    admin.post(page("invitation-revoke", tenant, rows["Otto"].pk))
    with tenant_scope(tenant.pk):
        Invitation.objects.filter(pk=rows["late"].pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert [Client().get(link).status_code for link in (revoked, expired)] == [404, 404]
    assert "expired" in text_of(admin.get(page("members", tenant)))
    assert admin.post(page("invitation-revoke", tenant, rows["Otto"].pk)).status_code == 404


def test_link_of_one_tenant_opens_no_other(admin: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    secret = invite(admin, tenant).rpartition("/")[2]
    assert Client().get(reverse("invitation", args=[other_tenant.pk, secret])).status_code == 404
    assert Client().get(reverse("invitation", args=[tenant.pk, "nonsense"])).status_code == 404


INVALID_ACCOUNTS = [
    ({"username": "anna"}, "username", "already exists"),
    ({"username": "a b"}, "username", "valid username"),
    ({"username": ".."}, "username", "a letter or a digit"),
    ({"username": "\uff41nna"}, "username", "already exists"),
    ({"password": "short", "password_again": "short"}, "password", "too short"),
    ({"password_again": "another"}, "password_again", "differ"),
]


def test_invalid_account_is_an_error_at_its_field(admin: Client, tenant: Tenant) -> None:
    link = invite(admin, tenant)
    for changed, field, sentence in INVALID_ACCOUNTS:
        response = Client().post(link, ACCOUNT | changed)
        assert response.status_code == 422
        assert sentence in str(response.context["form"].errors[field])
    assert Client().get(link).status_code == 200


def test_member_who_is_signed_in_cannot_use_a_link(admin: Client, tenant: Tenant) -> None:
    link = invite(admin, tenant)
    assert "anna is already a member of Acme." in text_of(admin.get(link))
    admin.post(link, ACCOUNT)
    assert not User.objects.filter(username="otto").exists()
    assert Client().get(link).status_code == 200


def test_person_with_an_account_joins_with_its_role_and_nothing_above_the_invitation(
    admin: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    link = invite(admin, tenant, role="operator")
    vera, ada = (new_operator(name, role, other_tenant) for name, role in (("vera", "viewer"), ("ada", "admin")))
    refused = client_of(ada).post(link)
    assert refused.status_code == 409
    assert "for the role operator, and your account has the role admin." in text_of(refused)
    client = client_of(vera)
    assert "Join as vera" in text_of(client.get(link))
    assert client.post(link)["Location"] == page("tenant-overview", tenant)
    assert client.get(page("memories", tenant)).status_code == 200
    assert role_of(User.objects.get(username="vera")) is Role.VIEWER
    assert client_of(ada).post(link).status_code == 404
    assert client_of(ada).get(page("memories", tenant)).status_code == 404


@pytest.mark.parametrize("fields", [{"days": 31}, {"days": 0}, {"role": "king"}, {"note": "x" * 101}])
def test_invalid_invitation_is_refused(admin: Client, tenant: Tenant, fields: dict[str, Any]) -> None:
    given = {"role": "operator", "note": "Otto", "days": 7} | fields
    assert admin.post(page("invitation-create", tenant), given).status_code == 422
    assert invitations(tenant) == []
