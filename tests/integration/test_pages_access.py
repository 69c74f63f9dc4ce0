"""Who gets in: every operator page refuses strangers, foreign tenants are absent, a viewer changes nothing."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone

from memories.models import Snapshot, Tenant
from memories.scopes import tenant_scope
from tests.console_pages import operator_patterns
from tests.integration.assembling import ask
from tests.integration.pages import HTMX, as_stored, client_of, named_moment, page, text_of, workshop
from tests.people import PASSWORD, new_operator

CHANGING = ["memory-archive", "memory-restore", "memory-pin", "memory-unpin"]


def _address(pattern: URLPattern) -> str:
    names = pattern.pattern.converters
    known: dict[str, object] = {"version": 1, "name": "default"}
    return reverse(pattern.name, kwargs={name: known.get(name, uuid4()) for name in names})


@pytest.mark.django_db
@pytest.mark.parametrize("pattern", operator_patterns(), ids=lambda pattern: pattern.name)
@pytest.mark.parametrize("method", ["get", "post"])
def test_page_refuses_whoever_is_not_signed_in(pattern: URLPattern, method: str, client: Client) -> None:
    response = getattr(client, method)(_address(pattern))
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("sign-in"))


@pytest.mark.django_db
@pytest.mark.parametrize("pattern", operator_patterns(), ids=lambda pattern: pattern.name)
@pytest.mark.parametrize("method", ["get", "post"])
def test_page_refuses_an_account_without_a_role(pattern: URLPattern, method: str) -> None:
    customer = User.objects.create_user("customer", password=PASSWORD)
    assert getattr(client_of(customer), method)(_address(pattern)).status_code == 403


def test_walk_over_the_pages_finds_them() -> None:
    names = {pattern.name for pattern in operator_patterns()}
    assert {
        "overview",
        "memory",
        "memory-votes",
        "receipt",
        "snapshot",
        "budget",
        "session",
        "session-compact",
        "session-simulate",
        "compaction",
        "compaction-roll-back",
        "roll-ups",
        "prompts",
        "api-keys",
        "api-key-revoke",
        "member-add",
        "member-remove",
        *PAGES_OF_A_TENANT,
        *CHANGING,
    } <= names


FOR_SCRIPTS = {"context-entry", "context-suggest"}
PAGES_OF_A_TENANT = [
    "tenant-overview",
    "memories",
    "hygiene",
    "memo",
    "partitions",
    "snapshots",
    "context-preview",
    "receipts",
    "search",
    "budgets",
    "budget-compare",
    "budget-assignments",
    "budget-curve",
    "context-compare",
    "context-entry",
    "context-suggest",
    "evaluations",
    "golden-questions",
    "sessions",
    "reviews",
    "jobs",
    "audit-log",
    "tenant-settings",
]


@pytest.mark.parametrize("name", PAGES_OF_A_TENANT)
def test_another_tenant_is_absent(name: str, operator: User, other_tenant: Tenant) -> None:
    workshop(other_tenant)
    response = client_of(operator).get(page(name, other_tenant))
    assert response.status_code == 404
    assert "ERR_4012" not in text_of(response)


def test_memory_of_another_tenant_is_absent_under_the_own_tenants_address(
    operator: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    foreign = workshop(other_tenant)[0]
    client = client_of(operator)
    assert client.get(page("memory", tenant, foreign.pk)).status_code == 404
    assert client.post(page("memory-archive", tenant, foreign.pk)).status_code == 404
    assert as_stored(foreign).archived_at is None


def test_snapshot_and_context_of_another_tenant_are_absent_under_the_own_tenants_address(
    operator: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    workshop(other_tenant)
    named = named_moment(other_tenant, "theirs")
    own = named_moment(tenant, "ours")
    given = ask(other_tenant, "What does ERR_4012 mean?", now=timezone.now())
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


@pytest.fixture
def viewer(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


@pytest.mark.parametrize("name", CHANGING)
def test_viewer_may_not_change_a_memory(name: str, viewer: Client, tenant: Tenant) -> None:
    memory = workshop(tenant)[0]
    assert viewer.post(page(name, tenant, memory.pk)).status_code == 403
    assert as_stored(memory).version == 1


def test_viewer_may_not_edit_or_save_a_budget(viewer: Client, tenant: Tenant) -> None:
    memory = workshop(tenant)[0]
    assert viewer.post(page("memory", tenant, memory.pk), {"content": "changed"}).status_code == 403
    assert viewer.post(page("budgets", tenant), {"default_tokens": 100}).status_code == 403
    assert viewer.post(page("budget-roll-back", tenant, "default", 0)).status_code == 403
    assert as_stored(memory).content == memory.content


def test_viewer_reads_every_page_and_is_offered_no_change(viewer: Client, tenant: Tenant) -> None:
    memory = workshop(tenant)[0]
    first, second = named_moment(tenant, "before", timedelta(days=2)), named_moment(tenant, "after")
    given = ask(tenant, "What does ERR_4012 mean?", now=timezone.now(), max_tokens=90)
    addresses = [page("memory", tenant, memory.pk), page("memory-votes", tenant, memory.pk)]
    # These two answer a script only: the tests of the workbench ask them.
    addresses += [page(name, tenant) for name in PAGES_OF_A_TENANT if name not in FOR_SCRIPTS]
    addresses += [page("partitions", tenant) + "?partition=agent%3Dsupport"]
    for one in (page("receipt", tenant, given.id), page("snapshot", tenant, first.pk)):
        addresses += [one, f"{one}?with=today"]
    addresses += [page("snapshot", tenant, first.pk) + f"?with={second.pk}"]
    for address in addresses:
        response = viewer.get(address)
        assert response.status_code == 200
        offered = re.findall(r'method="post" action="([^"]+)"', text_of(response))
        assert set(offered) == {reverse("theme"), reverse("sign-out")}


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
    assert "what you sent was not saved" in text_of(refused)
    assert "what you sent was not saved" not in text_of(client.get(referer, follow=True))
    assert client.post(address, headers={"referer": "https://evil.example/x"})["Location"].endswith("?unsaved=1&next=/")


def test_sign_in_leads_to_the_overview_and_sign_out_ends_it(client: Client, operator: User, tenant: Tenant) -> None:
    response = client.post(reverse("sign-in"), {"username": operator.username, "password": PASSWORD}, follow=True)
    assert response.redirect_chain[-1][0] == page("tenant-overview", tenant)
    client.post(reverse("sign-out"))
    assert client.get(page("tenant-overview", tenant)).status_code == 302


def test_refused_sign_in_answers_422_and_says_why(client: Client, operator: User) -> None:
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
