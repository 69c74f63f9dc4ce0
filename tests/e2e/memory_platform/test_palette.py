"""The command palette in a browser: opened by keys and button, used without a mouse."""

import re

import pytest
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import on_a_phone
from tests.integration.page_helpers import page

pytestmark = pytest.mark.django_db(transaction=True)


def test_palette_opens_an_action_and_a_memory_by_keyboard(console: Page, acme: Tenant) -> None:
    console.goto(page("snapshots", acme))
    console.keyboard.press("Control+k")
    field = console.get_by_role("combobox", name="Command, page")
    expect(field).to_be_focused()
    expect(console.get_by_role("option", selected=True)).to_have_text("Add memory")
    console.keyboard.press("Escape")
    expect(console.locator("#palette")).to_be_hidden()
    console.get_by_role("button", name="Commands").click()
    field.fill("torque wet")
    memory = console.get_by_role("option", name="ERR_4012 means")
    expect(memory).to_have_attribute("aria-selected", "true")
    assert field.get_attribute("aria-activedescendant") == memory.get_attribute("id")
    console.keyboard.press("Enter")
    expect(console.get_by_role("heading", level=1)).to_contain_text("ERR_4012 means")
    console.wait_for_load_state()  # the shortcut is there when the scripts have run
    console.keyboard.press("Control+k")
    field.press_sequentially("zzzz")
    expect(console.locator("#palette-list")).to_contain_text("No results")
    console.keyboard.press("Enter")
    console.keyboard.press("Escape")
    console.keyboard.press("Control+k")
    expect(console.get_by_role("option", selected=True)).to_have_text("Add memory")
    expect(console.get_by_role("heading", level=1)).to_contain_text("ERR_4012 means")
    field.press_sequentially("add mem")
    console.keyboard.press("Enter")  # before the list has followed
    expect(console).to_have_url(re.compile("/memories/new$"))


@on_a_phone
def test_palette_closes_and_gives_the_focus_back(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    button = console.get_by_role("button", name="Commands")
    button.click()
    expect(console.locator("#palette-list [role=option]").first).to_be_visible()
    console.get_by_role("button", name="Close", exact=True).click()
    expect(button).to_be_focused()
