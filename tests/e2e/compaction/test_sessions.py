"""Sessions in Chromium, wide and narrow: compaction of a full session, review and roll-back."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from compaction.models import Run, Session
from compaction.pipeline.orchestrator import run_compaction
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import WAIT_MAX_MS, WIDE, on_a_phone
from tests.integration.page_helpers import client_of, page
from tests.integration.session_scripts import (
    apply_whatever_is_retained,
    compacted,
    make_long_session,
    messages_of,
    reread,
    under_review,
)
from tests.users import new_operator, new_shared_tenant

EXPECTED = re.compile(r"status of 422|^Response Status Error Code")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(transactional_db: None) -> Tenant:
    return new_shared_tenant("Acme")


@pytest.fixture
def olga(acme: Tenant) -> User:
    return new_operator("olga", "operator", acme)


@pytest.fixture
def viewport() -> Any:
    return WIDE


def opened(browser: Browser, live_server: Any, user: User, viewport: Any, *, has_script: bool = True) -> Page:
    context = browser.new_context(viewport=viewport, base_url=live_server.url, java_script_enabled=has_script)
    session = client_of(user).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    tab = context.new_page()
    tab.set_default_timeout(WAIT_MAX_MS)
    return tab


@pytest.fixture
def console(browser: Browser, live_server: Any, olga: User, viewport: Any) -> Iterator[Page]:
    """A page of a signed-in operator; at the end, the browser's console must contain no errors."""
    tab, complaints = opened(browser, live_server, olga, viewport), []
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    tab.context.close()
    assert [text for text in complaints if not EXPECTED.search(text)] == []


def work(session: Session) -> None:
    """Run the session's queued compaction, as a worker does."""
    with tenant_scope(session.tenant_id):
        run = Run.objects.for_tenant(session.tenant_id).of_session(session.pk).open().get()
    run_compaction(session.tenant_id, run.pk, now=timezone.now())


def compact_review_and_roll_back(tab: Page, tenant: Tenant, session: Session) -> None:
    before = [(row.pk, row.state, row.shown_tokens) for row in messages_of(session)]
    tab.goto(page("session", tenant, session.pk))
    tab.get_by_role("link", name="Compact now").click()
    expect(tab.get_by_role("heading", name="Compact now?")).to_be_visible()
    expect(tab.locator("#effect-title")).to_contain_text("at most")
    tab.get_by_role("button", name="Compact now").click()
    expect(tab.locator(".alert-info")).to_contain_text("being compacted")
    work(session)
    tab.goto(page("reviews", tenant))
    tab.locator("a.memory-link").first.click()
    expect(tab.locator("#retention-title")).to_contain_text("facts retained")
    tab.locator("#edit summary").click()
    tab.locator("#id_text").fill("")
    tab.get_by_role("button", name="Save text").click()
    expect(tab.locator(".errorlist")).to_be_visible()
    tab.locator("#id_text").fill("Ida Brodersen asked about the frame FR-2210.\nJonas Petersen works on it.")
    tab.get_by_role("button", name="Save text").click()
    expect(tab.locator(".flash")).to_contain_text("facts kept")
    expect(tab.locator(".statement")).to_have_count(2)
    tab.get_by_role("button", name=re.compile("^Append FR|^Append INV")).first.click()
    expect(tab.locator(".statement")).to_have_count(3)
    tab.get_by_role("button", name="Approve", exact=True).click()
    expect(tab.locator(".flash")).to_contain_text("Approved")
    assert reread(session).context_tokens < session.context_tokens
    tab.get_by_role("button", name="Undo approval").click()
    expect(tab.locator(".flash").last).to_contain_text("waits for review again")
    assert [(row.pk, row.state, row.shown_tokens) for row in messages_of(session)] == before


@pytest.mark.long
@on_a_phone
def test_session_is_compacted_reviewed_edited_approved_and_rolled_back(console: Page, acme: Tenant) -> None:
    under_review(acme, has_journal=False)
    compact_review_and_roll_back(console, acme, make_long_session(acme))


def test_the_same_works_without_javascript(browser: Browser, live_server: Any, olga: User, acme: Tenant) -> None:
    under_review(acme, has_journal=False)
    tab = opened(browser, live_server, olga, WIDE, has_script=False)
    compact_review_and_roll_back(tab, acme, make_long_session(acme))
    tab.context.close()


def test_page_shows_by_itself_when_the_compaction_is_done(console: Page, acme: Tenant) -> None:
    apply_whatever_is_retained(acme.pk)
    session = make_long_session(acme)
    console.goto(page("session-compact", acme, session.pk))
    console.get_by_role("button", name="Compact now").click()
    expect(console.locator(".alert-info")).to_be_visible()
    work(session)
    expect(console.locator("#context-title")).to_be_visible()
    expect(console.locator("#body")).to_contain_text("[CONTEXT SUMMARY]")
    expect(console.locator(".alert-info")).to_have_count(0)


def test_source_of_a_statement_is_one_click_away(console: Page, acme: Tenant) -> None:
    compaction = compacted(make_long_session(acme))
    console.goto(page("compaction", acme, compaction.pk))
    source = console.locator(".statement .source").first
    number = source.inner_text()
    source.focus()
    console.keyboard.press("Enter")
    expect(console.locator(f"#m-{number}")).to_be_in_viewport()
    assert console.evaluate("document.querySelector(':target').id") == f"m-{number}"


def test_message_is_pinned_without_leaving_the_page(console: Page, acme: Tenant) -> None:
    session = make_long_session(acme, turns=3)
    console.goto(page("session", acme, session.pk))
    console.get_by_role("button", name="Pin message 2").click()
    expect(console.locator("#m-2")).to_contain_text("pinned")
    console.locator(".flash").get_by_role("button", name="Undo").click()
    expect(console.locator("#m-2")).not_to_contain_text("pinned")


def test_simulation_follows_what_is_typed(console: Page, acme: Tenant) -> None:
    session = make_long_session(acme)
    console.goto(page("session-simulate", acme, session.pk))
    expect(console.locator(".chart-area canvas")).to_be_visible()
    console.fill("#id_window", "1500")
    expect(console.locator("#result")).to_contain_text("of 1,500 tokens")
    assert "window=1500" in console.url
    console.get_by_text("As a table").click()
    expect(console.locator("#result tbody tr").first).to_be_visible()
