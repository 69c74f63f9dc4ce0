"""The first steps on the overview are checked off by the data, and each operator dismisses their own list."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from context.evaluation.actions.golden_questions import collect_golden_question
from context.models import Receipt
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.console.first_steps import first_steps
from tests.factories import TESTER, make_key, make_memory
from tests.integration.context_helpers import assemble_test_context
from tests.integration.page_helpers import client_of, page, text_of, undo_of
from tests.users import new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def done(client: Client, tenant: Tenant) -> list[str] | None:
    checklist = client.get(page("tenant-overview", tenant)).context["checklist"]
    return checklist and [step.name for step in checklist.steps if step.is_done]


def test_each_step_is_checked_off_by_the_data_and_the_list_ends_with_the_receipt(
    client: Client, tenant: Tenant
) -> None:
    assert done(client, tenant) == []
    make_key(tenant)
    assert done(client, tenant) == ["key"]
    make_memory(tenant)
    assert done(client, tenant) == ["key", "memory"]
    assemble_test_context(tenant)
    assert done(client, tenant) == ["key", "memory", "context"]
    opened = client.post(page("first-receipt", tenant))
    with tenant_scope(tenant.pk):
        assert opened.headers["Location"] == page("receipt", tenant, Receipt.objects.for_tenant(tenant.pk).get().pk)
    assert done(client, tenant) is None


def test_golden_question_shows_that_receipts_are_known(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant)
    with tenant_scope(tenant.pk):
        collect_golden_question(tenant_id=tenant.pk, text="Who?", memory_ids=[memory.pk], by=TESTER, now=timezone.now())
    assert done(client, tenant) == ["memory", "context", "receipt", "golden"]


def test_requests_are_shown_with_the_address_of_the_server(client: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("tenant-overview", tenant)))
    assert "curl http://testserver/api/v1/memories" in text
    assert "curl http://testserver/api/v1/context " in text
    assert "Bearer YOUR_KEY" in text
    assert "Ask an admin to create one." in text


def test_one_operator_dismisses_them_and_undoes_it(client: Client, tenant: Tenant) -> None:
    other = client_of(new_operator("vera", "viewer", tenant))
    dismissed = client.post(page("first-steps-dismiss", tenant), follow=True)
    assert dismissed.context["checklist"] is None
    assert done(other, tenant) == []
    client.post(undo_of(dismissed))
    assert done(client, tenant) == []


def test_receipt_without_a_context_is_not_found(client: Client, tenant: Tenant) -> None:
    assert client.post(page("first-receipt", tenant)).status_code == 404


def test_steps_are_read_by_one_query(operator: User, tenant: Tenant) -> None:
    with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
        first_steps(tenant.pk, operator.pk)
    assert len(queries) == 1


def test_rows_of_another_tenant_do_not_count(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    make_key(other_tenant)
    make_memory(other_tenant)
    assert done(client, tenant) == []
