"""Tables with order and cursor in the URL: sorting, paging in both directions, and invalid URLs."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memories.models import Tenant
from memories.tenancy.audit import record_audit
from memories.tenancy.scopes import tenant_scope
from tests.factories import TESTER
from tests.integration.page_helpers import client_of, page, text_of
from tests.users import new_operator, new_shared_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return new_shared_tenant("Acme")


@pytest.fixture
def client(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


def noted(tenant: Tenant, count: int) -> None:
    with tenant_scope(tenant.pk):
        for number in range(count):
            record_audit(
                tenant_id=tenant.pk,
                by=TESTER,
                verb="save_memo",
                target_kind="note",
                target_ids=[f"n-{number}"],
                now=timezone.now(),
            )


def shown(response: Any) -> list[str]:
    return [target_id for row in response.context["table"].rows for target_id in row.target_ids]


def head_of(text: str) -> tuple[str, str]:
    """Return the order that the head of the table shows, and where a click on it leads."""
    head = re.search(
        r'<th scope="col"[^>]*?(?: aria-sort="([a-z]+)")?><a class="sort" id="sort-when" href="([^"]+)"', text
    )
    assert head is not None
    return head[1], unescape(head[2])


def test_head_of_a_column_turns_the_order_round_and_keeps_the_filters(client: Client, tenant: Tenant) -> None:
    noted(tenant, 3)
    newest = client.get(page("audit-log", tenant) + "?action=memo")
    direction, address = head_of(text_of(newest))
    assert (direction, address) == ("descending", page("audit-log", tenant) + "?action=memo&sort=when")
    oldest = client.get(address)
    assert shown(oldest) == shown(newest)[::-1] == ["n-0", "n-1", "n-2"]
    assert head_of(text_of(oldest)) == ("ascending", page("audit-log", tenant) + "?action=memo")
    assert '<input type="hidden" name="sort" value="when" form="filters">' in text_of(oldest)
    assert 'name="sort"' not in text_of(newest)


def test_pages_lead_there_and_back_in_either_order(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 2)
    noted(tenant, 5)
    for sort in ("", "when"):
        address = page("audit-log", tenant)
        pages, query = [], f"action=memo&sort={sort}"
        while query is not None:
            answer = client.get(f"{address}?{query}")
            pages.append(shown(answer))
            query = answer.context["table"].next_query
        assert [len(ids) for ids in pages] == [2, 2, 1]
        assert sorted(each for ids in pages for each in ids) == [f"n-{number}" for number in range(5)]
        back = [pages[-1]]
        while (query := answer.context["table"].previous_query) is not None:
            answer = client.get(f"{address}?{query}")
            back.insert(0, shown(answer))
            assert answer.context["table"].next_query is not None
        assert back == pages


@pytest.mark.parametrize("query", ["sort=x", "sort=--when", "sort=-", "cursor=x", "sort=when&cursor=eyJvIjoieCJ9"])
def test_order_or_place_that_is_none_of_the_table_begins_at_the_start(
    query: str, client: Client, tenant: Tenant
) -> None:
    noted(tenant, 2)
    answer = client.get(f"{page('audit-log', tenant)}?action=memo&{query}")
    assert answer.status_code == 200
    assert sorted(shown(answer)) == ["n-0", "n-1"]


def test_place_of_one_order_is_not_taken_for_one_of_another(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 1)
    noted(tenant, 2)
    following = client.get(page("audit-log", tenant) + "?action=memo").context["table"].next_query
    assert shown(client.get(f"{page('audit-log', tenant)}?{following}&sort=when")) == ["n-0"]
