"""Back and forward: they restore what a page showed, addresses contain the state, and the layout does not shift."""

import re
from collections.abc import Iterator

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from memories.models import Tenant
from memory_platform.web.tables import TABLE_PAGE_SIZE
from tests.e2e.console import open_preview
from tests.integration.page_helpers import client_of, page, store_memories_for_pages
from tests.integration.session_scripts import compacted, make_long_session, under_review
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)

REST = 20
SHIFT_MAX = 0.1
# Chromium ignores layout shifts within half a second of a click. Here they count, because a swap follows a click.
WATCH = """
window.moved = [];
new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.moved.push([
  entry.value, entry.sources.map(({ node }) => `${node?.nodeName} ${node?.className || node?.id || ''}`).join(', '),
]))).observe({ type: 'layout-shift', buffered: true });
"""
# After the next frames have been drawn and measured.
MOVED = "() => new Promise((resolve) => setTimeout(() => resolve(window.moved.splice(0)), 150))"
# Only when the page is left, because a click first scrolls smoothly to its target.
NOTE_TOP = "window.addEventListener('pagehide', () => { sessionStorage.top = window.scrollY; })"
IS_STILL = "() => !document.querySelector('.htmx-request, [aria-busy]')"


@pytest.fixture
def watched(console: Page) -> Page:
    console.add_init_script(WATCH)
    return console


def assert_still_when_loaded(watched: Page, what: str, most: float = SHIFT_MAX) -> None:
    """Wait until the requested content is swapped in, and assert that it hardly moved the rest of the page."""
    watched.wait_for_function(IS_STILL)
    moved = watched.evaluate(MOVED)
    assert sum(value for value, _ in moved) < most, f"{what} moves {moved}"


def back_to(watched: Page, address: str) -> None:
    watched.go_back()
    watched.wait_for_url(address)
    watched.wait_for_function(IS_STILL)


def test_list_goes_back_through_its_filters_orders_and_pages_and_shows_changes(watched: Page, acme: Tenant) -> None:
    notes = [
        (f"Note {number}{' of the torque' * number}", "agent=notes", "fact") for number in range(TABLE_PAGE_SIZE + REST)
    ]
    store_memories_for_pages(acme, *notes[1:])
    store_memories_for_pages(acme, notes[0], now=timezone.now())  # the first row without an order by tokens
    rows = watched.locator("tbody a.memory-link")
    field = watched.locator("#id_partition")
    order = watched.locator("th", has=watched.locator("#sort-tokens"))
    seen: list[tuple[str, str]] = []

    def note(what: str) -> None:
        assert_still_when_loaded(watched, what)
        seen.append((watched.url, rows.first.inner_text()))

    watched.goto(page("memories", acme))
    note("opening")
    field.fill("agent=notes")
    watched.wait_for_url(re.compile("partition=agent"))
    note("a filter")
    watched.locator("#sort-tokens").click()
    watched.wait_for_url(re.compile("sort="))
    note("an order")
    watched.get_by_role("link", name="Next").click()
    watched.wait_for_url(re.compile("cursor="))
    note("the next page")
    assert len({first for _, first in seen[1:]}) == len(seen[1:])
    watched.reload()
    expect(rows).to_have_count(REST)
    expect(rows.first).to_have_text(seen[-1][1])
    expect(field).to_have_value("agent=notes")
    expect(order).to_have_attribute("aria-sort", "descending")
    for address, first in reversed(seen[:-1]):
        back_to(watched, address)
        expect(rows.first).to_have_text(first)
        expect(field).to_have_value("agent=notes" if "partition" in address else "")
        expect(watched.locator("th[aria-sort=descending] #sort-tokens")).to_have_count(int("sort" in address))
    watched.go_forward()
    watched.wait_for_url(seen[1][0])
    expect(field).to_have_value("agent=notes")
    watched.locator("tbody tr").first.get_by_role("button", name="Archive").click()
    expect(rows.first).not_to_have_text(seen[1][1])
    watched.wait_for_function(IS_STILL)
    first = rows.first.inner_text()
    rows.first.click()
    expect(watched.locator(".memory-text")).to_be_visible()
    watched.go_back()
    expect(rows.first).to_have_text(first)


def test_step_back_and_forward_while_a_page_loads_shows_the_page_of_the_address(watched: Page, acme: Tenant) -> None:
    field, pending_routes = watched.locator("#id_partition"), list[Route]()
    watched.goto(page("memories", acme))
    field.fill("agent=notes")
    watched.wait_for_url(re.compile("partition=agent"))
    watched.route("**/htmx.min.js*", lambda route: pending_routes.append(route), times=1)
    with watched.expect_request("**/htmx.min.js*"):
        watched.go_back(wait_until="commit")
    expect(field).to_have_value("")
    watched.go_forward(wait_until="commit")
    pending_routes[0].continue_()
    expect(field).to_have_value("agent=notes")


def test_search_is_restored_as_it_was_left_although_its_result_loads_later(watched: Page, acme: Tenant) -> None:
    store_memories_for_pages(
        acme, *[(f"The torque of bike {number} was measured.", "agent=notes", "fact") for number in range(REST)]
    )
    watched.goto(page("memories", acme) + "?q=torque")
    assert_still_when_loaded(watched, "the result of a search")
    row = watched.locator("tbody tr", has=watched.locator("input[name=id]")).last
    box, name = row.locator("input[name=id]"), row.locator("a.memory-link")
    box.check()
    text = name.inner_text()
    watched.evaluate(NOTE_TOP)
    name.click()
    expect(watched.locator(".memory-text")).to_be_visible()
    watched.go_back()
    expect(name).to_have_text(text)
    expect(box).to_be_checked()
    expect(watched.locator("[data-bulk-count]")).to_have_text("1 selected")
    watched.wait_for_function("() => window.scrollY === Number(sessionStorage.top)")
    assert watched.evaluate("window.scrollY") > REST
    signed_in = client_of(new_operator("otto", "operator", acme)).cookies["sessionid"].value
    watched.context.add_cookies([{"name": "sessionid", "value": signed_in, "url": watched.evaluate("location.origin")}])
    watched.reload()
    assert_still_when_loaded(watched, "the result of a search of another operator")
    expect(name).to_have_text(text)
    expect(box).not_to_be_checked()


def test_result_that_fails_can_be_requested_again(watched: Page, acme: Tenant) -> None:
    address = page("context-preview", acme) + "?query=torque"
    watched.route(
        f"**{address}", lambda route: route.abort() if "hx-request" in route.request.headers else route.fallback()
    )
    watched.goto(address)
    expect(watched.locator("#errors .alert")).to_contain_text("cannot be reached")
    expect(watched.get_by_text("being assembled")).to_be_hidden()
    watched.get_by_role("link", name="Show result").click()
    expect(watched.locator("#budget-title")).to_be_visible()


def test_result_that_fails_after_the_query_has_changed_can_be_requested_again(watched: Page, acme: Tenant) -> None:
    address = page("context-preview", acme)

    def answer(route: Route) -> None:
        """Leave the requests of htmx without a response."""
        if "hx-request" not in route.request.headers:
            route.fallback()

    watched.route(f"**{address}?*", answer)
    watched.route(f"**{address}/address/preview", lambda route: route.abort())
    watched.goto(address + "?query=torque")
    expect(watched.get_by_text("being assembled")).to_be_visible()
    watched.locator("#id_query").fill("Kiel")
    expect(watched.locator("#errors .alert")).to_contain_text("cannot be reached")
    expect(watched.get_by_text("being assembled")).to_be_hidden()
    expect(watched.get_by_role("link", name="Show result")).to_be_visible()


def test_workbench_goes_back_by_steps_and_restores_its_budget(watched: Page, acme: Tenant) -> None:
    title, number = watched.locator("#budget-title"), watched.locator("#id_max_tokens")
    slider, order = watched.locator("input[type=range]"), watched.locator("#id_ordering")

    def move(tokens: str) -> None:
        slider.fill(tokens)
        expect(title).to_contain_text(f"of {tokens} tokens used")
        assert_still_when_loaded(watched, "the slider")

    def expect_shown(tokens: str, ordering: str) -> None:
        expect(title).to_contain_text(f"of {tokens} tokens used")
        for field, value in ((number, tokens), (slider, tokens), (order, ordering)):
            expect(field).to_have_value(value)

    open_preview(watched, acme)
    assert_still_when_loaded(watched, "opening")
    move("100")
    order.select_option("top_down")
    watched.wait_for_url(re.compile("ordering=top_down"))
    move("300")
    watched.locator(".block a[href*='/memories/']").first.click()
    expect(watched.locator(".memory-text")).to_be_visible()
    watched.go_back()
    expect_shown("300", "top_down")
    watched.go_back()
    expect_shown("100", "")
    watched.go_forward()
    expect_shown("300", "top_down")
    watched.reload()
    expect_shown("300", "top_down")


def test_reviews_go_back_in_the_order_in_which_they_were_opened_and_show_changes(watched: Page, acme: Tenant) -> None:
    under_review(acme, summary_share=0.05, has_journal=False)
    for _ in range(2):
        compacted(make_long_session(acme, turns=40, window=4_000))
    heading, missing = watched.locator("h1"), watched.locator("#missing button[name=fact]")

    def shows(text: str) -> None:
        expect(heading).to_contain_text(text)
        watched.wait_for_load_state()

    watched.goto(page("reviews", acme))
    for key, text in (("j", "Review 1 of 2"), ("j", "Review 2 of 2"), ("k", "Review 1 of 2")):
        watched.keyboard.press(key)
        shows(text)
    for text in ("Review 2 of 2", "Review 1 of 2"):
        watched.go_back()
        shows(text)
    before = missing.count()
    missing.first.click()
    expect(missing).not_to_have_count(before)
    # The summary grows by the requested sentence, which also counts if the response is slow.
    assert_still_when_loaded(watched, "an appended fact", most=0.15)
    after = missing.count()
    watched.go_back()
    shows("Reviews")
    watched.go_forward()
    shows("Review 1 of 2")
    expect(missing).to_have_count(after)


def swaps(watched: Page, acme: Tenant) -> Iterator[str]:
    """Open other pages and make one swap on each; yield what was done."""
    watched.goto(page("tenant-overview", acme))
    yield "opening the overview"
    watched.locator(".ranges a", has_text="30").click()
    watched.wait_for_url(re.compile("range="))
    yield "another range"
    watched.goto(page("budgets", acme))
    yield "opening the budget"
    watched.locator("#id_default_tokens").fill("700")
    expect(watched.locator("#effect")).to_contain_text("700")
    yield "the effect of a budget"
    watched.goto(page("partitions", acme))
    yield "opening the partitions"
    watched.locator("details.tree-branch summary").first.click()
    yield "a branch"


def test_swaps_do_not_move_the_rest_of_the_page(watched: Page, acme: Tenant) -> None:
    for what in swaps(watched, acme):
        assert_still_when_loaded(watched, what)
