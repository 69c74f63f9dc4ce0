"""Requests that take too long are cancelled, and those with large bodies wait for each other."""

from contextlib import ExitStack
from threading import BoundedSemaphore

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.services.time_limits import TimeIsUpError, in_time
from memories.tenancy.api import endpoint
from memories.tenancy.api.slow_requests import OF_ALL_MAX, OF_TENANT_MAX, slow_requests
from memory_platform.console import time_limits
from tests.factories import make_memory
from tests.integration.page_helpers import client_of, page, text_of
from tests.integration.rest_helpers import CONTEXT, MEMORIES, assert_problem
from tests.users import api_client, new_key


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limits, "REQUEST_SECONDS", -1.0)


def test_context_that_takes_too_long_is_a_problem_and_leaves_no_receipt(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(MEMORIES, {"content": "Green tea costs 5 euros."})
    with monkeypatch.context() as patch:
        patch.setattr(time_limits, "REQUEST_SECONDS", -1.0)
        answer = api.post(CONTEXT, {"query": "green tea", "max_tokens": 500})
        assert (answer.status_code, answer.json()["code"]) == (503, "time_limit")
    assert api.get("/api/v1/contexts").json()["results"] == []
    assert api.post(CONTEXT, {"query": "green tea", "max_tokens": 500}).status_code == 200


@pytest.mark.usefixtures("no_time")
def test_page_that_takes_too_long_shows_an_error(operator: User, tenant: Tenant) -> None:
    make_memory(tenant, "Green tea costs 5 euros.", is_embedded=True)
    answer = client_of(operator).get(page("memories", tenant), {"q": "green tea", "whole": "1"})
    assert answer.status_code == 503
    assert "took too long" in text_of(answer)


def test_time_begins_with_the_first_loop_after_a_body_that_arrives_slowly(
    monkeypatch: pytest.MonkeyPatch, rf: RequestFactory
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time_limits, "perf_counter", lambda: clock[0])

    def view(_: HttpRequest) -> HttpResponse:
        clock[0] = 100.0  # reading the body
        items = in_time(range(3))
        next(items)
        clock[0] = 129.0
        next(items)
        clock[0] = 131.0
        with pytest.raises(TimeIsUpError):
            next(items)
        return HttpResponse()

    assert time_limits.TimeLimitMiddleware(view)(rf.post("/")).status_code == 200


def test_slow_requests_of_one_tenant_leave_threads_to_others(
    api: APIClient, tenant: Tenant, other_tenant: Tenant
) -> None:
    client = api_client(new_key(other_tenant, "read", "write"))
    large = {"memories": [{"content": f"Cup {number} is {'very ' * 400}red."} for number in range(60)]}
    with ExitStack() as running:
        for _ in range(OF_TENANT_MAX):
            running.enter_context(slow_requests.one_of(tenant.pk))
        session = api.post("/api/v1/sessions", {"max_context_tokens": 4000}).json()["id"]
        for path, body in ((f"{MEMORIES}/bulk", large), (f"/api/v1/sessions/{session}/compact", {"wait": True})):
            refused = api.post(path, body)
            assert_problem(refused, 429, "too_many_slow_requests")
            assert refused["Retry-After"] == "1"
        assert api.post(MEMORIES, {"content": "Small ones are not slow."}).status_code == 201
        assert client.post(f"{MEMORIES}/bulk", large).status_code == 200
        for _ in range(OF_ALL_MAX - OF_TENANT_MAX):
            running.enter_context(slow_requests.one_of(other_tenant.pk))
        assert_problem(client.post(f"{MEMORIES}/bulk", large), 503, "try_again")
    assert api.post(f"{MEMORIES}/bulk", large).status_code == 200


def test_large_requests_wait_for_their_turn_and_give_it_back(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = BoundedSemaphore(1)
    monkeypatch.setattr(endpoint, "LARGE_AT_ONCE", turns)
    monkeypatch.setattr(endpoint, "LARGE_WAIT_SECONDS", 0.01)
    large = {"memories": [{"content": f"Cup {number} is {'very ' * 400}red."} for number in range(60)]}
    with turns:
        answer = api.post(f"{MEMORIES}/bulk", large)
        assert_problem(answer, 503, "try_again")
        assert answer["Retry-After"] == "1"
        assert api.post(MEMORIES, {"content": "Small ones do not wait."}).status_code == 201
    assert_problem(api.post(f"{MEMORIES}/bulk", {**large, "more": 1}), 400, "invalid")
    assert api.post(f"{MEMORIES}/bulk", large).status_code == 200
