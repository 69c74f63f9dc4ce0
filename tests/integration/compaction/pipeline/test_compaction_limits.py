"""Compactions that take too long, fail, are delivered twice or run while a person reads the session."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.models import Compaction, Run, Session
from compaction.pipeline import drafting, orchestrator, session_rows
from compaction.services.sessions.turns import SessionTurn
from compaction.sessions.context import read_session_conversation
from context.assembly.sources import ContextCaller
from context.receipts.results import ContextRequest
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.factories import TESTER
from tests.integration.compaction_helpers import (
    EVENTS,
    compact,
    full_session,
    hours_later,
    review,
    set_policy,
    shown,
    stored_compactions,
    stored_runs,
)
from tests.users import api_client

pytestmark = pytest.mark.django_db

SECRET = "ZANZIBAR-7741"


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """Return the runs for which a task was sent to a worker."""
    sent: list[UUID] = []
    for endpoint in ("compaction.pipeline.api.compactions", "compaction.sessions.api.sessions"):
        monkeypatch.setattr(f"{endpoint}.enqueue_compaction", lambda _tenant_id, run_id: sent.append(run_id))
    return sent


def context_of(client: APIClient, session: dict[str, Any]) -> dict[str, Any]:
    response = client.post(f"/api/v1/sessions/{session['id']}/context", {})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def queued(client: APIClient, tenant: Tenant) -> Run:
    compact(client, full_session(client), 202, wait=False)
    return stored_runs(tenant)[-1]


def test_emergency_that_takes_too_long_is_handed_to_a_worker(
    admin: APIClient, tenant: Tenant, handed_over: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = full_session(admin)
    before = shown(tenant, session["id"])
    monkeypatch.setattr(orchestrator, "EMERGENCY_TIME_LIMIT", timedelta(0))
    answer = context_of(admin, session)
    notice = next(each for each in answer["warnings"] if each["code"] == "not_compacted")
    assert "time_limit" in notice["detail"]
    assert answer["budget"]["used"] <= answer["budget"]["max_tokens"]
    run = stored_runs(tenant)[-1]
    assert (handed_over, run.state, run.attempts, run.claimed_until) == ([run.pk], "queued", 0, None)
    assert shown(tenant, session["id"]) == before
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now()).state == "applied"


@pytest.mark.parametrize("path", ["context", "compact"])
def test_long_spans_are_not_summarised_while_a_request_waits(
    admin: APIClient, tenant: Tenant, handed_over: list[UUID], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    session = full_session(admin)
    monkeypatch.setattr(orchestrator, "WAITING_SPAN_TOKENS_MAX", 1_000)
    monkeypatch.setattr(orchestrator, "draft_summary", None)
    if path == "context":
        context_of(admin, session)
    else:
        compact(admin, session, 202)
    run = stored_runs(tenant)[-1]
    assert (handed_over, run.state) == ([run.pk], "queued")


def test_request_that_waits_ends_within_a_step(
    admin: APIClient, tenant: Tenant, handed_over: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = full_session(admin)
    steps: list[str] = []
    monkeypatch.setattr(orchestrator, "note_step", steps.append)
    late = timedelta(minutes=4)
    monkeypatch.setattr(orchestrator, "clock_from", lambda now: lambda: now + late if "planned" in steps else now)
    compact(admin, session, 202)
    run = stored_runs(tenant)[-1]
    assert (steps, handed_over, run.state) == (["claimed", "planned"], [run.pk], "queued")


def test_worker_gives_up_what_takes_longer_than_its_claim(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queued(admin, tenant)
    ticks = iter(range(1_000))
    monkeypatch.setattr(orchestrator, "clock_from", lambda now: lambda: now + timedelta(minutes=2 * next(ticks)))
    outcome = orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now())
    assert (outcome.state, outcome.code) == ("failed", "time_limit")
    assert [row.state for row in stored_runs(tenant)] == ["failed"]


def test_run_that_was_taken_over_ends_at_its_next_step(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queued(admin, tenant)

    def lose(step: str) -> None:
        if step == "summarised":
            with tenant_scope(tenant.pk):
                Run.objects.for_tenant(tenant.pk).update(claimed_until=hours_later(minutes=30))
        assert step not in {"checked", "applying"}

    monkeypatch.setattr(orchestrator, "note_step", lose)
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now()).state == ""


def test_unexpected_error_ends_the_run_and_is_logged_without_text(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = full_session(admin)
    before = shown(tenant, session["id"])

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(drafting, "extract_facts", broken)
    answer = context_of(admin, session)
    assert "not_compacted" in {each["code"] for each in answer["warnings"]}
    assert [(row.state, row.error_code) for row in stored_runs(tenant)] == [("failed", "internal_error")]
    assert [row.state for row in stored_compactions(tenant)] == ["failed"]
    assert shown(tenant, session["id"]) == before
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text


def test_failed_run_is_not_tried_again_beside_a_proposal(admin: APIClient, tenant: Tenant) -> None:
    set_policy(tenant, decision="review")
    session = full_session(admin)
    compact(admin, session, 202, wait=False)
    run = stored_runs(tenant)[-1]
    with tenant_scope(tenant.pk):
        Run.objects.for_tenant(tenant.pk).update(state="failed")
        Compaction.objects.for_tenant(tenant.pk).update(state="failed")
    proposal = compact(admin, session)["compaction"]
    assert proposal["state"] == "proposed"
    refused = admin.post(f"{EVENTS}/{run.pk}/retry", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "waits_for_review")
    assert admin.get(f"{EVENTS}/{run.pk}").json()["state"] == "failed"
    review(admin, proposal, "reject")
    assert admin.post(f"{EVENTS}/{run.pk}/retry", {}).status_code == 202
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now()).state == "proposed"


def test_proposal_that_comes_first_is_not_overtaken(admin: APIClient, tenant: Tenant) -> None:
    run = queued(admin, tenant)
    with tenant_scope(tenant.pk):
        session = Session.objects.for_tenant(tenant.pk).get()
        Compaction.objects.create(
            tenant=tenant, session=session, trigger="manual", state="proposed", policy={}, created_at=timezone.now()
        )
    outcome = orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now())
    assert (outcome.state, outcome.code) == ("failed", "waits_for_review")
    assert {row.state for row in stored_compactions(tenant)} == {"failed", "proposed"}


def test_the_later_compaction_is_rolled_back_first_whatever_the_clocks_show(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    first = compact(admin, session)["compaction"]
    with tenant_scope(tenant.pk):
        Compaction.objects.for_tenant(tenant.pk).update(
            compacted_at=hours_later(minutes=3), created_at=hours_later(minutes=3)
        )
    set_policy(tenant, target=0.1, preserve_messages=1, retention_floor=0.0)
    second = compact(admin, session)["compaction"]
    review(admin, first, "rollback", 409)
    review(admin, second, "rollback")
    review(admin, first, "rollback")


def test_context_read_while_the_session_is_compacted_shows_before_or_after(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queued(admin, tenant)
    outlined, left = session_rows.outlines_to_turns, [run.pk]

    def in_between(rows: Any, *, model: str) -> list[SessionTurn]:
        if left:
            orchestrator.run_compaction(tenant.pk, left.pop(), now=timezone.now())
        return outlined(rows, model=model)

    monkeypatch.setattr(session_rows, "outlines_to_turns", in_between)
    assert run.session_id
    caller = ContextCaller(tenant.pk, TESTER, timezone.now())
    read = read_session_conversation(run.session_id, ContextRequest(), caller)
    assert not left
    assert read.session.current is not None
    assert read.summary is not None
    assert read.summary.compaction_id == read.session.current_id
    assert len(read.turns) == len([row for row in shown(tenant, str(run.session_id)) if isinstance(row[0], int)])


def test_context_fits_into_the_smallest_window(admin: APIClient) -> None:
    session = full_session(admin, pairs=3, window=256)
    answer = context_of(admin, session)
    assert answer["messages"][0]["content"] == "You help Alex."
    assert 0 < answer["budget"]["used"] <= answer["budget"]["max_tokens"] == 218
