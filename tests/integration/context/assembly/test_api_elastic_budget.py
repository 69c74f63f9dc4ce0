"""The elastic packer uses the budget of its section, and a warning explains what its limits leave unused."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.integration.rest_helpers import CONTEXT, assert_problem, post_memory
from tests.users import api_client

THINGS = ("flour", "water", "salt", "yeast", "butter", "sugar", "milk", "eggs", "seeds", "honey", "rye", "oats")
PROFILES = "/api/v1/budget-profiles"


def ask(client: APIClient, **options: Any) -> dict[str, Any]:
    body = {"query": "Who delivers what?", "packer": "elastic", "preview": True} | options
    response = client.post(CONTEXT, body, format="json")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def codes(answer: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]


@pytest.fixture
def short(api: APIClient) -> APIClient:
    """Fifteen short memories in one partition."""
    for number, thing in enumerate((*THINGS, "nuts", "figs", "dill")):
        post_memory(api, f"The mill of {thing} number {number} delivers {thing} on day {number}.")
    return api


def test_short_memories_that_fit_are_all_included(short: APIClient) -> None:
    answer = ask(short, max_tokens=4_000)
    assert len(answer["blocks"]) == 15
    assert answer["omitted"] == []
    assert "elastic_budget_unused" not in codes(answer)


def test_long_memories_use_the_whole_budget_and_are_shortened_only_while_they_compete(api: APIClient) -> None:
    for thing in THINGS:
        days = (f"On day {day} the {thing} came from the {thing} mill beyond the river." for day in range(12))
        post_memory(api, f"Deliveries of {thing}. " + " ".join(days))
    for max_tokens in (500, 1_000, 2_000):
        answer = ask(api, max_tokens=max_tokens)
        assert 0.9 * max_tokens < answer["budget"]["used"] <= max_tokens
        assert any(block["truncated"] for block in answer["blocks"])
        assert "elastic_budget_unused" not in codes(answer)
    whole = ask(api, max_tokens=4_000)
    assert len(whole["blocks"]) == 12
    assert not any(block["truncated"] for block in whole["blocks"])


def test_profile_with_limits_reports_what_they_leave_unused(short: APIClient, admin_key: str) -> None:
    body = {"name": "few", "packer": "elastic", "elastic_fills_budget": False, "elastic_target_items": 2}
    assert api_client(admin_key).post(PROFILES, body, format="json").status_code == 201
    answer = ask(short, budget_profile="few", packer=None, max_tokens=1_000)
    assert len(answer["blocks"]) == 2
    [warning] = [warning for warning in answer["warnings"] if warning["code"] == "elastic_budget_unused"]
    assert "of 976 tokens for memories are unused, although" in warning["detail"]
    assert f"{len(answer['omitted'])} memories are excluded and 0 shortened" in warning["detail"]
    assert "2 memories of at most 90 tokens each" in warning["detail"]
    receipt = ask(short, budget_profile="few", packer=None, max_tokens=1_000, preview=False)
    assert "elastic_budget_unused" in codes(short.get(f"{CONTEXT}/{receipt['id']}").json())


@pytest.mark.parametrize("field", ["elastic_fills_budget", "include_memory_days"])
def test_switches_of_a_budget_profile_take_true_and_false_only(api: APIClient, admin_key: str, field: str) -> None:
    for value in (1, "yes", []):
        body = {"name": "odd", field: value}
        assert_problem(api_client(admin_key).post(PROFILES, body, format="json"), 400, "not_a_boolean", field)
