"""A scoring profile in Chromium: the sum of the weights while typing, a draft, and the publishing gate."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from context.services.profiles.scoring_profiles import ADR_0040
from memories.models import Tenant
from tests.e2e.console import on_a_phone
from tests.integration.evaluation_helpers import golden
from tests.integration.page_helpers import client_of, page, store_memories_for_pages
from tests.integration.scoring_helpers import ARGUMENT, BY_WORDS, REASON, finished_evaluation, new_version, published
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)


def test_weights_are_summed_up_as_one_types_and_saved_as_a_draft(console: Page, acme: Tenant, viewport: Any) -> None:
    published(acme, "own")
    console.goto(page("scoring-profiles", acme))
    expect(console.get_by_role("link", name="conversation-recall")).to_be_visible()
    console.get_by_role("link", name="own", exact=True).click()
    console.wait_for_url(f"**{page('scoring-profile', acme, 'own')}*")  # the page has loaded, with its scripts
    console.fill("#id_weight_relevance", "0.5")
    expect(console.locator("#sum")).to_contain_text("0.2 missing")
    console.fill("#id_weight_lexical_overlap", "0.2")
    expect(console.locator("#sum")).to_contain_text("complete")
    console.get_by_role("button", name="Save as draft").click()
    expect(console.locator(".flash", has_text="Version 2 is a draft.")).to_be_visible()
    expect(console.get_by_role("heading", level=1)).to_contain_text("version 2")
    assert console.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@on_a_phone
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


def test_tabs_take_a_selection_that_replaced_only_the_result(console: Page, acme: Tenant) -> None:
    new_version(acme, "own", 1)
    console.goto(page("scoring-compare", acme) + "?left=adr-0040+1&right=recall+2")
    console.get_by_label("Right").select_option("own 1")
    tabs = console.get_by_role("navigation", name="Compare")
    contexts = tabs.get_by_role("link", name="Contexts")
    expect(contexts).to_have_attribute("href", re.compile("right=own%401"))
    contexts.click()
    expect(console.get_by_label("Right scoring profile")).to_have_value("own@1")
    tabs.get_by_role("link", name="Scoring profiles").click()
    expect(console.get_by_label("Right")).to_have_value("own 1")


@on_a_phone
def test_profile_is_compared_published_through_the_gate_and_rolled_back(
    console: Page, acme: Tenant, live_server: Any, viewport: Any
) -> None:
    session = client_of(new_operator("ada", "admin", acme)).cookies["sessionid"].value
    console.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    published(acme, "own")
    golden(
        acme,
        "What does ERR_4012 mean?",
        *store_memories_for_pages(acme, ("ERR_4012 is harmless.", "agent=service", "fact")),
    )
    numbers = {**ADR_0040.to_numbers(), "weights": BY_WORDS, "pool_size": 40}
    new_version(acme, "own", 2, numbers=numbers, based_on="own 1")
    console.goto(page("scoring-profile", acme, "own") + "?version=2")
    console.get_by_role("link", name="Compare versions").click()
    console.get_by_role("link", name="Compare on a query").click()
    console.fill("#id_query", "What does ERR_4012 mean?")
    console.get_by_role("button", name="Compare", exact=True).click()
    expect(console.get_by_role("heading", name="7 blocks did not move")).to_be_visible()
    assert console.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    console.goto(page("scoring-profile", acme, "own") + "?version=2")
    console.fill("#id_pool_size", "60")
    expect(console.locator("#saved")).to_contain_text("evidence included")
    console.goto(page("scoring-publish", acme, "own", 2))
    expect(console.locator("main")).to_contain_text("Run an evaluation with a button above")
    expect(console.get_by_role("button", name="Publish version 2")).to_have_count(0)
    finished_evaluation(acme, numbers, shares=[0.5, 0.3] * 20)
    console.reload()
    console.get_by_role("button", name="Publish version 2").click()
    expect(console.get_by_role("heading", name="Not published")).to_be_visible()
    expect(console.locator("#reason-errors")).to_contain_text(
        "It is worse than own version 1: evidence at 1,000 tokens −10.0"
    )
    expect(console.locator("#decision-errors")).to_contain_text("20 to 4,000 characters")
    assert console.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for name, text in {**ARGUMENT, "reason": REASON}.items():
        console.fill(f"#id_{name}", text)
    console.get_by_role("button", name="Publish version 2").click()
    expect(console.locator(".flash", has_text="own version 2 is published")).to_be_visible()
    expect(console.locator("#gate")).to_contain_text(REASON)
    console.get_by_role("link", name="Roll back…").click()
    console.get_by_role("link", name="Roll back to version 1").click()
    dialog = console.get_by_role("dialog")
    expect(dialog).to_contain_text("Roll back to own version 1?")
    dialog.get_by_role("button", name="Roll back").click()
    expect(console.locator(".flash", has_text="own version 1 restored.")).to_be_visible()
