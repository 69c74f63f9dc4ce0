"""The workbench in Chromium: the budget that includes an excluded memory, and choosing a focus by keyboard."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from context.profiles.actions.budget_profiles import create_budget_profile
from memories.models import Tenant
from memories.store.actions.edit import archive_memory
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import NARROW, QUESTION, on_a_phone, open_preview
from tests.factories import TESTER, make_memory
from tests.integration.page_helpers import page
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db(transaction=True)


STEPS_MAX = 80


def tab_to(console: Page, wanted: Locator, steps: int = STEPS_MAX) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(steps):
        console.keyboard.press("Tab")
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
    raise AssertionError(f"{wanted} is not reached in {steps} steps")


def test_excluded_memory_is_included_at_the_reported_budget_by_keyboard_alone(console: Page, acme: Tenant) -> None:
    console.goto(page("context-preview", acme))
    console.keyboard.press("Tab")
    console.keyboard.press("Enter")  # skips the navigation
    tab_to(console, console.locator("#id_query"), 3)
    console.keyboard.type(QUESTION)
    tab_to(console, console.locator("#id_max_tokens"), 3)
    console.keyboard.press("Control+a")
    console.keyboard.type("60")
    console.keyboard.press("Enter")
    expect(console.locator("#budget-title")).to_contain_text("of 60 tokens used")
    expect(console.locator("#id_max_tokens")).to_be_focused()
    row = console.locator(".excluded tbody tr").first
    expect(row).to_contain_text(re.compile(r"Needs \d+ more tokens?"))
    text = row.locator(".excluded-text").inner_text()
    tab_to(console, row.get_by_role("link", name="Budget needed"))
    console.keyboard.press("Enter")
    needed = row.locator(".entry strong")
    expect(needed).to_have_text(re.compile(r"Budget needed: \d+ tokens"))
    expect(row.locator(".entry [autofocus]")).to_be_focused()
    budget = re.sub(r"\D", "", needed.inner_text())
    assert "max_tokens=60" in console.url
    tab_to(console, row.get_by_role("link", name=f"Set {budget} tokens"), 1)
    console.keyboard.press("Enter")
    expect(console.locator("#budget-title")).to_contain_text(f"of {budget} tokens used")
    expect(console.locator(".block", has_text=text).first).to_be_visible()
    expect(console.locator("[aria-labelledby=change-title] .bar-title").first).to_contain_text("added")
    console.go_back()
    expect(console.locator("#budget-title")).to_contain_text("of 60 tokens used")


def test_focus_is_found_by_words_and_chosen_by_keyboard(console: Page, acme: Tenant) -> None:
    open_preview(console, acme)
    console.get_by_text("Focus and time").click()
    field = console.get_by_role("combobox", name="Memory focus")
    field.fill("Brodersen")
    expect(console.locator("#focus-suggestions [role=option]")).to_contain_text("Frau Brodersen prefers e-mail.")
    field.press("ArrowDown")
    field.press("Enter")
    expect(console.locator(".block", has_text="Brodersen")).to_contain_text("focus")
    assert re.search(r"focus_memory=[0-9a-f-]{36}", console.url)
    expect(console.locator("#focus-suggestions")).to_be_hidden()


def test_opened_parts_stay_open_while_the_budget_moves(console: Page, acme: Tenant) -> None:
    open_preview(console, acme)
    row = console.locator(".block", has_text="wet").first
    row.get_by_text("Score components").click()
    expect(row.locator(".score-table")).to_contain_text("Similarity of the memory to the query.")
    console.locator("input[type=range]").fill("350")
    expect(console.locator("#budget-title")).to_contain_text("of 350 tokens used")
    expect(console.locator(".block", has_text="wet").first.locator(".score-table")).to_be_visible()
    missing = console.get_by_role("combobox", name="Missing memory")
    missing.fill("Kiel")
    expect(console.locator("#missing [role=option]")).to_contain_text("The Kiel workshop closes at six")
    missing.press("ArrowDown")
    missing.press("Enter")
    expect(console.locator(".flash")).to_contain_text("Memory added to the golden question.")
    expect(console.locator(".golden")).to_contain_text("Golden question, 1 memory")
    expect(console.locator("#golden")).to_be_in_viewport()


@on_a_phone
def test_missing_memory_is_explained_and_the_budget_that_includes_it_kept(console: Page, acme: Tenant) -> None:
    open_preview(console, acme, 60)
    console.get_by_role("link", name="Explain a memory").click()
    field = console.get_by_role("combobox", name="Memory")
    field.fill("Brodersen")
    expect(console.locator("#found-memories [role=option]")).to_contain_text("Frau Brodersen prefers e-mail.")
    field.press("ArrowDown")
    field.press("Enter")
    answer = console.locator("[aria-labelledby=answer-title]")
    expect(answer).to_contain_text("excluded")
    expect(answer.locator("dt", has_text="Vector rank")).to_be_visible()
    budget = re.sub(r"\D", "", answer.locator("dt:has-text('Budget needed') + dd strong").inner_text())
    console.get_by_role("link", name="Save budget").click()
    expect(console.locator("#id_max_tokens")).to_have_value(budget)
    expect(console.locator("[aria-labelledby=saved-title]")).to_contain_text("No queries yet.")
    console.get_by_role("button", name="Save budget").click()
    expect(console.locator(".flash")).to_contain_text(f"{budget} tokens saved in default-{budget} version 1.")
    expect(console.locator("#budget-title")).to_contain_text(f"of {budget} tokens used")
    expect(console.locator(".block", has_text="Brodersen")).to_be_visible()


def test_long_question_gets_a_short_address_that_opens_it_again(console: Page, acme: Tenant) -> None:
    question = QUESTION + " What do we tell the customer?" * 100
    console.goto(page("context-preview", acme))
    console.locator("#id_query").fill(question)
    expect(console.locator("#budget-title")).to_be_visible()
    console.wait_for_url(re.compile(r"query_id=[0-9a-f-]{36}"))
    assert len(console.url) < 300
    console.reload()
    expect(console.locator("#budget-title")).to_be_visible()
    expect(console.locator("#id_query")).to_have_value(question)


def test_figure_of_an_agent_leads_to_its_contexts_and_new_ones_appear(console: Page, acme: Tenant) -> None:
    agent = api_client(new_key(acme, "write"))
    agent.post("/api/v1/context", {"query": QUESTION, "max_tokens": 60}, format="json")
    console.goto(page("agents", acme))
    console.get_by_role("link", name="1", exact=True).first.click()
    console.wait_for_url(re.compile(r"/contexts\?key="))
    polls: list[str] = []
    console.on("request", lambda request: polls.append(request.url) if "seen=" in request.url else None)
    console.clock.install()
    console.get_by_label("Live").check()
    console.wait_for_url(re.compile("live=on"))
    for number in (1, 2):
        agent.post("/api/v1/context", {"query": f"Kiel {number}", "max_tokens": 60}, format="json")
        console.clock.fast_forward(5_000)
        expect(console.locator("#live")).to_have_text("1 new context")
        expect(console.locator("tbody tr")).to_have_count(number + 1)
    console.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    polls.clear()
    console.clock.fast_forward(20_000)
    assert polls == []
    console.get_by_label("Live").uncheck()
    console.wait_for_url(re.compile(r"/contexts\?(?!.*live)"))
    expect(console.locator("[hx-trigger^=every]")).to_have_count(0)
    console.get_by_role("link", name=QUESTION).click()
    expect(console.locator("[aria-labelledby=asked-title]")).to_contain_text("an agent")


def test_long_text_ends_with_a_whole_line_that_fades_and_opens(console: Page, acme: Tenant) -> None:
    make_memory(acme, "ERR_4012 means that the sensor is wet. " * 20, partition="agent=support", is_embedded=True)
    open_preview(console, acme, max_tokens=2000)
    blocks = console.locator("#result .block")
    long, short = (blocks.filter(has_text=text).first for text in ("wet. ERR_4012", "Frau Brodersen"))
    lines = "(text) => text.clientHeight / parseFloat(getComputedStyle(text).lineHeight)"
    mask = "(text) => getComputedStyle(text).maskImage"
    text = long.locator(".block-text")
    assert text.evaluate(lines) == pytest.approx(3, abs=0.1)
    assert text.evaluate(mask) != "none"
    assert short.locator(".block-text").evaluate(mask) == "none"
    long.locator(".block-more > summary").click()
    expect(text).to_have_css("mask-image", "none")
    assert text.evaluate("(text) => text.scrollHeight === text.clientHeight")


@pytest.mark.parametrize("has_clipboard", [True, False], ids=["clipboard", "plain-http"])
def test_link_is_copied_and_opens_the_same_preview(console: Page, acme: Tenant, has_clipboard: bool) -> None:
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if not has_clipboard:  # as on pages over HTTP of another machine
        console.add_init_script("delete Navigator.prototype.clipboard")
    open_preview(console, acme, 70)
    copy = console.get_by_role("button", name="Copy link")
    copy.click()
    expect(console.locator("#live")).to_have_text("Copied")
    expect(console.get_by_role("button", name="Copied")).to_be_visible()
    expect(copy).to_be_visible()
    console.goto(page("context-preview", acme))
    console.locator("#id_query").focus()
    console.keyboard.press("Control+V")
    address = console.locator("#id_query").input_value()
    console.goto(address)
    expect(console.locator("#budget-title")).to_contain_text("of 70 tokens used")
    expect(console.locator("#id_query")).to_have_value(QUESTION)


@on_a_phone
def test_long_words_do_not_widen_pages(console: Page, acme: Tenant) -> None:
    word = "kapitaensmuetzenabzeichenverleihungsurkundenbuero"
    first = make_memory(acme, word * 3, partition=f"user={word}")
    body = {"query": word * 3, "partition": f"user={word}", "max_tokens": 300}
    receipt_id = api_client(new_key(acme, "write")).post("/api/v1/context", body, format="json").json()["id"]
    with tenant_scope(acme.pk):
        archive_memory(memory=first, by=TESTER, now=timezone.now())
        create_budget_profile(tenant_id=acme.pk, name=word, by=TESTER, now=timezone.now())
    for address in (
        page("context-preview", acme),
        page("budgets", acme),
        page("budget-rename", acme, word),
        f"{page('agents', acme)}?by=partition&agent=user%3D{word}",
        f"{page('receipt', acme, receipt_id)}?with=today&whole=1",
    ):
        console.goto(address)
        assert console.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], address
