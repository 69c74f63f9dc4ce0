"""The overview in Chromium: another range, charts in the chosen theme, and the table without JavaScript."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from memories.models import Tenant
from tests.e2e.console import NARROW, QUESTION, on_a_phone
from tests.factories import make_key
from tests.integration.context_helpers import assemble_test_context
from tests.integration.page_helpers import client_of, page
from tests.users import api_client, new_key, new_operator, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)


def test_another_range_is_drawn_in_place_and_the_back_button_returns(console: Page, acme: Tenant) -> None:
    console.goto(page("tenant-overview", acme))
    figure = console.locator("figure[data-chart]", has_text="Memories stored")
    expect(figure.locator("canvas")).to_be_visible()
    expect(figure.locator("tbody tr")).to_have_count(28)
    below = console.locator("dl.tiles")
    before = below.bounding_box()
    console.get_by_role("link", name="90 days").click()
    expect(figure.locator("tbody tr")).to_have_count(90)
    expect(figure.locator("canvas")).to_be_visible()
    expect(console).to_have_url(re.compile("range=90d"))
    assert below.bounding_box() == before
    figure.locator(".u-over").hover()
    expect(figure.locator(".chart-tip")).to_contain_text("memories")
    console.go_back()
    expect(figure.locator("tbody tr")).to_have_count(28)
    expect(figure.locator("canvas")).to_be_visible()


#: Keeps the charts that the page draws.
KEEP_CHARTS = """
let drawn;
window.charts = [];
Object.defineProperty(window, "uPlot", {
  get: () => drawn,
  set: (made) => { drawn = new Proxy(made, { construct: (of, given) => {
    const chart = new of(...given);
    window.charts.push(chart);
    return chart;
  } }); },
});
"""
#: By title: highest value, end of the vertical scale and its highest tick.
HIGHEST = """() => window.charts.map((chart) => [
  Math.max(...chart.data.slice(1).flat()), chart.scales.y.max, chart.axes[1]._splits.at(-1)
])"""


def test_no_chart_is_drawn_above_its_highest_tick(console: Page, acme: Tenant) -> None:
    api_client(new_key(acme, "write")).post("/api/v1/context", {"query": QUESTION}, format="json")
    console.add_init_script(KEEP_CHARTS)
    console.goto(page("tenant-overview", acme))
    latency = console.locator("figure[data-chart]", has_text="Latency")
    expect(latency.locator("canvas")).to_be_visible()
    found = console.evaluate(HIGHEST)
    assert len(found) >= 4
    assert all(highest <= end and end == pytest.approx(tick) for highest, end, tick in found), found


def test_curves_take_the_colours_of_another_theme_and_the_width_of_the_window(console: Page, acme: Tenant) -> None:
    console.goto(page("tenant-overview", acme))
    canvas = console.locator("figure[data-chart] canvas").first
    expect(canvas).to_be_visible()
    drawn = canvas.evaluate("canvas => canvas.toDataURL()")
    console.get_by_role("button", name="Dark theme").click()
    expect(console.locator("html")).to_have_attribute("data-bs-theme", "dark")
    assert console.locator("figure[data-chart] canvas").first.evaluate("canvas => canvas.toDataURL()") != drawn
    console.set_viewport_size(NARROW)
    console.wait_for_function("document.querySelector('.uplot').offsetWidth <= 390")
    assert console.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_tables_of_the_curves_are_open_without_javascript(
    browser: Browser, console: Page, acme: Tenant, live_server: object
) -> None:
    context = browser.new_context(
        base_url=live_server.url, java_script_enabled=False, storage_state=console.context.storage_state()
    )
    opened = context.new_page()
    opened.goto(page("tenant-overview", acme))
    expect(opened.locator("figure[data-chart]", has_text="Memories stored").locator("tbody tr").first).to_be_visible()
    opened.get_by_role("link", name="24 hours").click()
    expect(opened).to_have_url(re.compile("range=24h"))
    context.close()


@on_a_phone
def test_first_steps_lead_to_the_receipt_and_end(console: Page, acme: Tenant) -> None:
    make_key(acme)
    assemble_test_context(acme, QUESTION)
    console.goto(page("tenant-overview", acme))
    steps = console.locator(".first-step")
    expect(steps.nth(3)).to_have_attribute("aria-current", "step")
    console.get_by_role("button", name="Dismiss", exact=True).click()
    expect(console.locator("#first-steps")).to_have_count(0)
    console.locator(".flash").get_by_role("button", name="Undo").click()
    steps.get_by_role("button", name="Open the newest receipt").click()
    expect(console.get_by_role("heading", level=1)).to_contain_text(QUESTION)
    console.goto(page("tenant-overview", acme))
    expect(console.locator("#first-steps")).to_have_count(0)


@on_a_phone
def test_orders_of_the_tenants_open_on_request(console: Page, acme: Tenant, live_server: Any, viewport: Any) -> None:
    both = client_of(new_operator("ada", "admin", acme, new_shared_tenant("Globex")))
    session = both.cookies["sessionid"].value
    console.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    console.goto("/")
    by_name = console.get_by_role("link", name="Tenant", exact=True)
    expect(by_name).to_be_hidden()
    console.get_by_text("Sort by").click()
    by_name.click()
    expect(console).to_have_url(re.compile("sort="))
    expect(console.locator("tbody th").first).to_have_text("Acme")
