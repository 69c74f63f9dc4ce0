"""Ids of another tenant's rows in the queries and forms of the console."""

from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.console_pages import address_of, operator_patterns
from tests.integration.memory_platform.rest.test_api_routes import Rows, one_of_everything, whole_state
from tests.integration.page_helpers import client_of, make_snapshot
from tests.integration.rest_helpers import MEMORIES
from tests.users import api_client, new_key, new_operator

pytestmark = pytest.mark.django_db

#: In the texts of every row of the other tenant.
FOREIGN = "Porto"
#: Names of parameters and form fields that take an id, and the kind of row.
FIELDS = {
    **dict.fromkeys(("memory", "memory_id", "ids", "item", "keep", "focus_memory", "source", "target"), "memory_id"),
    **dict.fromkeys(("receipt", "receipt_id"), "receipt_id"),
    **dict.fromkeys(("session", "session_id"), "session_id"),
    **dict.fromkeys(("message", "message_id", "last"), "message_id"),
    **dict.fromkeys(("question", "question_id"), "question_id"),
    **dict.fromkeys(("run", "evaluation", "run_id"), "run_id"),
    "compaction": "compaction_id",
    "key": "key_id",
    "api_key": "key_id",
    "link": "link_id",
    "id": "link_id",
}
#: Other fields that forms require.
FILLED = {
    "action": "archive",
    "text": "What is known?",
    "query": "What is known?",
    "name": "own",
    "username": "olga",
    "content": "own",
    "reason": "own",
    "partition": "",
    "style": "compact",
    "profile": "default",
    "version": "1",
}
#: The kind of row that the parameter `with` names, by page.
BESIDE = {"snapshot": "snapshot_id", "receipt": "receipt_id", "evaluation": "run_id"}


@pytest.fixture
def foreign(other_tenant: Tenant) -> Rows:
    return one_of_everything(api_client(new_key(other_tenant, "read", "write", "admin")))


@pytest.fixture
def own_ids(tenant: Tenant, api: APIClient) -> dict[str, Any]:
    """Return what addresses name: the tenant's own rows."""
    memory = api.post(MEMORIES, {"content": "Alex lives in Lisbon."}).json()
    session = api.post("/api/v1/sessions", {}).json()["id"]
    response = api.post(f"/api/v1/sessions/{session}/messages", {"messages": [{"role": "user", "content": "Lisbon?"}]})
    return {
        "tenant_id": tenant.pk,
        "memory_id": memory["id"],
        "session_id": session,
        "name": "default",
        "version": 1,
        "message_id": response.json()["results"][0]["id"],
        "snapshot_id": make_snapshot(tenant, "own").pk,
        "receipt_id": api.post("/api/v1/context", {"query": "Lisbon"}).json()["id"],
        "hygiene-list.name": "unhelpful",
        "hygiene-bulk.name": "near_duplicate",
        "prefix": "abcdefgh",
        "username": "olga",
    }


@pytest.fixture
def client(tenant: Tenant) -> Client:
    return client_of(new_operator("olga", "admin", tenant))


def test_no_page_shows_or_changes_a_row_whose_id_is_typed_in(
    tenant: Tenant, other_tenant: Tenant, client: Client, foreign: Rows, own_ids: dict[str, Any]
) -> None:
    before, faults, answered = whole_state(other_tenant), [], 0
    plain = {field: foreign.names[row] for field, row in FIELDS.items()}
    for pattern in operator_patterns():
        url, name = address_of(pattern, own_ids), str(pattern.name)
        values = {**FILLED, **plain, "with": foreign.names[BESIDE.get(name, "receipt_id")]}
        with transaction.atomic():
            for method in ("get", "post"):
                response = getattr(client, method)(url, values)
                answered += response.status_code in {200, 302}
                where = f"{method} {name} answers {response.status_code}"
                shown = b"".join(response).decode()  # a file is streamed
                faults += [where] * (response.status_code >= 500)
                faults += [f"{where} and shows a text of the other tenant"] * (FOREIGN in shown)
            transaction.set_rollback(True)
    assert answered > len(operator_patterns()) / 2
    assert not faults, "\n".join(faults)
    assert whole_state(other_tenant) == before
    with tenant_scope(tenant.pk):
        assert Memory.objects.for_tenant(tenant.pk).count() == 1
