"""Flows in Chromium, mostly by keyboard: profiles for partitions, votes, snapshots."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from context.profiles.actions.budget_profiles import create_budget_profile
from memories.models import Tenant
from memories.store.actions.edit import update_memory
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import QUESTION, on_a_phone
from tests.integration.page_helpers import (
    TESTER,
    as_stored,
    make_bakery_memories,
    make_snapshot,
    page,
    store_memories_for_pages,
)

pytestmark = pytest.mark.django_db(transaction=True)


def press(reached: Locator, key: str = "Enter") -> None:
    """Focus an element and press a key."""
    reached.focus()
    expect(reached).to_be_focused()
    reached.press(key)


def undo(console: Page) -> None:
    press(console.locator(".flash").last.get_by_role("button", name="Undo"))


def expect_message(console: Page, text: str) -> None:
    expect(console.locator(".flash", has_text=text)).to_be_visible()


@on_a_phone
def test_profile_assigned_to_a_partition_is_what_the_preview_takes_there(console: Page, acme: Tenant) -> None:
    with tenant_scope(acme.pk):
        changes = {"default_tokens": 60}
        create_budget_profile(tenant_id=acme.pk, name="short", changes=changes, by=TESTER, now=timezone.now())

    def expect_budget(partition: str, tokens: str, profile: str) -> None:
        console.goto(page("context-preview", acme))
        console.fill("#id_query", QUESTION)
        console.fill("#id_partition", partition)
        press(console.get_by_role("button", name="Preview"))
        expect(console.locator("#budget-title")).to_contain_text(f"of {tokens} tokens used")
        expect(console.locator("#result").get_by_role("link", name=profile, exact=True)).to_be_visible()

    expect_budget("agent=support", "4,000", "default (built-in)")
    console.goto(page("budget-assignments", acme))
    press(console.locator("#id_profile_name"), "s")
    expect(console.locator("#id_profile_name")).to_have_value("short")
    console.keyboard.press("Tab")
    console.keyboard.press("Tab")
    expect(console.locator("#id_partition")).to_be_focused()
    console.keyboard.type("agent=support")
    console.keyboard.press("Enter")
    expect_message(console, "short assigned to agent=support.")
    expect_budget("agent=support", "60", "short version 1")
    expect_budget("agent=support/user=c-1", "60", "short version 1")
    expect_budget("agent=service", "4,000", "default (built-in)")
    console.goto(page("budget-assignments", acme))
    press(console.get_by_role("button", name="End assignment"))
    expect_message(console, "short ended.")
    expect(console.get_by_text("No assignments")).to_be_visible()
    undo(console)
    expect_message(console, "short assigned to agent=support again.")
    expect_budget("agent=support", "60", "short version 1")


def test_vote_is_given_and_taken_back_by_keyboard(console: Page, acme: Tenant) -> None:
    memory = make_bakery_memories(acme)[1]
    console.goto(page("memory-votes", acme, memory.pk))
    before = memory.usefulness_score
    console.locator("#id_reason").focus()
    console.keyboard.type("It was the plug.")
    console.keyboard.press("Tab")
    expect(console.get_by_role("button", name="Useful", exact=True)).to_be_focused()
    console.keyboard.press("Enter")
    expect_message(console, "Vote recorded.")
    vote = console.locator(".history li", has_text="It was the plug.")
    expect(vote).to_contain_text("olga")
    assert as_stored(memory).usefulness_score > before
    press(vote.get_by_role("button", name="Withdraw"))
    expect_message(console, "Vote withdrawn.")
    expect(vote).to_contain_text("withdrawn")
    assert as_stored(memory).usefulness_score == before
    undo(console)
    expect_message(console, "Vote recorded.")
    expect(console.locator(".history li", has_text="It was the plug.")).to_have_count(2)
    assert as_stored(memory).usefulness_score > before


@on_a_phone
def test_snapshot_is_created_compared_and_deleted_by_keyboard(console: Page, acme: Tenant) -> None:
    memories = make_bakery_memories(acme)
    make_snapshot(acme, "at the very start", timedelta(days=9))
    console.goto(page("snapshots", acme))
    console.locator("#id_name").focus()
    console.keyboard.type("before the letters")
    console.keyboard.press("Enter")
    expect_message(console, "Snapshot before the letters created.")
    with tenant_scope(acme.pk):
        changes = {"content": "Frau Brodersen prefers letters."}
        update_memory(memory=memories[3], changes=changes, by=TESTER, now=timezone.now())
    store_memories_for_pages(acme, ("Letters are answered within a week.", "agent=support", "fact"), now=timezone.now())
    press(console.get_by_role("link", name="before the letters"))
    counts = console.locator(".tile dd")
    expect(counts.nth(0)).to_contain_text(f"{len(memories)} memories")
    expect(counts.nth(1)).to_contain_text(f"{len(memories) + 1} memories")
    expect(counts.nth(2)).to_contain_text("1 memory")
    expect(counts.nth(3)).to_contain_text("1 memory")
    expect(counts.nth(4)).to_contain_text("0 archived or expired")
    expect(console.locator("#result ins")).to_have_text(["letters"])
    press(console.locator("#id_with"), "a")
    expect(console.locator(".tile dt").first).to_have_text("at the very start")
    expect(counts.nth(0)).to_contain_text("0 memories")
    expect(counts.nth(1)).to_contain_text(f"{len(memories)} memories")
    assert "with=" in console.url
    press(console.get_by_role("link", name="Delete"))
    expect(console.get_by_role("dialog")).to_contain_text("before the letters")
    press(console.get_by_role("link", name="Cancel"))
    press(console.get_by_role("link", name="Delete"))
    press(console.get_by_role("button", name="Delete snapshot"))
    expect_message(console, "Snapshot before the letters deleted.")
    expect(console.get_by_role("link", name="before the letters")).to_have_count(0)
    expect(console.get_by_role("link", name="at the very start")).to_be_visible()


def test_withdrawn_summary_comes_back_with_one_click(console: Page, acme: Tenant) -> None:
    console.goto(f"{page('partitions', acme)}?partition=agent%3Dsupport")
    section = console.locator("section", has=console.get_by_role("heading", name="Compact"))
    press(section.get_by_text("Write summary"))
    section.locator("textarea").fill("Support answers for free.")
    press(section.get_by_role("button", name="Save"))
    expect_message(console, "Version 1 is active.")
    press(section.get_by_role("button", name="Withdraw"))
    expect_message(console, "summary was withdrawn")
    expect(section).to_contain_text("withdrawn")
    undo(console)
    expect_message(console, "The compact summary was restored as version 2.")
    expect(section.locator("textarea")).to_have_value("Support answers for free.")


def test_near_duplicate_links_to_the_memory_with_the_same_statement(console: Page, acme: Tenant) -> None:
    duplicated = make_bakery_memories(acme)[1]
    store_memories_for_pages(acme, (f"{duplicated.content[:-1]}!", "agent=service", "fact"))
    console.goto(f"{page('context-preview', acme)}?query={QUESTION}")
    row = console.locator(".excluded tbody tr", has_text="near-duplicate of")
    press(row.locator("td").nth(1).get_by_role("link").first)
    expect(console.locator(".memory-text")).to_contain_text("the plug of the torque sensor is wet")
