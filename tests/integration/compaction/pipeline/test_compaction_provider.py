"""Compaction with a model behind a real HTTP server that responds correctly, incorrectly, late or not at all."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.models import ProviderBreaker, Run
from compaction.pipeline import breakers, drafting, orchestrator
from compaction.pipeline.summarisers import SummaryTask
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.fakes.chat_server import (
    FAKE_CHAT_API_KEY,
    FAKE_CHAT_MODEL,
    ChatAnswer,
    ChatMode,
    ChatServer,
    bad_citations,
    completion,
    failing_chat,
    garbage,
    is_journal,
    lines_of,
    running_chat_server,
    saying,
    slow_chat,
    too_long,
)
from tests.integration.compaction_helpers import (
    compact,
    conversation,
    full_session,
    hours_later,
    review,
    set_policy,
    shown,
    stored_compactions,
    stored_runs,
)
from tests.integration.session_helpers import append, read, stored_session
from tests.users import api_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(settings: Any) -> Iterator[ChatServer]:
    with running_chat_server() as server:
        settings.LLM_BASE_URL, settings.LLM_API_KEY, settings.LLM_MODEL = server.base_url, FAKE_CHAT_API_KEY, ""
        server.items_max = 12
        yield server
        settings.LLM_BASE_URL = settings.LLM_API_KEY = ""


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def breaker_of(tenant: Tenant) -> ProviderBreaker:
    with tenant_scope(tenant.pk):
        row: ProviderBreaker = ProviderBreaker.objects.for_tenant(tenant.pk).get()
        return row


def queued(client: Any, tenant: Tenant) -> tuple[dict[str, Any], Run]:
    session = full_session(client)
    compact(client, session, 202, wait=False)
    return session, stored_runs(tenant)[-1]


def test_model_writes_summary_and_journal(admin: APIClient, tenant: Tenant, server: ChatServer) -> None:
    session = full_session(admin)
    before = shown(tenant, session["id"])
    made = compact(admin, session)["compaction"]
    assert (made["summariser"], made["model"], made["prompt_version"]) == ("openai", FAKE_CHAT_MODEL, 1)
    assert not made["is_fallback"]
    assert made["state"] in {"applied", "proposed"}
    assert [is_journal(body) for body in server.requests] == [False, True]
    assert made["journal"]
    if made["state"] == "proposed":
        review(admin, made, "approve")
    assert read(admin, session)["pressure"] < 0.7
    review(admin, made, "rollback")
    assert shown(tenant, session["id"]) == before


def test_earlier_statements_are_sent_along_and_keep_their_messages(
    admin: APIClient, tenant: Tenant, server: ChatServer
) -> None:
    set_policy(tenant, retention_floor=0.0)
    session = full_session(admin)
    first = compact(admin, session)["compaction"]
    append(admin, session, *conversation(25, start=100))
    second = compact(admin, session)["compaction"]
    taken = [statement for statement in second["statements"] if statement["is_from_earlier"]]
    assert taken
    known = {source for statement in first["statements"] for source in statement["message_ids"]}
    assert all(set(statement["message_ids"]) <= known for statement in taken)


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        (failing_chat(429), "rate_limited"),
        (failing_chat(500), "provider_error"),
        (garbage, "not_json"),
        (saying(""), "empty"),
        (too_long, "over_budget"),
        (bad_citations, "unknown_citation"),
        (saying('{"statements": [{"text": "Zebras dance upon Jupiter.", "messages": [1]}]}'), "unsupported"),
    ],
)
def test_model_that_fails_temporarily_is_retried_and_then_replaced_by_rules(
    admin: APIClient, tenant: Tenant, server: ChatServer, mode: ChatMode, code: str
) -> None:
    server.mode = mode
    session, run = queued(admin, tenant)
    before = shown(tenant, session["id"])
    now = timezone.now()
    for attempt in (1, 2):
        outcome = orchestrator.run_compaction(tenant.pk, run.pk, now=now)
        assert (outcome.state, outcome.code) == ("pending", code)
        assert outcome.wait is not None
        assert outcome.wait >= timedelta(seconds=5 * attempt)
        assert shown(tenant, session["id"]) == before
        too_soon = orchestrator.run_compaction(tenant.pk, run.pk, now=now + outcome.wait / 2)
        assert too_soon.state == "", "taken before the wait was over"
        now += outcome.wait + timedelta(seconds=30)  # the first attempt may take long on a busy machine
    outcome = orchestrator.run_compaction(tenant.pk, run.pk, now=now)
    assert outcome.state == "applied"
    made = stored_compactions(tenant)[0]
    assert (made.summariser, made.is_fallback, made.model, made.prompt_version) == ("extractive", True, "", 0)
    assert [warning["code"] for warning in made.warnings] == ["fallback"]
    assert code in made.warnings[0]["detail"]
    assert stored_session(tenant, session["id"]).pressure < 0.7
    assert len(server.requests) == 3


def test_model_that_refuses_for_good_is_done_without_at_once(
    admin: APIClient, tenant: Tenant, server: ChatServer
) -> None:
    server.mode = failing_chat(401)
    _, run = queued(admin, tenant)
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now()).state == "applied"
    assert stored_compactions(tenant)[0].is_fallback


def test_requested_waiting_time_is_kept(admin: APIClient, tenant: Tenant, server: ChatServer) -> None:
    server.mode = failing_chat(429, Retry_After="90")
    _, run = queued(admin, tenant)
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now()).wait == timedelta(seconds=90)


def test_late_answer_is_given_up(admin: APIClient, tenant: Tenant, server: ChatServer, settings: Any) -> None:
    settings.LLM_TIMEOUT_SECONDS = 0.3
    server.mode = slow_chat(1.0)
    session = full_session(admin)
    made = compact(admin, session)["compaction"]
    assert (made["state"], made["is_fallback"]) == ("applied", True)
    assert "timeout" in made["warnings"][0]["detail"]


def test_breaker_opens_after_three_failures_and_closes_after_its_cooldown(
    admin: APIClient, tenant: Tenant, other_tenant: Tenant, server: ChatServer
) -> None:
    server.mode = failing_chat(500)
    now = timezone.now()
    for number in range(3):
        assert not breakers.is_provider_off(tenant.pk, "openai", now=now)
        compact(admin, full_session(admin))
        assert breaker_of(tenant).failures == number + 1
    assert breakers.is_provider_off(tenant.pk, "openai", now=hours_later(seconds=1))
    assert not breakers.is_provider_off(other_tenant.pk, "openai", now=hours_later(seconds=1))
    request_count = len(server.requests)
    made = compact(admin, full_session(admin))["compaction"]
    assert len(server.requests) == request_count, "a provider that is off was asked"
    assert "provider_off" in made["warnings"][0]["detail"]
    after = breaker_of(tenant).open_until + timedelta(seconds=1)
    assert not breakers.is_provider_off(tenant.pk, "openai", now=after)
    _, run = queued(admin, tenant)
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=after).state == "applied"
    assert breakers.is_provider_off(tenant.pk, "openai", now=after + timedelta(minutes=1)), "one failure opens it again"
    server.mode = type(server).mode
    _, run = queued(admin, tenant)
    healthy = after + timedelta(minutes=20)
    orchestrator.run_compaction(tenant.pk, run.pk, now=healthy)
    assert stored_compactions(tenant)[-1].summariser == "openai"
    assert (breaker_of(tenant).failures, breaker_of(tenant).open_until) == (0, None)


def test_text_that_the_model_will_not_take_does_not_open_the_breaker(
    admin: APIClient, tenant: Tenant, server: ChatServer
) -> None:
    server.mode = failing_chat(413)
    compact(admin, full_session(admin))
    with tenant_scope(tenant.pk):
        assert not ProviderBreaker.objects.for_tenant(tenant.pk).failing().exists()


def test_journal_that_fails_is_kept_by_rules(admin: APIClient, tenant: Tenant, server: ChatServer) -> None:
    good = server.mode
    server.mode = lambda its, body: garbage(its, body) if is_journal(body) else good(its, body)
    made = compact(admin, full_session(admin))["compaction"]
    assert made["summariser"] == "openai"
    assert made["journal"]
    assert [warning["code"] for warning in made["warnings"]] == ["fallback"]


def test_result_that_does_not_shrink_is_refused(
    admin: APIClient, tenant: Tenant, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:

    def all_of_it_again_and_again(_server: ChatServer, body: dict[str, Any]) -> ChatAnswer:
        lines = [line for line in lines_of(body) if line["role"] == "user"]
        items = [{"text": " ".join([line["text"]] * 3), "messages": [line["n"]]} for line in lines]
        return completion(json.dumps({"statements": items}))

    server.mode = all_of_it_again_and_again
    generous = drafting.SummaryTask

    def task_without_bounds(**values: Any) -> SummaryTask:
        return generous(**{**values, "budget_tokens": 60_000})

    monkeypatch.setattr(drafting, "SummaryTask", task_without_bounds)
    session = full_session(admin, pairs=30)
    before = shown(tenant, session["id"])
    answer = compact(admin, session)
    assert (answer["state"], answer["compaction"]["error"]["code"]) == ("failed", "does_not_shrink")
    assert shown(tenant, session["id"]) == before


def test_regenerating_takes_another_model_and_prompt(admin: APIClient, tenant: Tenant, server: ChatServer) -> None:
    set_policy(tenant, decision="review")
    admin.put("/api/v1/prompts", {"text": "Only names.  At most {budget_tokens} tokens."})
    made = compact(admin, full_session(admin))["compaction"]
    assert made["prompt_version"] == 2
    assert "Only names." in server.requests[0]["messages"][0]["content"]
    review(admin, made, "regenerate", 202, model="gpt-4o-mini", prompt_version=1)
    orchestrator.run_compaction(tenant.pk, stored_runs(tenant)[-1].pk, now=hours_later(seconds=1))
    again = stored_compactions(tenant)[-1]
    assert (again.model, again.prompt_version, again.state) == ("gpt-4o-mini", 1, "proposed")
    assert {body["model"] for body in server.requests[-2:]} == {"gpt-4o-mini"}


def test_message_never_leaves_in_a_log(
    admin: APIClient, tenant: Tenant, server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="compaction")
    server.mode = failing_chat(500)
    compact(admin, full_session(admin))
    assert "Lisbon" not in caplog.text
    assert "secret" not in caplog.text
