"""The frame of every page in Chromium: search, the confirmation dialog, times in the viewer's time zone."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from memories.models import Tenant
from tests.e2e.console import on_a_phone
from tests.integration.page_helpers import client_of, make_snapshot, page

pytestmark = pytest.mark.django_db(transaction=True)


@on_a_phone
def test_action_that_cannot_be_undone_needs_confirmation_in_a_dialog(console: Page, acme: Tenant) -> None:
    make_snapshot(acme, "before the import")
    console.goto(page("snapshots", acme))
    link = console.get_by_role("link", name="Delete")
    link.click()
    dialog = console.get_by_role("dialog", name="Delete “before the import”?")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
    console.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(link).to_be_focused()
    link.press("Enter")
    dialog.get_by_role("link", name="Cancel").click()
    expect(dialog).to_be_hidden()
    expect(console).to_have_url(re.compile("/snapshots$"))
    link.click()
    dialog.get_by_role("button", name="Delete snapshot").click()
    expect(console.locator(".flash")).to_contain_text("before the import")
    expect(console.get_by_role("link", name="before the import")).to_have_count(0)


def test_expired_sign_in_before_the_dialog_leads_to_signing_in(console: Page, acme: Tenant) -> None:
    make_snapshot(acme, "before the import")
    console.goto(page("snapshots", acme))
    console.context.clear_cookies()
    console.get_by_role("link", name="Delete").click()
    console.wait_for_url(re.compile("/sign-in"))


def test_times_are_in_the_viewers_time_zone_with_the_exact_one_in_utc(
    browser: Browser, live_server: Any, acme: Tenant, olga: User, viewport: Any
) -> None:
    session = client_of(olga).cookies["sessionid"].value
    shown = {}
    for zone, has_script in (("Asia/Kolkata", True), ("UTC", True), ("UTC", False)):
        context = browser.new_context(
            viewport=viewport, base_url=live_server.url, timezone_id=zone, java_script_enabled=has_script
        )
        context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        opened = context.new_page()
        opened.goto(page("memories", acme))
        time = opened.locator("td time").first
        box = opened.locator("td:has(> time)").first.bounding_box()
        shown[zone, has_script] = (time.text_content() or "", time.get_attribute("title") or "", box and box["width"])
        context.close()
    plain, exact, width = shown["UTC", False]
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC", plain)
    assert shown["UTC", True][0] == f"{plain.removesuffix(' UTC')} ({exact})"
    in_kolkata = shown["Asia/Kolkata", True][0]
    assert in_kolkata.endswith(f" ({exact})")
    assert in_kolkata.partition(" (")[0] != plain.removesuffix(" UTC")
    assert {size for _, _, size in shown.values()} == {width}


def test_slash_focuses_the_search_and_the_keyboard_moves_through_its_results(console: Page, acme: Tenant) -> None:
    console.goto(page("snapshots", acme))
    field = console.get_by_role("combobox", name="Search memories")
    console.locator("#id_name").focus()
    console.keyboard.type("and/or")
    expect(console.locator("#id_name")).to_have_value("and/or")
    console.locator("#main").focus()
    console.keyboard.press("/")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    console.keyboard.insert_text("torque")
    options = console.get_by_role("listbox", name="Search results").get_by_role("option")
    expect(options).to_have_count(3)
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(console.locator("#live")).to_have_text("2 results found")
    console.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    console.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    assert field.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    console.keyboard.press("Escape")
    expect(console.locator("#search-list")).to_be_hidden()
    expect(field).to_be_focused()
    console.keyboard.press("ArrowDown")
    text = options.first.locator(".search-text").inner_text()
    console.keyboard.press("Enter")
    expect(console.locator(".memory-text")).to_have_text(text)
    assert console.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_enter_without_a_choice_opens_all_results(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    console.keyboard.press("/")
    console.keyboard.type("ERR_4012")
    console.keyboard.press("Enter")
    expect(console.get_by_role("heading", level=1)).to_have_text("Results for “ERR_4012”")
    expect(console.locator("#main .search-results a")).to_have_count(2)
