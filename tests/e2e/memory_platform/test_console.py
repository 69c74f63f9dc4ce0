"""The console in Chromium, wide and narrow: the main flows, and how it handles failures."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from memories.models import Tenant
from tests.e2e.console import NARROW, QUESTION, WIDE, on_a_phone, open_preview, sign_in_to_console, used
from tests.integration.page_helpers import as_stored, make_bakery_memories, make_snapshot, page

pytestmark = pytest.mark.django_db(transaction=True)


def test_preview_follows_the_slider(console: Page, acme: Tenant) -> None:
    console.context.clear_cookies()
    console.goto(page("context-preview", acme))
    sign_in_to_console(console)
    assert console.url.endswith(page("context-preview", acme))
    console.fill("#id_query", QUESTION)
    expect(console.locator(".block").first).to_be_visible()
    before, blocks = used(console), console.locator(".block").count()
    console.locator("input[type=range]").fill("50")
    expect(console.locator("#budget-title")).to_contain_text("of 50 tokens used")
    assert used(console) != before
    assert console.locator(".block").count() < blocks
    expect(console.locator("#excluded-title")).to_be_visible()
    assert "max_tokens=50" in console.url
    expect(console.locator("#live")).to_contain_text("of 50 tokens used")


def test_slider_moves_by_keyboard_and_the_address_reproduces_it(console: Page, acme: Tenant) -> None:
    open_preview(console, acme, 400)
    console.locator("input[type=range]").focus()
    console.keyboard.press("ArrowLeft")
    expect(console.locator("#budget-title")).to_contain_text("of 350 tokens used")
    seen = used(console)
    console.goto(console.url)
    assert used(console) == seen
    assert console.input_value("#id_max_tokens") == "350"


def test_back_button_returns_to_the_previous_query(console: Page, acme: Tenant) -> None:
    open_preview(console, acme)
    console.fill("#id_query", "When does Kiel close?")
    console.wait_for_url(re.compile("Kiel"))
    console.locator("input[type=range]").fill("100")
    console.wait_for_url(re.compile("max_tokens=100"))
    console.go_back()
    expect(console.locator("#id_query")).to_have_value(QUESTION)
    expect(console.locator("#budget-title")).to_contain_text("of 400 tokens used")


def test_components_of_a_score_can_be_read_as_a_table(console: Page, acme: Tenant) -> None:
    open_preview(console, acme)
    row = console.locator(".block", has_text="wet").first
    row.get_by_text("Score components").click()
    adds = [float(cell) for cell in row.locator("tbody td:last-child").all_inner_texts()]
    assert sum(adds) == pytest.approx(float(row.locator("tfoot td").inner_text()), abs=0.002)


@on_a_phone
def test_edit_of_a_memory_and_its_undo(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    console.get_by_role("link", name="Frau Brodersen prefers e-mail.").click()
    console.locator("#edit summary").click()
    console.fill("#id_kind", "Not a word")
    console.get_by_role("button", name="Save as version 2").click()
    expect(console.locator(".errorlist")).to_contain_text("Enter one lower-case word")
    console.fill("#id_kind", "fact")
    console.fill("#id_content", "Frau Brodersen prefers letters.")
    console.get_by_role("button", name="Save as version 2").click()
    expect(console.locator(".flash")).to_contain_text("Saved as version 2.")
    expect(console.locator(".memory-text")).to_have_text("Frau Brodersen prefers letters.")
    expect(console.locator(".history").first).to_contain_text("Frau Brodersen prefers e-mail.")
    console.locator(".flash").get_by_role("button", name="Undo").click()
    expect(console.locator(".memory-text")).to_have_text("Frau Brodersen prefers e-mail.")


def test_archived_memory_leaves_the_context_and_comes_back(console: Page, acme: Tenant) -> None:
    open_preview(console, acme)
    row = console.locator(".block", has_text="wet")
    row.get_by_role("link", name="Open memory").click()
    console.get_by_role("button", name="Archive").click()
    expect(console.locator(".flash")).to_contain_text("Archived")
    undo = console.locator(".flash").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    undo.click()
    expect(console.locator(".flash", has_text="Restored")).to_be_visible()
    open_preview(console, acme)
    expect(console.locator(".block", has_text="wet")).to_be_visible()


@on_a_phone
def test_tuned_budget_shows_its_effect_is_saved_and_rolled_back(console: Page, acme: Tenant) -> None:
    console.goto(page("budgets", acme))
    console.fill("#id_query", QUESTION)
    console.locator("input[type=range]").fill("50")
    expect(console.locator("#effect .bar-title").last).to_contain_text("removed")
    console.get_by_role("button", name="Save as version 1").click()
    expect(console.locator(".flash")).to_contain_text("Version 1 is active.")
    console.goto(f"{page('context-preview', acme)}?query={QUESTION}")
    expect(console.locator("#budget-title")).to_contain_text("of 50 tokens used")
    console.goto(page("budgets", acme))
    expect(console.locator("#versions-title")).to_be_visible()


def test_expired_sign_in_during_a_swap_leads_through_sign_in_back_to_the_same_view(console: Page, acme: Tenant) -> None:
    open_preview(console, acme)
    console.context.clear_cookies(name="sessionid")
    console.locator("input[type=range]").fill("200")
    console.wait_for_url(re.compile("/sign-in"))
    sign_in_to_console(console)
    expect(console.locator("#id_query")).to_have_value(QUESTION)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (0, "cannot be reached"),
        (403, "Not allowed"),
        (404, "No longer available"),
        (413, "Too long"),
        (500, "Server error"),
    ],
)
def test_failed_request_shows_an_error_and_keeps_the_content(
    status: int, message: str, console: Page, acme: Tenant
) -> None:
    open_preview(console, acme)
    before = used(console)

    def fail(route: Route) -> None:
        if status:
            route.fulfill(status=status, body="no")
        else:
            route.abort()

    console.route("**/context/address/preview", fail)
    console.locator("input[type=range]").fill("200")
    expect(console.locator("#errors")).to_contain_text(message)
    assert used(console) == before
    console.unroute("**/context/address/preview")
    console.locator("input[type=range]").fill("250")
    expect(console.locator("#budget-title")).to_contain_text("of 250 tokens used")
    expect(console.locator("#errors")).to_be_empty()


def test_invalid_budget_is_explained(console: Page, acme: Tenant) -> None:
    open_preview(console, acme)
    console.fill("#id_max_tokens", "0")
    expect(console.locator("#result")).to_contain_text("No context assembled")


def test_chosen_theme_is_kept(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    menu = console.locator("button[popovertarget=nav]").first
    if menu.is_visible():
        menu.click()
    console.get_by_role("button", name="Dark theme").click()
    expect(console.locator("html")).to_have_attribute("data-bs-theme", "dark")
    console.goto(page("context-preview", acme))
    expect(console.locator("html")).to_have_attribute("data-bs-theme", "dark")


def test_page_with_a_long_name_or_a_small_budget_is_no_wider_than_the_window(console: Page, acme: Tenant) -> None:
    """Check addresses that `test_accessible.py` does not open."""
    before = make_snapshot(acme, "before " + "the long import " * 5, ago=timedelta(days=2))
    after = make_snapshot(acme, "after")
    for address in (
        page("memories", acme) + "?q=torque",
        page("context-preview", acme) + f"?query={QUESTION}&max_tokens=80",
        page("context-preview", acme) + f"?query={QUESTION}&packer=elastic&max_tokens=90",
        page("snapshots", acme),
        page("snapshot", acme, before.pk) + f"?with={after.pk}",
        page("snapshot-delete", acme, before.pk),
    ):
        console.set_viewport_size(WIDE)
        console.goto(address)
        console.wait_for_function("() => !document.querySelector('.result-loader')")
        for size in (WIDE, NARROW):
            console.set_viewport_size(size)
            assert console.evaluate("document.documentElement.scrollWidth") <= size["width"], address


def test_sentence_of_a_result_that_loads_is_not_dimmed(console: Page, acme: Tenant) -> None:
    held: list[Route] = []
    console.route("**/context?*", lambda route: held.append(route) if _is_of_htmx(route) else route.continue_())
    console.goto(page("context-preview", acme) + f"?query={QUESTION}")
    busy = console.locator("[aria-busy=true]", has=console.locator(".result-loader-text"))
    expect(busy).to_be_visible()
    finished = (
        "(node) => { node.getAnimations().forEach((each) => each.finish()); return getComputedStyle(node).opacity; }"
    )
    assert busy.evaluate(finished) == "1", "grey text on a dimmed card has too little contrast"
    held[0].continue_()
    expect(busy).to_have_count(0)


def _is_of_htmx(route: Route) -> bool:
    return "hx-request" in route.request.headers


def test_keyboard_reaches_the_content_first(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    console.keyboard.press("Tab")
    expect(console.locator(":focus")).to_have_text("Skip to content")
    console.keyboard.press("Enter")
    expect(console.locator("main:focus")).to_be_visible()


def test_pages_work_without_javascript(browser: Browser, live_server: Any, olga: User, acme: Tenant) -> None:
    context: BrowserContext = browser.new_context(java_script_enabled=False, base_url=live_server.url)
    plain = context.new_page()
    plain.goto("/")
    sign_in_to_console(plain)
    plain.goto(page("context-preview", acme))
    plain.fill("#id_query", QUESTION)
    plain.fill("#id_max_tokens", "60")
    plain.get_by_role("button", name="Preview").click()
    assert "of 60 tokens used" in used(plain)
    memory = make_bakery_memories(acme)[0]
    plain.goto(page("memory", acme, memory.pk))
    plain.get_by_role("button", name="Pin").click()
    assert "Pinned" in plain.locator(".flash").inner_text()
    assert as_stored(memory).pinned
    plain.locator(".flash").get_by_role("button", name="Undo").click()
    assert not as_stored(memory).pinned
    plain.goto(page("budgets", acme))
    plain.fill("#id_default_tokens", "70")
    plain.get_by_role("button", name="Preview effect").click()
    plain.get_by_role("button", name="Save as version 1").click()
    assert "Version 1 is active." in plain.locator(".flash").inner_text()
    plain.get_by_role("button", name="Dark theme").click()
    assert plain.locator("html").get_attribute("data-bs-theme") == "dark"
    context.close()
