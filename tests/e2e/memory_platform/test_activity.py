"""The Activity page and the search modes in Chromium: undo when the message is gone, nothing selected by accident."""

import re

import pytest
from playwright.sync_api import Page, expect

from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import NARROW
from tests.integration.page_helpers import as_stored, make_bakery_memories, page
from tests.users import new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(transactional_db: None) -> Tenant:
    return new_shared_tenant("Acme")


@pytest.fixture
def stored(acme: Tenant) -> list[Memory]:
    return make_bakery_memories(acme)


def test_bulk_action_on_search_hits_is_undone_from_the_activity_page(
    console: Page, acme: Tenant, stored: list[Memory]
) -> None:
    console.goto(page("memories", acme) + "?q=ERR_4012&mode=lexical")
    expect(console.locator("#rows")).to_contain_text("2 of 2 match by words")
    console.goto(page("memories", acme) + "?q=zeppelin")
    expect(console.locator(".cutoff-row")).to_contain_text("Below the cut-off")
    expect(console.locator('tbody input[name="id"]')).to_have_count(0)
    console.goto(page("memories", acme) + "?q=ERR_4012")
    console.locator("[data-bulk-scope]").select_option("page")
    console.get_by_role("button", name="Archive…").click()
    expect(console.locator(".tiles")).to_contain_text("Match by words")
    console.get_by_role("button", name="Archive ").click()
    expect(console.locator(".flash").last).to_contain_text("archived")
    with tenant_scope(acme.pk):
        assert Memory.objects.for_tenant(acme.pk).archived().count() >= 2
    console.goto(page("activity", acme))
    row = console.locator("tbody tr").first
    expect(row).to_contain_text("Archived memories")
    row.get_by_role("button", name="Undo").click()
    expect(console.locator(".flash").last).to_contain_text("Undone")
    expect(console.locator("tbody tr", has_text=re.compile("^\\s*Archived memories"))).to_contain_text("undone")
    assert all(as_stored(memory).archived_at is None for memory in stored)
    console.set_viewport_size(NARROW)  # type: ignore[arg-type]
    assert console.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
