"""A request whose work takes too long is answered with 503 and a stable code, and changes nothing."""

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from memories.models import Tenant
from memory_platform.console import time_limits
from tests.factories import make_memory
from tests.integration.page_helpers import client_of, page, text_of
from tests.integration.rest_helpers import CONTEXT, MEMORIES


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
