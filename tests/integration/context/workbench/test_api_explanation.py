"""Why a memory is not in a context, over REST."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from context.workbench.serializers import ExplanationOutput
from memories.models import Tenant
from tests.integration.rest_helpers import CONTEXT, NOWHERE, assert_problem, post_memory
from tests.users import api_client, new_key

EXPLAIN = f"{CONTEXT}/explain"


@pytest.fixture
def memory(api: APIClient) -> dict[str, Any]:
    post_memory(api, "Sam owns a boat.", partition="user=sam")
    return post_memory(api, "Sam lives in Lisbon.", partition="user=sam")


def test_explanation_names_reason_ranks_and_budget_and_stores_nothing(api: APIClient, memory: dict[str, Any]) -> None:
    options = {"memory_id": memory["id"], "query": "Where does Sam live?", "partition": "user=sam"}
    included = api.post(EXPLAIN, options).json()
    assert set(included) == set(ExplanationOutput().fields)
    assert (included["included"], included["reason"]) == (True, None)
    assert {included["vector_rank"], included["text_rank"]} <= {1, 2}
    small = api.post(EXPLAIN, options | {"max_tokens": 5}).json()
    assert (small["included"], small["reason"]) == (False, "over_budget")
    budget = small["inclusion_budget"]["max_tokens"]
    assert api.post(EXPLAIN, options | {"max_tokens": budget}).json()["included"]
    elsewhere = api.post(EXPLAIN, options | {"partition": "user=kim"}).json()
    assert (elsewhere["reason"], elsewhere["is_estimated"], elsewhere["vector_rank"]) == ("elsewhere", True, 1)
    assert api.get("/api/v1/contexts").json()["results"] == []


def test_explanation_without_a_query_has_no_score(api: APIClient, memory: dict[str, Any]) -> None:
    explained = api.post(EXPLAIN, {"memory_id": memory["id"], "partition": "user=kim"}).json()
    assert (explained["included"], explained["is_estimated"]) == (False, True)
    assert (explained["score"], explained["score_breakdown"]) == (None, None)


def test_explanation_refuses_what_it_cannot_answer(api: APIClient, tenant: Tenant, memory: dict[str, Any]) -> None:
    assert_problem(api.post(EXPLAIN, {"query": "x"}), 400, "required", "memory_id")
    assert_problem(api.post(EXPLAIN, {"query": "x", "memory_id": str(NOWHERE)}), 404, "not_found")
    kim = api_client(new_key(tenant, "read", partition="user=kim"))
    assert_problem(kim.post(EXPLAIN, {"query": "x", "memory_id": memory["id"]}), 404, "not_found")
