"""Requests whose work takes too long are ended, and those with large bodies wait for each other."""

from threading import BoundedSemaphore

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.tenancy.api import endpoint
from memory_platform.console import time_limits
from tests.factories import make_memory
from tests.integration.page_helpers import client_of, page, text_of
from tests.integration.rest_helpers import CONTEXT, MEMORIES, assert_problem


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
def test_page_that_takes_too_long_says_so(operator: User, tenant: Tenant) -> None:
    make_memory(tenant, "Green tea costs 5 euros.", is_embedded=True)
    answer = client_of(operator).get(page("memories", tenant), {"q": "green tea", "whole": "1"})
    assert answer.status_code == 503
    assert "took too long" in text_of(answer)


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
