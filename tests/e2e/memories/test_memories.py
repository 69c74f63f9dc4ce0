"""The list of memories and the page of a memory in a browser: bulk actions, actions on a row, and their undo."""

import re

from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import on_a_phone
from tests.integration.page_helpers import WORKSHOP, page


def fits(opened: Page) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_several_memories_are_archived_after_a_preview_and_restored(console: Page, acme: Tenant) -> None:
    console.goto(f"{page('memories', acme)}?partition=agent%3Dsupport")
    rows = console.locator("a.memory-link")
    expect(rows).to_have_count(3)
    fits(console)
    boxes = console.locator("tbody input[name=id]")
    boxes.first.focus()
    console.keyboard.press("Space")
    boxes.nth(2).click(modifiers=["Shift"])
    expect(console.locator("[data-bulk-count]")).to_have_text("3 selected")
    boxes.nth(2).uncheck()
    console.get_by_role("button", name="Archive…").click()
    expect(console.get_by_role("heading", level=1)).to_have_text("Archive 2 memories?")
    fits(console)
    console.go_back()
    expect(rows).to_have_count(3)
    console.get_by_role("button", name="Archive…").click()
    console.get_by_role("button", name="Archive 2 memories").click()
    expect(console.locator(".flash")).to_contain_text("2 memories archived.")
    expect(console).to_have_url(re.compile("partition=agent%3Dsupport"))
    expect(rows).to_have_count(1)
    console.get_by_role("button", name="Undo").click()
    expect(console.locator(".flash")).to_contain_text("Undone")
    expect(rows).to_have_count(3)


def test_row_is_archived_in_its_place_and_comes_back(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    rows = console.locator("tbody tr")
    second = rows.nth(1).locator("a.memory-link").inner_text()
    rows.nth(0).get_by_role("button", name="Archive").click()
    expect(rows).to_have_count(len(WORKSHOP) - 1)
    expect(rows.nth(0).locator("a.memory-link")).to_have_text(second)
    expect(rows.nth(0).locator("a.memory-link")).to_be_focused()
    console.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(len(WORKSHOP))


def test_memory_is_archived_and_restored_from_its_page(console: Page, acme: Tenant) -> None:
    console.goto(f"{page('memories', acme)}?q=ERR_4012")
    expect(console.locator("tbody mark").first).to_have_text("ERR_4012")
    console.locator("a.memory-link").first.click()
    console.get_by_role("button", name="Archive", exact=True).click()
    expect(console.locator(".flash")).to_contain_text("Archived")
    console.get_by_role("button", name="Undo").click()
    expect(console.locator(".flash")).to_contain_text("Restored")
    expect(console.locator("#history-title + span")).to_have_text("2 versions")
    console.get_by_role("link", name="Merge…").click()
    console.get_by_role("link", name="Merge with").first.click()
    expect(console.get_by_role("radio")).to_have_count(2)
    console.get_by_role("button", name="Merge 2 memories").click()
    expect(console.locator(".flash")).to_contain_text("Merged: 1 archived, 1 kept.")


@on_a_phone
def test_memory_is_added_and_linked_by_keyboard(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    console.get_by_role("link", name="Add memory").click()
    console.get_by_label("Text", exact=True).fill("The plug of the Otter 4 is tight.")
    console.get_by_label("Partition", exact=True).fill("agent=service")
    console.get_by_role("button", name="Add memory").click()
    expect(console.locator(".flash")).to_contain_text("Memory stored.")
    target = console.get_by_role("combobox", name="Link to")
    target.fill("torque wet")
    expect(console.locator("#link-targets").get_by_role("option")).to_have_count(2)
    target.press("ArrowDown")
    expect(console.locator("#link-targets").get_by_role("option", selected=True)).to_contain_text("ERR_4012")
    target.press("Enter")
    fits(console)
    console.get_by_role("button", name="Add link").click()
    expect(console.locator("#links-title + span")).to_have_text("1 from it")
    console.get_by_text("As a list").click()
    console.get_by_role("button", name="Remove link related").click()
    expect(console.get_by_text("No links to other memories.")).to_be_visible()
    console.locator(".flash").get_by_role("button", name="Undo").click()
    expect(console.locator("#links-title + span")).to_have_text("1 from it")


def test_pasted_lines_are_previewed_imported_and_undone(console: Page, acme: Tenant) -> None:
    console.goto(page("memory-import-export", acme))
    console.get_by_text("Paste text instead").click()
    console.get_by_label("Lines of CSV or JSON").fill(
        "content,pinned\nThe shop in Bremen opens at nine.,true\nx,maybe\n"
    )
    console.get_by_role("button", name="Preview").click()
    expect(console.locator("tbody tr").nth(1)).to_contain_text("invalid")
    console.get_by_role("button", name="Import 1 memory").click()
    expect(console.get_by_role("heading", name="Import finished")).to_be_visible()
    console.get_by_role("button", name="Undo import").click()
    expect(console.locator(".flash")).to_contain_text("Undone: 1 memory")
    expect(console.locator("tbody tr")).to_have_count(len(WORKSHOP))


@on_a_phone
def test_figures_begin_where_the_text_of_the_memory_begins(console: Page, acme: Tenant) -> None:
    console.goto(page("memories", acme))
    row = console.locator("tbody tr").first
    text, figure = (row.locator(cell).bounding_box() for cell in (".memory-cell", "[data-label=Tokens]"))
    assert text
    assert figure
    assert figure["x"] == text["x"]
    assert figure["y"] > text["y"]
