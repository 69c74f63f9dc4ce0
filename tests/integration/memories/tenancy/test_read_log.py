"""Each page and endpoint that shows stored texts adds an entry for the reader."""

from typing import Any

import pytest
from django.db import transaction

from memories.models import AuditEntry, Tenant
from memories.services.tenancy.act_labels import READS
from memories.tenancy.scopes import tenant_scope
from tests.console_pages import address_of, operator_patterns
from tests.integration.memory_platform.rest.test_api_routes import ROUTES, Rows, offered, one_of_everything
from tests.integration.page_helpers import client_of
from tests.users import api_client, new_key, new_operator

pytestmark = pytest.mark.django_db

#: Parts of the texts of memories, messages and summaries, but of no name, question or instruction.
TEXTS = (
    *("Sam lives in Porto", "Kim lives in Porto", "Porto is in the north", "Sam is in Porto", "Where is Porto"),
    "bridges, Kim says",
)
#: By method, endpoints that show a text in the response to an act with its own entry, or in a receipt.
OF_ACTS = {
    ("post", "api/v1/context"),
    ("patch", "api/v1/memories/<uuid:memory_id>"),
    ("post", "api/v1/memories/<uuid:memory_id>/restore"),
    ("patch", "api/v1/messages/<uuid:message_id>"),
    ("post", "api/v1/messages/<uuid:message_id>/expand"),
    ("post", "api/v1/compactions/<uuid:compaction_id>/review"),
}


@pytest.fixture
def rows(tenant: Tenant) -> Rows:
    return one_of_everything(api_client(new_key(tenant, "read", "write", "admin")))


def reads_of(tenant: Tenant) -> int:
    with tenant_scope(tenant.pk):
        return AuditEntry.objects.for_tenant(tenant.pk).filter(verb__in=[*READS, "export"]).count()


def shows_text(response: Any) -> bool:
    body = b"".join(response).decode(errors="replace")
    return any(text in body for text in TEXTS)


def test_every_page_that_shows_a_stored_text_leaves_an_entry(tenant: Tenant, rows: Rows) -> None:
    client = client_of(new_operator("ada", "admin", tenant))
    own = {"hygiene-list.name": "never_retrieved", "hygiene-bulk.name": "near_duplicate", "username": "ada"}
    ids = {"tenant_id": tenant.pk, **own, "prefix": "abcdefgh", **rows.names}
    fields = dict.fromkeys(("memory", "ids", "item"), rows.names["memory_id"]) | {"id": "1", "action": "archive"}
    fields |= dict.fromkeys(("query", "text", "q", "focus_memory"), "Porto") | {"partition": "user=sam", "whole": "1"}
    showing, silent = set(), []
    for pattern in operator_patterns():
        with transaction.atomic():
            before = reads_of(tenant)
            response = client.get(address_of(pattern, ids), {**fields, "max_tokens": "500"})
            if shows_text(response):
                showing.add(pattern.name)
                silent += [pattern.name] * (reads_of(tenant) == before)
            transaction.set_rollback(True)
    assert len(showing) > 20, showing
    assert silent == []


def test_every_endpoint_that_shows_a_stored_text_leaves_an_entry(tenant: Tenant, rows: Rows) -> None:
    agent = api_client(new_key(tenant, "read", "write", "admin"))
    showing, silent = set(), set()
    for route, method in [(each, method) for each in ROUTES for method in offered(each)]:
        with transaction.atomic():
            before = reads_of(tenant)
            if shows_text(rows.call(agent, method, route)):
                showing.add((method, route))
                silent |= {(method, route)} if reads_of(tenant) == before else set()
            transaction.set_rollback(True)
    assert len(showing) > 15, showing
    assert silent == OF_ACTS
