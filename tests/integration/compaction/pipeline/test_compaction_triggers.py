"""When sessions are compacted automatically: idle ones by the sweep, full ones when a context is requested."""

import logging
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from compaction import tasks
from compaction.models import Run, Session
from compaction.pipeline import fallback, orchestrator, scheduling
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.actions.budget_profiles import create_budget_profile
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.schedule import BEAT_SCHEDULE
from tests.fakes.chat_server import FAKE_CHAT_API_KEY, ChatServer, running_chat_server, slow_chat
from tests.integration.compaction_helpers import (
    compact,
    full_session,
    live_memories,
    message_pair,
    review,
    set_policy,
    shown,
    stored_compactions,
    stored_runs,
)
from tests.integration.rest_helpers import CONTEXT, assert_problem, post_memory
from tests.integration.session_helpers import append, assistant, open_session, read, user
from tests.users import BY, api_client

pytestmark = pytest.mark.django_db

#: A run whose task was lost is sent again by then.
RESUME_MAX_SECONDS = 90.0


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def sweep(*, minutes: float = 11) -> int:
    return len(scheduling.open_idle_sessions(now=timezone.now() + timedelta(minutes=minutes)))


def context_of(client: Any, session: dict[str, Any], **options: Any) -> dict[str, Any]:
    response = client.post(f"/api/v1/sessions/{session['id']}/context", options)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def codes(answer: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in answer["warnings"]}


# --- Idle sessions ---------------------------------------------------------------------------------------------------


def test_idle_session_over_its_threshold_is_compacted_once(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    assert sweep(minutes=5) == 0, "it is not idle yet"
    assert sweep() == 1
    assert sweep() == 0, "a run is open"
    run = stored_runs(tenant)[0]
    orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now() + timedelta(minutes=12))
    assert read(admin, session)["pressure"] < 0.7
    assert stored_compactions(tenant)[0].trigger == "scheduled"
    assert sweep() == 0


def test_session_below_its_threshold_or_switched_off_is_left_alone(admin: APIClient, tenant: Tenant) -> None:
    full_session(admin, window=20_000)
    full_session(admin, window=6_000)
    set_policy(tenant, has_scheduled=False)
    assert sweep() == 0
    set_policy(tenant, sleep_threshold=0.99, target=0.5, emergency_threshold=0.99)
    assert sweep() == 0


def test_each_session_has_the_policy_of_its_partition(admin: APIClient, tenant: Tenant) -> None:
    lax = full_session(admin, window=12_000, user_id="lax")
    full_session(admin, window=12_000, user_id="strict")
    assert 0.3 < read(admin, lax)["pressure"] < 0.7
    with tenant_scope(tenant.pk):
        numbers = {"sleep_threshold": 0.3, "target": 0.2, "idle_minutes": 2}
        changes = {"compaction": numbers}
        create_budget_profile(tenant_id=tenant.pk, name="strict", changes=changes, by=BY, now=timezone.now())
        assign_budget_profile(
            tenant_id=tenant.pk,
            profile_name="strict",
            partition_path="user=strict",
            by=BY,
            now=timezone.now(),
        )
    assert sweep(minutes=3) == 1
    with tenant_scope(tenant.pk):
        assert stored_runs(tenant)[0].session.partition_path == "user=strict"


def test_what_people_undid_or_refused_is_not_done_again_by_itself(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    made = compact(admin, session)["compaction"]
    review(admin, made, "rollback")
    assert sweep() == 0
    append(admin, session, *message_pair(77))
    assert sweep() == 1


def test_sweep_is_bounded_and_continues_where_it_stopped(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "SESSIONS_BATCH", 2)
    for _ in range(5):
        full_session(admin)
    assert [sweep(), sweep(), sweep(), sweep()] == [2, 2, 1, 0]


def test_tasks_send_what_the_sweeps_find(admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, Any]] = []
    monkeypatch.setattr(tasks, "enqueue_compaction", lambda *ids: sent.append(ids))
    session = full_session(admin)
    with tenant_scope(tenant.pk):
        Session.objects.update(last_message_at=timezone.now() - timedelta(minutes=20))
    assert tasks.sweep_sessions() == 1
    run = stored_runs(tenant)[0]
    assert sent == [(tenant.pk, run.pk)]
    assert tasks.sweep_runs() == 0, "it was only just sent"
    interval = BEAT_SCHEDULE["Resume abandoned compactions"]["schedule"]
    with tenant_scope(tenant.pk):
        Run.objects.update(created_at=timezone.now() - timedelta(seconds=RESUME_MAX_SECONDS - interval))
    assert tasks.sweep_runs() == 1
    tasks.run_compaction_task.apply(args=(str(tenant.pk), str(run.pk)), throw=True)
    assert read(admin, session)["pressure"] < 0.7
    assert tasks.sweep_runs() == 0


# --- Full sessions ---------------------------------------------------------------------------------------------------


def test_full_session_is_compacted_for_its_context(
    admin: APIClient, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    session = full_session(admin)
    caplog.set_level(logging.WARNING, logger="compaction")
    answer = context_of(admin, session)
    assert "compacted_in_emergency" in codes(answer)
    assert "emergency" in caplog.text
    assert stored_compactions(tenant)[0].trigger == "emergency"
    assert read(admin, session)["pressure"] < 0.7
    assert "compacted_in_emergency" not in codes(context_of(admin, session))


def test_session_at_work_elsewhere_is_trimmed_with_a_warning(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    compact(admin, session, 202, wait=False)
    with tenant_scope(tenant.pk):
        now = timezone.now()
        assert Run.objects.for_tenant(tenant.pk).claim(
            stored_runs(tenant)[0].pk, now=now, until=now + orchestrator.COMPACTION_LEASE
        )
    before = shown(tenant, session["id"])
    answer = context_of(admin, session)
    assert "not_compacted" in codes(answer)
    assert answer["budget"]["used"] <= answer["budget"]["max_tokens"]
    assert shown(tenant, session["id"]) == before


def test_run_that_waits_for_a_worker_is_done_in_the_request(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    compact(admin, session, 202, wait=False)
    assert "compacted_in_emergency" in codes(context_of(admin, session))
    assert [run.state for run in stored_runs(tenant)] == ["done"]


def test_policy_that_waits_for_review_trims_meanwhile(admin: APIClient, tenant: Tenant) -> None:
    set_policy(tenant, decision="review")
    session = full_session(admin)
    for _ in range(2):
        assert "not_compacted" in codes(context_of(admin, session))
    assert [row.state for row in stored_compactions(tenant)] == ["proposed"]


@pytest.fixture
def server(settings: Any) -> Iterator[ChatServer]:
    with running_chat_server() as server:
        settings.LLM_BASE_URL, settings.LLM_API_KEY = server.base_url, FAKE_CHAT_API_KEY
        yield server
        settings.LLM_BASE_URL = settings.LLM_API_KEY = ""


SLOW_SECONDS = 20


def test_slow_model_does_not_delay_a_context(
    admin: APIClient, tenant: Tenant, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The model gets half a second of the limit; the rest is enough for the rules even on a busy machine.
    monkeypatch.setattr(orchestrator, "EMERGENCY_TIME_LIMIT", timedelta(seconds=60))
    monkeypatch.setattr(fallback, "SECONDS_FOR_RULES", 59.5)
    server.mode = slow_chat(SLOW_SECONDS)
    session = full_session(admin)
    began = time.monotonic()
    answer = context_of(admin, session)
    assert time.monotonic() - began < SLOW_SECONDS
    assert "compacted_in_emergency" in codes(answer)
    assert stored_compactions(tenant)[0].is_fallback


# --- Where facts come from -------------------------------------------------------------------------------------------


def test_recalled_text_never_becomes_a_journal_entry(admin: APIClient, tenant: Tenant) -> None:
    secret = "Sam keeps the emerald in the blue teapot since March 2024."
    post_memory(admin, secret)
    recalled = admin.post(CONTEXT, {"query": "emerald"}).json()["text"]
    assert secret in recalled
    session = open_session(admin, max_context_tokens=4_000)
    append(admin, session, user(f"Here is what I know:\n{recalled}"), assistant(f"I remember. {secret} Good."))
    append(admin, session, *(message for number in range(40) for message in message_pair(number)))
    made = compact(admin, session)["compaction"]
    assert made["journal"]
    assert not any("emerald" in entry["text"] for entry in made["journal"])
    assert not any("emerald" in memory.content for memory in live_memories(tenant, "journal"))


def test_fact_that_is_stored_already_is_not_stored_again(admin: APIClient, tenant: Tenant) -> None:
    first = compact(admin, full_session(admin))["compaction"]
    stored = {memory.pk for memory in live_memories(tenant, "journal")}
    second = compact(admin, full_session(admin))["compaction"]
    assert {entry["status"] for entry in second["journal"]} <= {"duplicate", "near_duplicate"}
    assert {memory.pk for memory in live_memories(tenant, "journal")} == stored
    review(admin, first, "rollback")
    assert {memory.pk for memory in live_memories(tenant, "journal")} == stored, "another summary rests on them"


# --- What if ---------------------------------------------------------------------------------------------------------


def test_simulation_plays_the_session_through_and_writes_nothing(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    before = shown(tenant, session["id"])
    url = f"/api/v1/sessions/{session['id']}/simulate"
    simulation = admin.post(url, {"emergency_threshold": 0.75, "price_per_million": 2.5}).json()
    assert simulation["compactions"] >= 1
    assert simulation["peak"] <= 1.0
    assert simulation["points"][-1]["sequence"] == len(before) - 2
    assert simulation["cost"]["price"] > 0
    assert admin.post(url, {"has_emergency": False}).json()["compactions"] == 0
    assert shown(tenant, session["id"]) == before
    assert_problem(admin.post(url, {"target": 0.9, "sleep_threshold": 0.5}), 400, "not_below_threshold", "target")
    assert_problem(admin.post(url, {"target": 7}), 400, "out_of_range", "target")
    assert_problem(admin.post(url, {"speed": 7}), 400, "unknown_field", "speed")


def test_trial_shows_that_rules_use_no_prompt(admin: APIClient) -> None:
    trial = admin.post("/api/v1/prompts/trial", {"session_id": full_session(admin)["id"], "text": "Shout."}).json()
    assert (trial["summariser"], [warning["code"] for warning in trial["warnings"]]) == (
        "extractive",
        ["prompt_unused"],
    )


def test_prompt_is_tried_saved_and_rolled_back(
    admin: APIClient, api: APIClient, tenant: Tenant, server: ChatServer
) -> None:
    assert api.get("/api/v1/prompts").json()["current"]["version"] == 1
    session = full_session(admin)
    text = "Only what was sold. At most {budget_tokens} tokens."
    trial = admin.post("/api/v1/prompts/trial", {"session_id": session["id"], "text": text}).json()
    assert trial["summary"]
    assert {warning["code"] for warning in trial["warnings"]} <= {"unsupported_dropped"}, "the model was not used"
    assert "Only what was sold." in server.requests[0]["messages"][0]["content"]
    assert stored_compactions(tenant) == []
    assert_problem(api.put("/api/v1/prompts", {"text": text}), 403, "scope_missing")
    saved = admin.put("/api/v1/prompts", {"text": text, "edited_from": 1}).json()
    assert saved["version"] == 2
    assert_problem(admin.put("/api/v1/prompts", {"text": "x", "edited_from": 1}), 409, "prompt_changed")
    back = admin.post("/api/v1/prompts/rollback", {"version": 1}).json()
    prompts = api.get("/api/v1/prompts").json()
    assert (back["version"], prompts["current"]["version"]) == (3, 3)
    assert [row["version"] for row in prompts["versions"]] == [3, 2, 1]
    assert prompts["current"]["text"] == prompts["versions"][-1]["text"]
    assert_problem(admin.post("/api/v1/prompts/rollback", {"version": 9}), 400, "unknown_version", "prompt_version")
