"""Partitions and the dry run of a compaction in Chromium: the tree level by level, with and without JavaScript."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from memories.models import Tenant
from memories.services.partitions.paths import parse_partition
from memories.store.live_rows import ensure_partitions
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import WIDE, on_a_phone
from tests.integration.page_helpers import client_of, page
from tests.integration.session_scripts import make_long_session, messages_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def many(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> Tenant:
    """More partitions than are listed at once."""
    monkeypatch.setattr("memories.partitions.tree.WHOLE_MAX", 3)
    monkeypatch.setattr("memories.partitions.tree.SIBLINGS_MAX", 2)
    paths = [parse_partition(f"user=u{number}/topic=t{topic}") for number in range(3) for topic in range(3)]
    with tenant_scope(acme.pk):
        ensure_partitions(acme.pk, paths)
    return acme


#: Elements that htmx has inserted and for which it has not added event listeners yet.
UNBOUND = ".htmx-added, .htmx-settling"


@on_a_phone
def test_tree_opens_level_by_level_and_leads_to_a_partition(console: Page, many: Tenant, viewport: Any) -> None:
    console.goto(page("partitions", many))
    tree = console.locator("#tree")
    expect(tree).not_to_contain_text("user=u1")
    tree.get_by_role("link", name="Show more after agent=support").click()
    expect(tree).to_contain_text("user=u0")
    expect(tree.locator(UNBOUND)).to_have_count(0)
    node = tree.locator("li.tree-node", has=console.get_by_role("link", name="user=u0")).first
    node.locator("summary").first.focus()
    console.keyboard.press("Enter")
    expect(node).to_contain_text("topic=t1")
    expect(node).not_to_contain_text("topic=t2")
    expect(tree.locator(UNBOUND)).to_have_count(0)
    node.get_by_role("link", name="Show more after user=u0/topic=t1").click()
    expect(node).to_contain_text("topic=t2")
    assert console.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    node.get_by_role("link", name="topic=t1").click()
    expect(console.get_by_role("heading", level=1)).to_have_text("user=u0/topic=t1")
    expect(console.locator("[aria-current=true]", has_text="topic=t1")).to_be_visible()
    assert console.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    console.go_back()
    expect(console.get_by_role("heading", level=1)).to_have_text("Partitions")
    console.fill("#id_q", "topic=t2")
    expect(tree.locator(".tree-link")).to_have_count(2)
    assert "q=topic" in console.url


def test_tree_is_walked_without_a_script(browser: Browser, live_server: Any, olga: User, many: Tenant) -> None:
    context = browser.new_context(viewport=WIDE, base_url=live_server.url, java_script_enabled=False)
    session = client_of(olga).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    tab = context.new_page()
    tab.goto(f"{page('partitions', many)}?{urlencode({'partition': 'user=u2'})}")
    tab.locator(".tree-rest a", has_text="Show more after user=u2/topic=t1").click()
    expect(tab.locator("#tree")).to_contain_text("topic=t2")
    tab.get_by_role("link", name="topic=t2").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("user=u2/topic=t2")
    context.close()


@on_a_phone
def test_dry_run_shows_what_would_leave_and_changes_nothing_until_confirmed(
    console: Page, acme: Tenant, viewport: Any
) -> None:
    session = make_long_session(acme)
    console.goto(page("session", acme, session.pk))
    expect(console.get_by_role("heading", level=1)).to_contain_text("Ida Brodersen asks about the frame")
    expect(console.locator(".minimap-strip a").first).to_be_attached()
    console.get_by_role("link", name="Compact now").click()
    expect(console.locator("#effect-title")).to_contain_text("at most")
    expect(console.get_by_role("img", name="Before")).to_be_visible()
    assert console.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert {row.state for row in messages_of(session)} == {"live"}
    console.get_by_role("button", name="Compact now").click()
    expect(console.locator(".alert-info")).to_contain_text("being compacted")


def test_tokens_of_the_memo_are_counted_while_typing(console: Page, acme: Tenant) -> None:
    console.goto(page("memo", acme))
    console.locator("textarea").press_sequentially(" And boats.")
    expect(console.locator(".text-tokens")).to_contain_text("as entered")
