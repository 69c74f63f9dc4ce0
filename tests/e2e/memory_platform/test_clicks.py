"""The five main flows with a mouse, from the overview on: how many clicks each takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from context.services.profiles.scoring_profiles import ADR_0040
from memories.hygiene.maintenance import detect_pairs_in_batch, find_unused_and_expiring_memories
from memories.models import Tenant
from memories.services.hygiene.rules import NEVER_RETRIEVED_AFTER
from tests.e2e.console import QUESTION
from tests.integration.evaluation_helpers import golden
from tests.integration.page_helpers import client_of, make_bakery_memories, page, store_memories_for_pages
from tests.integration.scoring_helpers import ARGUMENT, BY_WORDS, finished_evaluation, published
from tests.integration.session_scripts import compacted, make_long_session, under_review
from tests.users import api_client, new_key, new_operator

pytestmark = pytest.mark.django_db(transaction=True)

#: Presses of the mouse that a person makes; what is typed does not count.
COUNT = "addEventListener('pointerdown', (event) => event.isTrusted && window.clicked(), true)"
UNUSED = "The Kiel workshop closes at six in the evening, on Saturdays at two."
PAIR = [
    "Frau Brodersen prefers e-mail and reads it in the evening. Does not want to be called at work.",
    "Frau Brodersen prefers e-mail and reads it in the evening, does not want to be called at work!",
]


@pytest.fixture
def clicks(console: Page, acme: Tenant, live_server: Any) -> list[int]:
    """A growing list with an entry for each click of an admin."""
    session = client_of(new_operator("ada", "admin", acme)).cookies["sessionid"].value
    console.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    made: list[int] = []
    console.expose_function("clicked", lambda: made.append(1))
    console.add_init_script(COUNT)
    return made


@pytest.mark.long
def test_main_flows_take_few_clicks(console: Page, acme: Tenant, clicks: list[int]) -> None:
    taken = {}

    @contextmanager
    def flow(name: str) -> Iterator[None]:
        console.goto(page("tenant-overview", acme))
        clicks.clear()
        yield
        taken[name] = len(clicks)

    api_client(new_key(acme, "write")).post("/api/v1/context", {"query": QUESTION, "max_tokens": 60}, format="json")
    with flow("why a memory is left out"):
        see_why_a_memory_is_left_out(console)
    with flow("budget that includes a memory, saved"):
        save_the_budget_that_includes_a_memory(console)
    under_review(acme, has_journal=True)
    compacted(make_long_session(acme, turns=40, window=4_000))
    with flow("review with a fact struck, approved"):
        approve_a_review(console)
    published(acme, "own")
    golden(acme, QUESTION, make_bakery_memories(acme)[1])
    with flow("weights changed, evaluated and published"):
        publish_changed_weights(console, acme)
    store_what_can_go(acme)
    with flow("duplicates merged, unused memories archived"):
        clean_up(console)
    undo_the_merge(console, acme)
    assert taken == {
        "why a memory is left out": 4,
        "budget that includes a memory, saved": 5,
        "review with a fact struck, approved": 4,
        "weights changed, evaluated and published": 7,
        "duplicates merged, unused memories archived": 6,
    }


def see_why_a_memory_is_left_out(console: Page) -> None:
    console.get_by_role("link", name="Preview a context").click()
    console.get_by_role("link", name=QUESTION).click()
    console.get_by_role("link", name="Explain a memory").click()
    expect(console.locator("#id_memory")).to_be_focused()
    console.keyboard.insert_text("Brodersen")
    console.locator("#found-memories [role=option]").first.click()
    expect(console.locator("#answer-title")).to_be_visible()


def save_the_budget_that_includes_a_memory(console: Page) -> None:
    console.get_by_role("link", name="Preview a context").click()
    console.get_by_role("link", name=QUESTION).click()
    console.get_by_role("link", name="Budget needed").first.click()
    console.get_by_role("link", name="Save budget").click()
    console.get_by_role("button", name="Save budget").click()
    expect(console.locator(".flash")).to_contain_text("tokens saved in default-")


def approve_a_review(console: Page) -> None:
    console.get_by_role("link", name="waits for review").click()
    console.get_by_role("link", name="Start review").click()
    console.get_by_role("button", name="Strike").first.click()
    expect(console.locator(".journal-struck")).to_have_count(1)
    console.get_by_role("button", name="Approve").first.click()
    expect(console.locator(".flash").last).to_contain_text("1 struck")


def publish_changed_weights(console: Page, tenant: Tenant) -> None:
    numbers = {**ADR_0040.to_numbers(), "weights": BY_WORDS | {"relevance": 0.5, "lexical_overlap": 0.2}}
    console.get_by_role("link", name="Scoring profiles").click()
    console.get_by_role("link", name="own", exact=True).click()
    console.locator("#id_weight_relevance").click()
    console.keyboard.press("Control+a")
    console.keyboard.type("0.5")
    console.locator("#id_weight_lexical_overlap").click()
    console.keyboard.press("Control+a")
    console.keyboard.type("0.2")
    console.get_by_role("button", name="Save and evaluate").click()
    expect(console.locator("h1")).to_contain_text("Evaluation with")
    done = finished_evaluation(tenant, numbers, shares=[0.5, 0.7] * 20, profile_name="own", profile_version=2)
    console.goto(page("evaluation", tenant, done.pk))  # as the page is when the worker has finished
    console.get_by_role("link", name="Publish version 2").click()
    expect(console.locator("#id_context")).to_be_focused()
    for text in ARGUMENT.values():
        console.keyboard.type(text)
        console.keyboard.press("Tab")
    console.get_by_role("button", name="Publish version 2").click()
    expect(console.locator(".flash", has_text="own version 2 is published")).to_be_visible()


def store_what_can_go(tenant: Tenant) -> None:
    now = timezone.now()
    for number, text in enumerate([*PAIR, UNUSED]):
        since = now - NEVER_RETRIEVED_AFTER - timedelta(days=20 - number)
        store_memories_for_pages(tenant, (text, "agent=support", "fact"), now=since)
    while detect_pairs_in_batch(tenant.pk, now=now):
        pass
    find_unused_and_expiring_memories(now=now)


def clean_up(console: Page) -> None:
    console.get_by_role("link", name="1 pair of near-duplicate memories").click()
    console.get_by_role("button", name="Keep this one").first.click()
    expect(console.locator(".flash")).to_contain_text("Merged: 1 archived, 1 kept.")
    console.get_by_role("link", name="Never retrieved").click()
    console.get_by_label("Select page").click()
    console.get_by_role("button", name="Archive…").click()
    console.get_by_role("button", name="Archive", exact=True).click()
    expect(console.locator(".flash").last).to_contain_text("archived")


def undo_the_merge(console: Page, tenant: Tenant) -> None:
    console.goto(page("activity", tenant))
    console.locator("tr", has_text="Merged memories").get_by_role("button", name="Undo").click()
    expect(console.locator(".flash").last).to_contain_text("2 memories restored")
