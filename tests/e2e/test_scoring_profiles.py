"""A scoring profile in a real Chromium: weights that are summed up as one types, a draft, and the gate."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import at_both_widths
from tests.integration.pages import page
from tests.integration.scoring import new_version, published

pytestmark = pytest.mark.django_db(transaction=True)


@at_both_widths
def test_weights_are_summed_up_as_one_types_and_saved_as_a_draft(console: Page, acme: Tenant, viewport: Any) -> None:
    published(acme, "own")
    console.goto(page("scoring-profiles", acme))
    expect(console.get_by_role("link", name="conversation-recall")).to_be_visible()
    console.get_by_role("link", name="own", exact=True).click()
    console.fill("#id_weight_relevance", "0.5")
    expect(console.locator("#sum")).to_contain_text("0.2 missing")
    console.fill("#id_weight_words", "0.2")
    expect(console.locator("#sum")).to_contain_text("whole")
    console.get_by_role("button", name="Save as a new draft").click()
    expect(console.locator(".flash", has_text="Version 2 is a draft.")).to_be_visible()
    expect(console.get_by_role("heading", level=1)).to_contain_text("version 2")
    assert console.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@at_both_widths
def test_list_comparison_and_assignments_fit_the_screen(console: Page, acme: Tenant, viewport: Any) -> None:
    published(acme, "own")
    new_version(acme, "own", 2)
    addresses = [page(name, acme) for name in ("scoring-profiles", "scoring-assignments")]
    addresses.append(page("scoring-compare", acme) + "?left=adr-0040+1&right=own+2")
    addresses.append(page("scoring-profile", acme, "conversation-recall"))
    addresses.append(page("scoring-profile", acme, "own") + "?version=2")
    for address in addresses:
        console.goto(address)
        assert console.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), address
