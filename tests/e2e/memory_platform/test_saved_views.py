"""The filters of a list are saved, opened, renamed and deleted in a browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import on_a_phone
from tests.integration.page_helpers import page

pytestmark = pytest.mark.django_db(transaction=True)


@on_a_phone
def test_filters_set_by_htmx_are_saved_and_opened_again(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    console.get_by_label("Kind", exact=True).select_option("fact")
    console.locator("summary", has_text="Save view").click()
    console.get_by_label("View name").fill("All facts")
    assert console.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    console.get_by_role("button", name="Save", exact=True).click()
    expect(console.locator(".flash")).to_contain_text("View All facts saved.")
    console.goto(page("memories", acme))
    console.get_by_role("link", name="All facts").click()
    expect(console).to_have_url(re.compile(r"\?kind=fact"))
    expect(console.locator("a.memory-link")).to_have_count(3)
    console.get_by_title("Change view").click()
    console.get_by_label("Name", exact=True).fill("Facts")
    assert console.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    console.get_by_role("button", name="Save", exact=True).click()
    expect(console.get_by_role("link", name="Facts", exact=True)).to_have_attribute("aria-current", "page")
    console.get_by_title("Change view").click()
    console.get_by_role("button", name="Delete view").click()
    expect(console.locator(".flash")).to_contain_text("View Facts deleted.")
    expect(console.locator(".chip")).to_have_count(0)
    console.locator(".flash").get_by_role("button", name="Undo").click()
    expect(console.locator(".chip")).to_have_text("Facts")
