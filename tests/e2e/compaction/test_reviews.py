"""Reviews in Chromium: keyboard shortcuts, links between sentences and messages, and two reviewers of one proposal."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from compaction.models import Compaction
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.e2e.conftest import EXPECTED
from tests.e2e.console import NARROW, WAIT_MAX_MS, WIDE, on_a_phone
from tests.integration.page_helpers import client_of, page
from tests.integration.session_scripts import as_decided, compacted, make_long_session, messages_of, under_review
from tests.users import new_operator, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)
# Every 8 seconds, the page reports that it is being viewed, and gets the other viewers.
PRESENCE, LOOKS_AGAIN_MS = re.compile("/presence"), 8_000


@pytest.fixture
def acme(transactional_db: None) -> Tenant:
    tenant = new_shared_tenant("Acme")
    under_review(tenant, summary_share=0.05, has_journal=False)
    return tenant


@pytest.fixture
def proposal(acme: Tenant) -> Compaction:
    return compacted(make_long_session(acme, turns=40, window=4_000))


@pytest.fixture
def ida(browser: Browser, live_server: Any, acme: Tenant) -> Iterator[Page]:
    """The page of a second reviewer, in a narrow window."""
    context = browser.new_context(viewport=NARROW, base_url=live_server.url)
    opened, complaints = context.new_page(), []
    opened.set_default_timeout(WAIT_MAX_MS)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    user: User = new_operator("ida", "operator", acme)
    session = client_of(user).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    yield opened
    context.close()
    assert [text for text in complaints if not EXPECTED.search(text)] == []


def test_review_by_keys_edited_appended_approved_and_rolled_back(
    console: Page, acme: Tenant, proposal: Compaction
) -> None:
    before = [(row.pk, row.state, row.shown_tokens) for row in messages_of(proposal.session)]
    console.goto(page("reviews", acme))
    console.keyboard.press("j")
    expect(console.locator("h1")).to_contain_text("Review 1 of 1")
    console.wait_for_load_state()
    console.keyboard.press("e")
    expect(console.locator("#id_text")).to_be_focused()
    assert console.locator("#id_text").evaluate("field => field.value.slice(0, field.selectionStart)").endswith("\n")
    console.locator("#id_text").fill("Ida Brodersen asked about the frame FR-2210.")
    expect(console.locator("#trial")).to_contain_text("in the context")
    console.keyboard.press("Escape")
    expect(console.locator("#edit > summary")).to_be_focused()
    console.keyboard.press("?")
    expect(console.locator("#keys")).to_be_visible()
    console.keyboard.press("Escape")
    console.locator("#id_text").press("End")
    console.keyboard.type(" a r u j k m ?")
    expect(console.locator("#keys")).not_to_be_visible()
    console.locator("#id_text").fill("Ida Brodersen asked about the frame FR-2210.")
    console.get_by_role("button", name="Save text").click()
    expect(console.locator(".statement")).to_have_count(1)
    expect(console.locator(".flash").first).to_contain_text("Saved")
    console.keyboard.press("m")
    expect(console.locator("#missing button[name=fact]").first).to_be_focused()
    expect(console.locator("#originals mark.fact-missing.is-linked").first).to_be_in_viewport()
    console.keyboard.press("Enter")
    expect(console.locator(".statement")).to_have_count(2)
    console.keyboard.press("u")
    expect(console.locator(".statement")).to_have_count(1)
    console.keyboard.press("Control+a")
    console.keyboard.press("r")
    expect(console.locator("#id_reason")).to_be_focused()
    console.keyboard.press("Escape")
    console.keyboard.press("a")
    expect(console.locator(".flash").last).to_contain_text("Approved")
    console.wait_for_load_state()
    assert as_decided(proposal).state == "applied"
    console.keyboard.press("u")
    expect(console.locator(".flash").last).to_contain_text("waits for review again")
    assert as_decided(proposal).state == "proposed"
    assert [(row.pk, row.state, row.shown_tokens) for row in messages_of(proposal.session)] == before


def test_facts_are_struck_by_keys_and_approve_saves_the_open_edit(console: Page, acme: Tenant) -> None:
    under_review(acme, has_journal=True)
    proposal = compacted(make_long_session(acme, turns=40, window=4_000))
    console.goto(page("compaction", acme, proposal.pk))
    console.keyboard.press("x")
    expect(console.locator("#j-1")).to_be_focused()
    expect(console.locator(".journal-struck")).to_have_count(0)
    console.keyboard.press("x")
    expect(console.locator("#j-1")).to_have_class(re.compile("journal-struck"))
    expect(console.locator("#j-2")).to_be_focused()
    console.keyboard.press("y")
    expect(console.locator("#j-3")).to_be_focused()
    console.keyboard.press("e")
    console.locator("#id_text").fill("Ida Brodersen asked about the frame FR-2210.")
    console.get_by_role("button", name="Approve", exact=False).first.click()
    expect(console.locator(".flash").last).to_contain_text("1 struck")
    decided = as_decided(proposal)
    assert (decided.state, decided.summary_text) == ("applied", "Ida Brodersen asked about the frame FR-2210.")


def test_approval_waits_for_facts_that_are_being_struck(console: Page, acme: Tenant) -> None:
    under_review(acme, has_journal=True)
    proposal = compacted(make_long_session(acme, turns=40, window=4_000))
    console.goto(page("compaction", acme, proposal.pk))
    console.wait_for_load_state()
    for key in "xxxa":
        console.keyboard.press(key)
    expect(console.locator(".flash").last).to_contain_text("2 struck")
    assert as_decided(proposal).state == "applied"


def test_keys_are_listed_and_can_be_switched_off(console: Page, acme: Tenant, proposal: Compaction) -> None:
    console.goto(page("compaction", acme, proposal.pk))
    console.keyboard.press("?")
    expect(console.locator("#keys")).to_be_visible()
    console.keyboard.press("a")
    console.get_by_role("button", name="Disable shortcuts").click()
    console.wait_for_load_state()
    expect(console.locator("body[data-keys=off]")).to_have_count(1)
    console.keyboard.press("a")
    console.keyboard.press("/")
    expect(console.locator("#search-q")).not_to_be_focused()
    assert as_decided(proposal).state == "proposed"
    console.get_by_role("button", name="Shortcuts").click()
    console.get_by_role("button", name="Enable shortcuts").click()
    expect(console.locator("body[data-keys=off]")).to_have_count(0)
    console.wait_for_load_state()
    console.keyboard.press("?")
    expect(console.locator("#keys")).to_be_visible()


def test_sentences_and_messages_show_each_other(console: Page, acme: Tenant) -> None:
    under_review(acme, summary_share=0.3)
    proposal = compacted(make_long_session(acme, turns=40, window=4_000))
    console.goto(page("compaction", acme, proposal.pk))
    last = console.locator(".statement").last
    source = last.get_attribute("data-sources").split(" ")[-1]  # type: ignore[union-attr]
    message = console.locator(f"#m-{source}")
    head = console.locator(".review-bar").bounding_box()
    last.hover()
    expect(message).to_have_class(re.compile("is-linked"))
    expect(message).to_be_in_viewport()
    assert console.locator(".review-bar").bounding_box() == head, "the head has moved"
    number = last.get_attribute("data-statement")
    console.locator("#summary-pane").evaluate("pane => { pane.scrollTop = 0; }")
    message.locator(f'a[href="#s-{number}"]').focus()
    expect(last).to_have_class(re.compile("is-linked"))
    expect(last).to_be_in_viewport()
    for pane in ("#summary-pane", "#originals-pane"):
        assert console.locator(pane).evaluate("pane => getComputedStyle(pane).overflowY") == "auto"
    assert console.evaluate("document.documentElement.scrollHeight") <= WIDE["height"]


def test_two_reviewers_see_each_other_and_typed_text_stays(
    console: Page, ida: Page, acme: Tenant, proposal: Compaction
) -> None:
    with console.expect_response(PRESENCE):
        console.goto(page("compaction", acme, proposal.pk))
    ida.clock.install()
    ida.goto(page("compaction", acme, proposal.pk))
    expect(ida.locator("#presence")).to_contain_text("olga is also viewing this page")
    assert ida.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    ida.locator("#edit summary").click()
    ida.locator("#id_text").fill("Jonas Petersen works on it.")
    console.keyboard.press("r")
    console.keyboard.type("Half of it is lost.")
    console.keyboard.press("Enter")
    expect(console.locator(".flash")).to_contain_text("Rejected")
    ida.clock.fast_forward(LOOKS_AGAIN_MS)
    expect(ida.locator("#presence")).to_contain_text("olga rejected it")
    ida.get_by_role("button", name="Save text").click()
    expect(ida.locator(".review-refusal")).to_contain_text("olga rejected it")
    expect(ida.locator("#unsaved-text")).to_have_value("Jonas Petersen works on it.")
    assert as_decided(proposal).summary_text == proposal.summary_text


@on_a_phone
def test_sentences_are_removed_swapped_and_returned_by_keys(console: Page, acme: Tenant) -> None:
    under_review(acme, summary_share=0.2)
    proposal = compacted(make_long_session(acme, turns=40, window=4_000))
    count = len(proposal.statements)
    console.goto(page("compaction", acme, proposal.pk))
    assert console.evaluate("document.documentElement.scrollWidth") <= console.evaluate("window.innerWidth")
    expect(console.locator(".statement-kind").first).to_be_visible()
    sources = console.locator("#s-1").get_attribute("data-sources") or ""
    console.get_by_role("button", name="Remove sentence 1", exact=True).focus()
    console.keyboard.press("Enter")
    expect(console.locator(".statement")).to_have_count(count - 1)
    expect(console.locator("#c-1")).to_have_attribute("data-sources", sources)
    expect(console.locator("#remove-1")).to_be_focused()
    expect(console.locator(".flash").last).to_contain_text("Removed")
    console.keyboard.press("c")
    expect(console.locator("#swap-1")).to_be_focused()
    console.keyboard.press("Enter")
    expect(console.locator(".flash").last).to_contain_text("Added")
    expect(console.locator(".statement")).to_have_count(count)
    console.locator(".flash").last.get_by_role("button", name="Undo").click()
    expect(console.locator(".statement")).to_have_count(count - 1)
    assert as_decided(proposal).edit_version == 3
    with tenant_scope(acme.pk):
        full = as_decided(proposal)
        full.summary_budget_tokens = full.summary_token_count
        full.save()
    console.reload()
    large = console.locator(".candidate[data-swap-for]").first
    number = large.get_attribute("data-swap-for")
    large.get_by_role("button").focus()
    expect(console.locator(f"#s-{number}")).to_have_class(re.compile("is-linked"))
    large.get_by_role("button", name=f"Swap for {number}").click()
    expect(console.locator(".flash").last).to_contain_text("Swapped")
    expect(console.locator(".statement")).to_have_count(count - 1)


def test_swap_waits_while_the_text_is_edited(console: Page, acme: Tenant, proposal: Compaction) -> None:
    console.goto(page("compaction", acme, proposal.pk))
    console.keyboard.press("e")
    console.locator("#id_text").fill("Jonas Petersen works on it.")
    console.locator("#remove-1").click()
    expect(console.locator("#summary [data-edit-first]")).to_be_visible()
    expect(console.locator("#id_text")).to_have_value("Jonas Petersen works on it.")
    assert as_decided(proposal).edit_version == 0
