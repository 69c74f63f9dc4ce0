"""Toasts for background work in a real Chromium: across pages, tabs, an expired log-in and failing answers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from context.models import EvaluationRun
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import page
from tests.users import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)

#: No page pauses longer than this between two looks at its work.
PAUSE_MAX_MS = 15_000
WATCHED = re.compile(r"/job-notifications\?")
#: Stands in an answer that tells of an end.
TOLD = "data-finished"


@pytest.fixture
def console(console: Page) -> Page:
    """Somebody signed in, whose clock can be put forward."""
    console.context.clock.install()
    return console


def pause_passes(tab: Page) -> None:
    """Let all tabs look again where they still watch something, and show what they were answered."""
    tab.context.clock.fast_forward(PAUSE_MAX_MS)
    tab.wait_for_timeout(400)


@contextmanager
def answered(tab: Page, part: str = "") -> Iterator[None]:
    """Let all tabs look again after what is done meanwhile, and wait until one has an answer that contains the part.

    Tabs look by themselves too, and no more once they were told of the end: so what ends the work stands within.
    """
    with tab.context.expect_event(
        "response", lambda answer: bool(WATCHED.search(answer.url)) and (not part or part in answer.text())
    ):
        yield
        tab.context.clock.fast_forward(PAUSE_MAX_MS)


def start_evaluation(console: Page, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> UUID:
    """By the form of the page, with no worker at it."""
    monkeypatch.setattr("context.evaluation.actions.evaluations.enqueue_evaluation", lambda *_: None)
    console.goto(page("evaluations", tenant))
    console.select_option("#id_corpus", "updated_facts")
    console.get_by_role("button", name="Start", exact=True).click()
    console.wait_for_url(re.compile(r"/evaluations/[0-9a-f-]{36}"))
    with tenant_scope(tenant.pk):
        run: EvaluationRun = EvaluationRun.objects.for_tenant(tenant.pk).get()
    return run.pk


def end(tenant: Tenant, run_id: UUID, state: str = "done") -> None:
    with tenant_scope(tenant.pk):
        EvaluationRun.objects.for_tenant(tenant.pk).with_id(run_id).finish(state, timezone.now(), code="no_answer")


def test_end_of_work_is_told_on_whatever_page_one_is_and_in_one_tab(
    console: Page, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = start_evaluation(console, acme, monkeypatch)
    console.goto(page("snapshots", acme))
    other = console.context.new_page()
    other.goto(page("memories", acme))
    told = [tab.locator(".finished") for tab in (console, other)]
    end(acme, run_id)
    if not any(each.count() for each in told):  # either tab may show it, perhaps already after its first look
        console.context.clock.fast_forward(PAUSE_MAX_MS)
    for _ in range(300):  # without putting the clock forward again, which would close it
        if any(each.count() for each in told):
            break
        console.wait_for_timeout(100)
    console.wait_for_timeout(400)
    assert sum(each.count() for each in told) == 1
    tab = console if told[0].count() else other
    expect(tab.locator(".finished")).to_contain_text("done.")
    tab.locator(".finished a").click()
    expect(tab).to_have_url(re.compile(str(run_id)))
    pause_passes(tab)
    tab.goto(page("memo", acme))
    pause_passes(tab)
    assert [each.locator(".finished").count() for each in (console, other)] == [0, 0]
    other.close()


def test_failed_work_is_an_error_that_waits_to_be_closed(
    console: Page, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = start_evaluation(console, acme, monkeypatch)
    console.goto(page("snapshots", acme))
    with answered(console, TOLD):
        end(acme, run_id, "failed")
    toast = console.locator(".finished.flash-error")
    expect(toast).to_contain_text("failed. View reason")
    toast.get_by_role("button", name="Dismiss message").click()
    expect(toast).to_have_count(0)
    asked: list[str] = []
    console.on("request", lambda request: asked.append(request.url) if "/job-notifications?" in request.url else None)
    console.goto(page("memo", acme))
    pause_passes(console)
    assert asked == []


def test_page_that_shows_the_end_by_itself_has_no_toast_of_it_nor_the_one_after(
    console: Page, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = start_evaluation(console, acme, monkeypatch)
    with answered(console, TOLD):
        end(acme, run_id)
    console.wait_for_timeout(400)
    assert console.locator(".finished").count() == 0
    console.goto(page("memo", acme))
    pause_passes(console)
    assert console.locator(".finished").count() == 0


def test_errors_are_silent_and_an_expired_log_in_loses_nothing(
    console: Page, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = start_evaluation(console, acme, monkeypatch)
    console.route("**/job-notifications?*", lambda route: route.fulfill(status=500, body="no"))
    with console.expect_response(WATCHED):
        console.goto(page("memo", acme))
        pause_passes(console)
    console.wait_for_timeout(400)
    assert console.locator("#errors > *").count() == 0
    console.unroute("**/job-notifications?*")
    with answered(console):
        console.context.clear_cookies(name="sessionid")
        end(acme, run_id)
    pause_passes(console)
    assert console.locator("#errors > *, .finished").count() == 0
    console.reload()
    console.fill("#id_username", "olga")
    console.fill("#id_password", PASSWORD)
    console.get_by_role("button", name="Sign in").click()
    expect(console.locator(".finished")).to_contain_text("done.")
