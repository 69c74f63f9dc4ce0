"""Chromium without a mouse, with an expired sign-in, and with an error in a form."""

import re

import pytest
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import sign_in_to_console
from tests.integration.page_helpers import as_stored, make_bakery_memories, page

pytestmark = pytest.mark.django_db(transaction=True)

# The element with the focus: its name, and whether it and its outline are visible.
FOCUSED = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
  const name = one.innerText || one.getAttribute('aria-label') || one.id || one.tagName;
  return { name: name.trim().split('\\n')[0], part: one.closest('nav, main, form[role=search]')?.id || '',
           seen: box.width > 1 && box.height > 1, marked: style.outlineStyle !== 'none' || style.boxShadow !== 'none',
           last: one === document.body };
}"""
STEPS_MAX = 120


def test_tab_moves_through_a_page_in_order_with_a_visible_focus(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    steps = []
    for _ in range(STEPS_MAX):
        console.keyboard.press("Tab")
        steps.append(console.evaluate(FOCUSED))
        if steps[-1]["last"]:
            break
    *steps, end = steps
    assert end["last"], f"the keyboard does not come out of the page: {[step['name'] for step in steps[-5:]]}"
    assert steps[0]["name"] == "Skip to content"
    assert [step["name"] for step in steps if not step["seen"]] == []
    assert [step["name"] for step in steps if not step["marked"]] == []
    parts = list(dict.fromkeys(step["part"] for step in steps if step["part"]))
    assert parts.index("nav") < parts.index("main")
    assert {"Memories", "Frau Brodersen prefers e-mail."} <= {step["name"] for step in steps}


def test_enter_opens_the_focused_link_and_the_skip_link_skips_the_navigation(console: Page, acme: Tenant) -> None:
    console.goto(page("tenant-overview", acme))
    link = console.locator("#nav").get_by_role("link", name="Memories", exact=True)
    link.focus()
    link.press("Enter")
    expect(console.get_by_role("heading", level=1)).to_have_text("Memories")
    console.keyboard.press("Tab")
    console.keyboard.press("Enter")
    expect(console.locator("main:focus")).to_be_visible()
    console.keyboard.press("Tab")
    assert console.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_refused_form_shows_the_error_at_its_field_and_focuses_it(console: Page, acme: Tenant) -> None:
    memory = make_bakery_memories(acme)[0]
    console.goto(page("memory", acme, memory.pk))
    console.locator("#edit summary").click()
    console.fill("#id_kind", "Not a word")
    console.get_by_role("button", name="Save as version 2").click()
    field = console.locator("#id_kind")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(field).to_have_value("Not a word")
    assert as_stored(memory).version == 1


def test_sign_in_that_expired_before_a_form_was_sent_changes_nothing_and_leads_back(
    console: Page, acme: Tenant
) -> None:
    memory = make_bakery_memories(acme)[0]
    address = page("memory", acme, memory.pk)
    console.goto(address)
    console.locator("#edit summary").click()
    console.fill("#id_content", "Now in 30 minutes.")
    console.context.clear_cookies(name="sessionid")
    console.get_by_role("button", name="Save as version 2").click()
    console.wait_for_url(re.compile("/sign-in"))
    sign_in_to_console(console)
    assert console.url.endswith(address)
    assert as_stored(memory).version == 1
