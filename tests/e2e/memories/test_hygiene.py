"""The hygiene list in a browser: merging a pair and its undo, selecting rows by keyboard, no horizontal scrolling."""

import os
import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories.hygiene.maintenance import detect_pairs_in_batch, find_unused_and_expiring_memories
from memories.models import Tenant
from memories.services.hygiene.rules import NEVER_RETRIEVED_AFTER
from memories.store.actions.replace import replace_memories
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import on_a_phone
from tests.factories import TESTER
from tests.integration.page_helpers import page, store_memories_for_pages

TEXTS = [
    "The torque sensor of the Otter 3 is swapped in 45 minutes, two people needed, and the bench must be free.",
    "The torque sensor of the Otter 3 is swapped in 50 minutes, two people needed, and the bench must be free.",
    "Frau Brodersen prefers e-mail and reads it in the evening. Does not want to be called at work.",
    "Frau Brodersen prefers e-mail and reads it in the evening, does not want to be called at work!",
    "The Kiel workshop closes at six in the evening, on Saturdays at two.",
]


@pytest.fixture
def findings(acme: Tenant) -> Tenant:
    now = timezone.now()
    for number, text in enumerate(TEXTS):
        stored_at = now - NEVER_RETRIEVED_AFTER - timedelta(days=20 - number)
        store_memories_for_pages(acme, (text, "agent=support", "fact"), now=stored_at)
    while detect_pairs_in_batch(acme.pk, now=now):
        pass
    find_unused_and_expiring_memories(now=now)
    return acme


def shoot(opened: Page, name: str) -> None:
    """Take screenshots if `SCREENSHOTS` names a folder."""
    if folder := os.environ.get("SCREENSHOTS"):
        width = opened.viewport_size["width"] if opened.viewport_size else 0
        for theme in ("light", "dark"):
            opened.emulate_media(color_scheme=theme)
            opened.wait_for_timeout(400)  # until colour transitions have ended
            opened.screenshot(path=f"{folder}/{name}-{width}-{theme}.png", full_page=True)


def nothing_over_the_edge(opened: Page) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_pair_is_merged_and_brought_back(console: Page, findings: Tenant) -> None:
    console.goto(page("hygiene", findings))
    expect(console.locator(".finding")).to_have_count(1)
    nothing_over_the_edge(console)
    shoot(console, "near")
    console.get_by_role("button", name="Keep this one").first.click()
    expect(console.locator(".flash")).to_contain_text("Merged: 1 archived, 1 kept.")
    expect(console.get_by_role("heading", name="No findings")).to_be_visible()
    shoot(console, "merged")
    console.get_by_role("button", name="Undo").click()
    expect(console.locator(".flash")).to_contain_text("Undone")
    expect(console.locator(".finding")).to_have_count(1)


@on_a_phone
def test_differing_numbers_are_marked_and_the_effect_is_shown_before(console: Page, findings: Tenant) -> None:
    console.goto(page("hygiene-list", findings, "contradiction"))
    expect(console.locator("mark.differs-value")).to_have_text(["45", "50"])
    nothing_over_the_edge(console)
    console.locator(".finding input[type=checkbox]").focus()
    console.keyboard.press("Space")
    shoot(console, "contradiction")
    console.get_by_role("button", name="Merge…").press("Enter")
    expect(console.get_by_role("heading", name="Merge 1 pair?")).to_be_visible()
    nothing_over_the_edge(console)
    shoot(console, "effect")
    console.get_by_role("button", name="Merge", exact=True).press("Enter")
    expect(console.locator(".flash")).to_contain_text("Merged")


def test_single_memories_are_marked_as_no_problem_and_narrowed(console: Page, findings: Tenant) -> None:
    console.goto(page("hygiene-list", findings, "never_retrieved"))
    expect(console.locator("a.memory-link")).to_have_count(len(TEXTS))
    nothing_over_the_edge(console)
    shoot(console, "never")
    console.get_by_role("button", name="Dismiss", exact=True).first.click()
    expect(console.locator("a.memory-link")).to_have_count(len(TEXTS) - 1)
    console.fill("#id_partition", "agent=nobody")
    console.keyboard.press("Enter")
    expect(console.get_by_role("heading", name="No findings")).to_be_visible()
    expect(console).to_have_url(re.compile("partition=agent%3Dnobody"))


def test_replaced_fact_is_shown_with_its_difference_and_brought_back(console: Page, acme: Tenant) -> None:
    now = timezone.now()
    older, newer = (
        store_memories_for_pages(acme, (text, "agent=support", "fact"), now=now - timedelta(days=days))[0]
        for text, days in zip(TEXTS[:2], (20, 2), strict=True)
    )
    with tenant_scope(acme.pk):
        replace_memories(tenant_id=acme.pk, replaced={newer.pk: [older.pk]}, by=TESTER, now=now)
    console.goto(page("hygiene-list", acme, "replaced"))
    expect(console.locator("mark.differs-value")).to_have_text(["45", "50"])
    expect(console.locator(".finding").get_by_text("true until")).to_be_visible()
    nothing_over_the_edge(console)
    shoot(console, "replaced")
    console.goto(page("memory", acme, older.pk))
    expect(console.get_by_text("Replaced by")).to_be_visible()
    shoot(console, "replaced-memory")
    console.goto(page("hygiene-list", acme, "replaced"))
    console.get_by_role("button", name="Undo replacement", exact=True).click()
    expect(console.locator(".flash")).to_contain_text("1 memory is live again")
    expect(console.get_by_role("heading", name="No findings")).to_be_visible()
