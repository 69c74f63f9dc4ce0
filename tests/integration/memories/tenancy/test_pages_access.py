"""Rows of another tenant in the user's own URLs, expired sign-ins, signing in and out, themes.

The permissions of roles are in `test_roles_matrix`.
"""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import Snapshot, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import assemble_test_context
from tests.integration.page_helpers import (
    HTMX,
    as_stored,
    client_of,
    make_bakery_memories,
    make_snapshot,
    page,
    text_of,
)
from tests.users import PASSWORD


def test_memory_of_another_tenant_is_absent_under_the_own_tenants_address(
    operator: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    foreign = make_bakery_memories(other_tenant)[0]
    client = client_of(operator)
    assert client.get(page("memory", tenant, foreign.pk)).status_code == 404
    assert client.post(page("memory-archive", tenant, foreign.pk)).status_code == 404
    assert as_stored(foreign).archived_at is None


def test_snapshot_and_context_of_another_tenant_are_absent_under_the_own_tenants_address(
    operator: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    make_bakery_memories(other_tenant)
    named = make_snapshot(other_tenant, "theirs")
    own = make_snapshot(tenant, "ours")
    given = assemble_test_context(other_tenant, "What does ERR_4012 mean?", now=timezone.now())
    client = client_of(operator)
    for address in (
        page("snapshot", tenant, named.pk),
        page("snapshot", tenant, own.pk) + f"?with={named.pk}",
        page("snapshot-delete", tenant, named.pk),
        page("receipt", tenant, given.id),
        page("receipt", tenant, given.id) + "?with=today",
    ):
        assert client.get(address).status_code == 404
    assert client.post(page("snapshot-delete", tenant, named.pk)).status_code == 404
    with tenant_scope(other_tenant.pk):
        assert Snapshot.objects.for_tenant(other_tenant.pk).with_id(named.pk).exists()


def test_superuser_opens_every_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    client = client_of(User.objects.create_superuser("root", password=PASSWORD))
    assert client.get(page("tenant-overview", tenant)).status_code == 200
    assert client.get(page("tenant-overview", other_tenant)).status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
def test_expired_log_in_sends_htmx_to_sign_in_and_back_to_the_page(method: str, client: Client, tenant: Tenant) -> None:
    address = page("context-preview", tenant) + "?query=torque"
    headers = {**HTMX, "HX-Current-URL": f"http://testserver{address}"}
    response = getattr(client, method)(page("budgets", tenant), headers=headers)
    assert response.status_code == 200
    assert response["HX-Redirect"].startswith(reverse("sign-in") + "?next=/t/")
    assert "query%3Dtorque" in response["HX-Redirect"]


@pytest.mark.django_db
def test_post_without_log_in_never_comes_back_to_an_address_that_only_takes_post(client: Client) -> None:
    tenant_id, memory_id = uuid4(), uuid4()
    address = reverse("memory-archive", args=[tenant_id, memory_id])
    referer = "http://testserver" + reverse("memory", args=[tenant_id, memory_id])
    assert client.post(address, headers={"referer": referer})["Location"].endswith(str(memory_id))
    refused = client.post(address, headers={"referer": referer}, follow=True)
    assert "Your changes were not saved" in text_of(refused)
    assert "Your changes were not saved" not in text_of(client.get(referer, follow=True))
    assert client.post(address, headers={"referer": "https://evil.example/x"})["Location"].endswith("?unsaved=1&next=/")


def test_sign_in_leads_to_the_overview_and_sign_out_ends_it(client: Client, operator: User, tenant: Tenant) -> None:
    response = client.post(reverse("sign-in"), {"username": operator.username, "password": PASSWORD}, follow=True)
    assert response.redirect_chain[-1][0] == page("tenant-overview", tenant)
    client.post(reverse("sign-out"))
    assert client.get(page("tenant-overview", tenant)).status_code == 302


def test_refused_sign_in_returns_422_with_the_reason(client: Client, operator: User) -> None:
    response = client.post(reverse("sign-in"), {"username": operator.username, "password": "wrong"})
    assert response.status_code == 422
    assert "Please enter a correct username and password" in text_of(response)


@pytest.mark.django_db
@pytest.mark.parametrize(("theme", "cookie"), [("dark", "dark"), ("light", "light"), ("system", "")])
def test_theme_is_kept_in_a_cookie_and_answers_htmx_with_an_event(theme: str, cookie: str, client: Client) -> None:
    response = client.post(reverse("theme"), {"theme": theme}, headers=HTMX)
    assert response.status_code == 204
    assert theme in response["HX-Trigger"]
    assert response.cookies["theme"].value == cookie
    plain: Any = client.post(reverse("theme"), {"theme": theme}, headers={"referer": "http://testserver/sign-in?x=1"})
    assert plain["Location"] == "/sign-in?x=1"


@pytest.mark.django_db
def test_unknown_theme_is_refused_and_a_get_sets_nothing(client: Client) -> None:
    assert client.post(reverse("theme"), {"theme": "pink"}).status_code == 400
    assert client.get(reverse("theme")).status_code == 405
