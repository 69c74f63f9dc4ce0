"""What was typed is not lost in a real Chromium: by an expired log-in, nor by leaving the page."""

import re

import pytest
from playwright.sync_api import Dialog, Page, expect

from memories.models import Tenant
from tests.e2e.console import sign_in_to_console
from tests.integration.page_helpers import as_stored, make_bakery_memories, page

pytestmark = pytest.mark.django_db(transaction=True)
MEMO = "The workshop is closed on Mondays.\nAsk Ida for parts."
BACK = "You were signed out. Nothing was saved; your text is in the form."


def log_out(console: Page) -> None:
    console.context.clear_cookies(name="sessionid")


@pytest.fixture
def asked(console: Page) -> list[str]:
    """The questions of the browser before a page was left; each is answered with yes."""
    kinds: list[str] = []

    def answer(dialog: Dialog) -> None:
        kinds.append(dialog.type)
        dialog.accept()

    console.on("dialog", answer)
    return kinds


def test_memo_survives_a_log_in_that_expired_and_is_saved_then(console: Page, acme: Tenant, asked: list[str]) -> None:
    console.goto(page("memo", acme))
    field = console.locator("textarea[name=content]")
    with console.expect_response(re.compile("/text-tokens")):  # it must not be sent after signing out
        field.fill(MEMO)
    log_out(console)
    console.get_by_role("button", name="Save version").click()
    console.wait_for_url(re.compile("/sign-in"))
    expect(console.get_by_role("alert").first).to_contain_text("Your changes were not saved")
    expect(console.locator("#draft-kept")).to_be_visible()
    sign_in_to_console(console)
    expect(console.locator("main .alert-warning")).to_contain_text(BACK)
    expect(field).to_have_value(MEMO)
    console.get_by_role("button", name="Save version").click()
    expect(console.locator(".flash")).to_be_visible()
    expect(console.locator("#memo-title")).to_contain_text("Version 2")
    log_out(console)
    console.reload()
    sign_in_to_console(console)
    expect(field).to_have_value(MEMO)
    expect(console.locator("main .alert-warning")).to_have_count(0)
    assert asked == []


def test_what_is_asked_while_one_types_loses_nothing_either(console: Page, acme: Tenant, asked: list[str]) -> None:
    console.goto(page("memo", acme))
    log_out(console)
    console.locator("textarea[name=content]").fill("Closed.")
    console.wait_for_url(re.compile("/sign-in"))
    sign_in_to_console(console)
    expect(console.locator("textarea[name=content]")).to_have_value("Closed.")
    expect(console.locator("main .alert-warning")).to_contain_text(BACK)
    assert asked == []


def test_number_that_is_tried_while_the_log_in_expires_is_tried_afterwards(
    console: Page, acme: Tenant, asked: list[str]
) -> None:
    console.goto(page("budgets", acme))
    log_out(console)
    console.locator("#id_default_tokens").press("End")
    console.locator("#id_default_tokens").press_sequentially("1")
    console.wait_for_url(re.compile("/sign-in"))
    sign_in_to_console(console)
    expect(console.locator("#id_default_tokens")).to_have_value("40001")
    expect(console.locator("main .alert-warning")).to_contain_text(BACK)
    expect(console.get_by_role("button", name="Save as version 1")).to_be_visible()
    assert asked == []


def test_form_of_htmx_in_a_folded_part_is_filled_and_unfolded(console: Page, acme: Tenant) -> None:
    memory = make_bakery_memories(acme)[0]
    console.goto(page("memory", acme, memory.pk))
    console.locator("#edit summary").click()
    console.fill("#id_content", "Now in 30 minutes.")
    log_out(console)
    console.get_by_role("button", name="Save as version 2").click()
    console.wait_for_url(re.compile("/sign-in"))
    sign_in_to_console(console)
    expect(console.locator("#id_content")).to_be_visible()
    expect(console.locator("#id_content")).to_have_value("Now in 30 minutes.")
    assert as_stored(memory).version == 1


def test_draft_is_dropped_by_who_goes_to_sign_in_without_being_sent_there(console: Page, acme: Tenant) -> None:
    console.goto(page("memo", acme))
    console.locator("textarea[name=content]").fill(MEMO)
    log_out(console)
    console.get_by_role("button", name="Save version").click()
    console.wait_for_url(re.compile("/sign-in"))
    console.goto("/sign-in")
    expect(console.locator("#draft-kept")).to_be_hidden()
    assert console.evaluate("sessionStorage.getItem('draft')") is None


def test_changed_form_asks_before_it_is_left_and_a_sent_one_does_not(
    console: Page, acme: Tenant, asked: list[str]
) -> None:
    console.goto(page("memo", acme))
    field = console.locator("textarea[name=content]")
    field.press_sequentially("Closed")
    console.goto(page("memories", acme))
    assert asked == ["beforeunload"]
    console.goto(page("memo", acme))
    field.press_sequentially("C")
    field.press("Backspace")
    console.goto(page("memories", acme))
    console.goto(page("memo", acme))
    field.press_sequentially("Closed")
    console.get_by_role("button", name="Save version").click()
    expect(console.locator("#memo-title")).to_contain_text("Version 2")
    console.goto(page("memories", acme))
    assert asked == ["beforeunload"]


def test_changed_budget_is_saved_without_a_question(console: Page, acme: Tenant, asked: list[str]) -> None:
    console.goto(page("budgets", acme))
    console.locator("#id_default_tokens").press("End")
    console.locator("#id_default_tokens").press_sequentially("1")
    save = console.get_by_role("button", name="Save as version 1")
    expect(save).to_be_visible()
    save.click()
    expect(console.locator(".flash")).to_be_visible()
    assert asked == []
