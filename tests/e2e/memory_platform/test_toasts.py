"""Job notifications in Chromium: across pages and tabs, with an expired sign-in and failed requests."""

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

#: The longest interval at which a page polls for its jobs.
PAUSE_MAX_MS = 15_000
WATCHED = re.compile(r"/job-notifications\?")
#: A part of each response that reports the end of a job.
FINISHED = "data-finished"


@pytest.fixture
def console(console: Page) -> Page:
    """A page of a signed-in operator with a clock that the test controls."""
    console.context.clock.install()
    return console


def pause_passes(tab: Page) -> None:
    """Let all tabs that still poll send a request and show the response."""
    tab.context.clock.fast_forward(PAUSE_MAX_MS)
    tab.wait_for_timeout(400)


@contextmanager
def answered(tab: Page, part: str = "") -> Iterator[None]:
    """Run the block, let all tabs poll, and wait for a response that contains `part`.

    Tabs also poll by themselves, and stop after the end of the job, so the block must end the job.
    """
    with tab.context.expect_event(
        "response", lambda answer: bool(WATCHED.search(answer.url)) and (not part or part in answer.text())
    ):
        yield
        tab.context.clock.fast_forward(PAUSE_MAX_MS)


def start_evaluation(console: Page, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> UUID:
    """Start an evaluation with the form of its page; no worker runs it."""
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


def test_end_of_a_job_is_shown_on_any_page_and_in_one_tab(
    console: Page, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = start_evaluation(console, acme, monkeypatch)
    console.goto(page("snapshots", acme))
    other = console.context.new_page()
    other.goto(page("memories", acme))
    toasts = [tab.locator(".finished") for tab in (console, other)]
    end(acme, run_id)
    if not any(each.count() for each in toasts):  # either tab may show it, perhaps after its first request
        console.context.clock.fast_forward(PAUSE_MAX_MS)
    for _ in range(300):  # moving the clock forward again would close it
        if any(each.count() for each in toasts):
            break
        console.wait_for_timeout(100)
    console.wait_for_timeout(400)
    assert sum(each.count() for each in toasts) == 1
    tab = console if toasts[0].count() else other
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
    with answered(console, FINISHED):
        end(acme, run_id, "failed")
    toast = console.locator(".finished.flash-error")
    expect(toast).to_contain_text("failed. View reason")
    toast.get_by_role("button", name="Dismiss message").click()
    expect(toast).to_have_count(0)
    requests: list[str] = []
    console.on(
        "request", lambda request: requests.append(request.url) if "/job-notifications?" in request.url else None
    )
    console.goto(page("memo", acme))
    pause_passes(console)
    assert requests == []


def test_page_that_shows_the_end_by_itself_has_no_toast_of_it_nor_the_one_after(
    console: Page, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = start_evaluation(console, acme, monkeypatch)
    with answered(console, FINISHED):
        end(acme, run_id)
    console.wait_for_timeout(400)
    assert console.locator(".finished").count() == 0
    console.goto(page("memo", acme))
    pause_passes(console)
    assert console.locator(".finished").count() == 0


def test_errors_are_silent_and_an_expired_sign_in_loses_nothing(
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
