"""A query of any length is sent by POST and has a short URL that works for everyone in the tenant."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from context.models import GoldenQuestion, LongQuery, Receipt
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.console_pages import with_result_address
from tests.integration.page_helpers import client_of, make_bakery_memories, page, text_of
from tests.users import new_operator, new_shared_tenant

LONG = "What does ERR_4012 mean, and " + "what do we tell the customer about the torque sensor? " * 160
ADDRESS_MAX = 8_190


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def enter(client: Client, tenant: Tenant, name: str = "preview", **inputs: Any) -> str:
    response = client.post(page("context-address", tenant, name), inputs)
    assert response.status_code == 302
    return str(response["Location"])


def test_long_query_gets_an_address_that_a_viewer_opens(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    address = enter(client, tenant, query=LONG, partition="agent=service", max_tokens="400")
    assert len(address) < 250
    assert enter(client, tenant, query=LONG, partition="agent=service", max_tokens="400") == address
    with tenant_scope(tenant.pk):
        assert LongQuery.objects.for_tenant(tenant.pk).count() == 1
    shown = client_of(new_operator("vera", "viewer", tenant)).get(with_result_address(address))
    assert shown.context["preview"].context.request["query"] == LONG.strip()
    assert shown.context["form"]["query"].value() == LONG.strip()
    for link in ("budget-curve", "context-compare", "context-explain"):
        opened = client.get(f"{page(link, tenant)}?{shown.context['query']}&whole=1")
        assert opened.status_code == 200
        assert opened.context["form"]["query"].value() == LONG.strip()
    assert max(len(each) for each in text_of(shown).split('"') if each.startswith("/t/")) < ADDRESS_MAX


def test_short_query_stays_in_the_address_and_a_refused_one_stores_nothing(client: Client, tenant: Tenant) -> None:
    assert enter(client, tenant, "curve", query="ERR_4012", partition="").endswith("context/curve?query=ERR_4012")
    enter(client, tenant, query="x" * 40_000)
    assert client.post(page("context-address", tenant, "nowhere"), {}).status_code == 404
    with tenant_scope(tenant.pk):
        assert not LongQuery.objects.for_tenant(tenant.pk).exists()


def test_id_of_another_tenants_query_is_ignored(client: Client, tenant: Tenant) -> None:
    other = new_shared_tenant("Other")
    address = enter(client_of(new_operator("otto", "operator", other)), other, query=LONG)
    query_id = address.rpartition("=")[2]
    answer = client.get(f"{page('context-preview', tenant)}?query_id={query_id}&whole=1")
    assert answer.context["form"]["query"].value() == ""
    assert client.get(f"{page('context-preview', tenant)}?query_id=x&whole=1").status_code == 200


def test_receipt_shows_the_whole_query_and_the_requester_and_links_to_the_workbench(
    client: Client, tenant: Tenant, api: Any
) -> None:
    memory = make_bakery_memories(tenant)[1]
    receipt_id = api.post("/api/v1/context", {"query": LONG, "max_tokens": 300}, format="json").json()["id"]
    shown = client.get(page("receipt", tenant, receipt_id))
    assert LONG.strip() in text_of(shown)
    with tenant_scope(tenant.pk):
        key = Receipt.objects.for_tenant(tenant.pk).with_keys().get().api_key
    assert key.name in text_of(shown)
    assert key.prefix in text_of(shown)
    assert shown.context["workbench_query"] == f"query_id={receipt_id}&max_tokens=300&style=markdown"
    opened = client.get(f"{page('context-preview', tenant)}?{shown.context['workbench_query']}&whole=1")
    golden = opened.context["golden"]
    client.post(page("golden-collect", tenant), golden | {"memory": memory.pk})
    with tenant_scope(tenant.pk):
        question = GoldenQuestion.objects.for_tenant(tenant.pk).get()
    assert (question.text, question.max_tokens) == (LONG.strip(), 300)
    linked = client.get(page("golden-question", tenant, question.pk)).context["preview_query"]
    assert client.get(f"{page('context-preview', tenant)}?{linked}&whole=1").context["golden"]["id"] == question.pk


def test_context_of_a_session_names_it_in_its_receipt(client: Client, tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    session = api.post("/api/v1/sessions", {"directive": "Help."}, format="json").json()["id"]
    api.post(f"/api/v1/sessions/{session}/context", {"query": "ERR_4012"}, format="json")
    with tenant_scope(tenant.pk):
        receipt = Receipt.objects.for_tenant(tenant.pk).get()
    assert page("session", tenant, session) in text_of(client.get(page("receipt", tenant, receipt.pk)))
