"""Long sessions with faults: a model that fails in every way in turn, and Redis restarted while workers compact."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.models import ProviderBreaker, Run
from compaction.pipeline import breakers
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.architecture import ROOT
from tests.fakes.chat_server import (
    FAKE_CHAT_API_KEY,
    ChatMode,
    ChatServer,
    answering,
    failing_chat,
    garbage,
    running_chat_server,
    slow_chat,
    too_long,
)
from tests.integration.compaction.pipeline.test_compaction_faults import AFTER, STEPS, Runtime, wait_for
from tests.integration.compaction_helpers import (
    full_session,
    live_memories,
    review,
    set_policy,
    stored_compactions,
    stored_runs,
)
from tests.integration.long_sessions import (
    NEEDS_CONVERSATION,
    SLEEP_PRESSURE,
    LongSessionRow,
    MovingClock,
    PlayedSession,
    clock,
    conversation_data,
    session_sittings,
)
from tests.integration.session_helpers import read
from tests.users import api_client

__all__ = ["clock"]

pytestmark = pytest.mark.long

WINDOW = 1_600
MESSAGES = 120
#: How the model responds during each compaction, and the code of its failure; "" if it works.
PHASES: list[tuple[ChatMode, str]] = [
    (answering, ""),
    (slow_chat(0.6), "timeout"),
    (failing_chat(429, Retry_After="20"), "rate_limited"),
    (failing_chat(500), "provider_error"),
    (garbage, "not_json"),
    (too_long, "over_budget"),
]


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def answer_by(server: ChatServer, settings: Any, phase: tuple[ChatMode, str]) -> None:
    """Set the model's behaviour; only a late model gets a short time limit, or a busy machine would seem late."""
    server.mode, code = phase
    settings.LLM_TIMEOUT_SECONDS = 0.3 if code == "timeout" else 30.0


@pytest.fixture
def server(settings: Any) -> Iterator[ChatServer]:
    with running_chat_server() as server:
        settings.LLM_BASE_URL, settings.LLM_API_KEY, settings.LLM_MODEL = server.base_url, FAKE_CHAT_API_KEY, ""
        server.items_max = 12
        yield server
        settings.LLM_BASE_URL = settings.LLM_API_KEY = ""


def short_sittings() -> Iterator[list[LongSessionRow]]:
    """Append the beginning of the conversation without the long outputs, a few messages at a time."""
    rows = [row for _, each in session_sittings(conversation_data()) for row in each if len(row["content"] or "") < 512]
    calls = {row["tool_call_id"] for row in rows if row["role"] == "tool"}
    whole = [row for row in rows if not row.get("tool_calls") or row["tool_calls"][0]["id"] in calls][:MESSAGES]
    yield from (whole[start : start + 5] for start in range(0, len(whole), 5))


@pytest.mark.django_db
@NEEDS_CONVERSATION
def test_model_that_fails_in_every_way_in_turn_never_leaves_a_session_over_budget_or_half_done(
    admin: APIClient, tenant: Tenant, clock: MovingClock, server: ChatServer, settings: Any
) -> None:
    set_policy(tenant, emergency_threshold=0.95, preserve_messages=8, retention_floor=0.0)
    played = PlayedSession(admin, tenant, clock, WINDOW)
    phase_count = 0
    for rows in short_sittings():
        played.say(rows)
        if played.read()["pressure"] < SLEEP_PRESSURE:
            continue
        phase = PHASES[phase_count % len(PHASES)]
        answer_by(server, settings, phase)
        request_count = len(server.requests)
        if not played.slept(hours=1):
            continue  # the preserved messages alone need too much, or the span is too small
        check_phase(played, phase[1], len(server.requests) - request_count)
        phase_count += 1
    assert phase_count >= len(PHASES)
    assert len(played.rows) >= MESSAGES - 10
    assert {run.state for run in stored_runs(tenant)} == {"done"}
    for row in reversed(played.compactions()):
        review(admin, row, "rollback")
        before = played.before[row["id"]].messages
        assert played.everything().messages[: len(before)] == before
    assert live_memories(tenant) == []
    shown = played.everything().messages[1:]
    assert [message.get("content") or "" for message in shown] == [row["content"] for row in played.rows]


def check_phase(played: PlayedSession, code: str, request_count: int) -> None:
    """The model succeeds, or is tried three times; then rules take over, mark the result and pause the provider."""
    made, run = stored_compactions(played.tenant)[-1], stored_runs(played.tenant)[-1]
    assert (made.state, run.state, made.trigger) == ("applied", "done", "scheduled")
    assert played.read()["context_tokens"] == played.everything().tokens == made.tokens_after < made.tokens_before
    with tenant_scope(played.tenant.pk):
        breaker = ProviderBreaker.objects.for_tenant(played.tenant.pk).first()
    if not code:
        assert (made.summariser, made.is_fallback, run.attempts, request_count) == ("openai", False, 1, 2)
        assert breaker is None or breaker.failures == 0
        return
    assert (made.summariser, made.is_fallback) == ("extractive", True)
    assert code in next(warning["detail"] for warning in made.warnings if warning["code"] == "fallback")
    assert request_count == run.attempts
    assert breaker is not None
    assert breaker.open_until is not None
    assert breakers.is_provider_off(played.tenant.pk, "openai", now=breaker.open_until - timedelta(minutes=1))


@pytest.mark.django_db
@NEEDS_CONVERSATION
def test_emergencies_with_a_failing_model_are_met_within_the_request(
    admin: APIClient, tenant: Tenant, clock: MovingClock, server: ChatServer, settings: Any
) -> None:
    set_policy(tenant, has_scheduled=False, retention_floor=0.0)
    played = PlayedSession(admin, tenant, clock, WINDOW)
    for number, rows in enumerate(short_sittings()):
        answer_by(server, settings, PHASES[len(played.before) % len(PHASES)])
        played.say(rows)
        clock.move(minutes=20)
        if number == 21:
            break
    made = stored_compactions(tenant)
    assert len(made) >= 3
    assert {row.trigger for row in made} == {"emergency"}
    assert {row.state for row in made} == {"applied"}
    assert {row.is_fallback for row in made} == {False, True}
    assert {run.state for run in stored_runs(tenant)} == {"done"}


# --- Workers of their own --------------------------------------------------------------------------------------------

REQUEST = """
from tests.users import api_client
client = api_client(sys.argv[1])
urls = [f"/api/v1/sessions/{each}/compact" for each in sys.argv[2:]]
statuses = [client.post(url, {}, HTTP_HOST="localhost").status_code for url in urls]
assert statuses == [202] * len(statuses), statuses
"""
# The worker may already have taken all runs, because each run that ends is followed by the one that has waited longest.
SWEEP = "from compaction import tasks\ntasks.sweep_runs()"


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with running_chat_server() as server:
        server.mode = slow_chat(1.0)
        runtime = Runtime(tmp_path, LLM_BASE_URL=server.base_url, LLM_API_KEY=FAKE_CHAT_API_KEY)
        try:
            yield runtime
        finally:
            runtime.end()


@pytest.mark.django_db(transaction=True)
def test_work_requested_before_and_during_a_redis_outage_is_done_afterwards(
    admin: APIClient, admin_key: str, tenant: Tenant, runtime: Runtime
) -> None:
    """One compaction runs when Redis stops, one is queued in it, and one is requested while it is down."""
    set_policy(tenant, retention_floor=0.0)
    sessions = [full_session(admin, user_id=f"user{number}") for number in range(3)]
    runtime.call(REQUEST, admin_key, *(each["id"] for each in sessions[:2]))
    wait_for(lambda: any(run.state == "running" for run in stored_runs(tenant)), runtime)
    runtime.stop_redis()
    runtime.call(REQUEST, admin_key, sessions[2]["id"])
    last_run = stored_runs(tenant)[-1]
    assert last_run.state == "queued"
    runtime.start()
    with tenant_scope(tenant.pk):
        Run.objects.for_tenant(tenant.pk).update(created_at=timezone.now() - timedelta(minutes=5))
    runtime.call(SWEEP)
    wait_for(lambda: all(run.state == "done" for run in stored_runs(tenant)), runtime)
    assert [run.attempts for run in stored_runs(tenant)] == [1, 1, 1]
    assert sorted(row.state for row in stored_compactions(tenant)) == ["applied"] * 3
    for session in sessions:
        assert read(admin, session)["pressure"] < 0.7
    assert len(live_memories(tenant, "context_synthesis")) == len(sessions)


def test_workers_are_killed_at_every_named_step() -> None:
    sources = [(ROOT / "compaction" / "pipeline" / name).read_text() for name in ("orchestrator.py", "drafting.py")]
    call = re.compile(r'_step\((?:claim, )?"(\w+)"')
    named = {name for source in sources for name in call.findall(source)}
    assert named == {*STEPS, AFTER}
