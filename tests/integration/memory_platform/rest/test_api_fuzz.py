"""Any JSON gets a success or a problem with a 4xx: never a 5xx, never a quotation of the request."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from tests.integration.rest_helpers import BULK, CONTEXT, MEMORIES, SEARCH, post_memory

EXAMPLES = 30
CHARACTERS = st.characters(exclude_categories=[])
TEXTS = st.text(CHARACTERS, max_size=20) | st.sampled_from(["", "\x00", "\ud800", "user=alex", "2026-01-01T00:00:00Z"])
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**31, 2**63, -1, 1e308, 10**40])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
MEMORY = {
    "content": TEXTS, "kind": TEXTS, "partition": TEXTS, "user_id": TEXTS, "confidence": NUMBERS,
    "pinned": st.booleans(), "metadata": st.dictionaries(TEXTS, VALUES, max_size=3),
    "created_at": st.datetimes(timezones=st.timezones()).map(str) | TEXTS,
    "expires_at": st.datetimes(timezones=st.timezones()).map(str) | TEXTS,
    "source_id": TEXTS, "session": TEXTS, "position": NUMBERS,
    "links": st.lists(st.fixed_dictionaries({"target_id": st.uuids().map(str)}), max_size=2),
}  # fmt: skip
FILTER = VALUES | st.fixed_dictionaries(
    {}, optional={"gte": SCALARS, "lte": SCALARS, "in": st.lists(SCALARS, max_size=3)}
)
FILTER_NAMES = st.sampled_from(
    [
        "kind",
        "source_id",
        "position",
        "confidence",
        "retrieval_count",
        "pinned",
        "created_at",
        "expires_at",
        "metadata.a",
    ]
)
SEARCHES = {
    "query": TEXTS, "partition": TEXTS, "user_id": TEXTS, "exact": st.booleans(),
    "top_k": NUMBERS, "threshold": NUMBERS,
    "mode": st.sampled_from(["hybrid", "vector", "lexical", "?"]), "explain": st.booleans(),
    "filters": st.dictionaries(FILTER_NAMES | TEXTS | TEXTS.map("metadata.{}".format), FILTER, max_size=3),
}  # fmt: skip
CONTEXT_REQUEST = {
    "query": TEXTS, "partition": TEXTS, "agent_id": TEXTS, "max_tokens": NUMBERS | st.integers(1, 5000), "model": TEXTS,
    "ordering": st.sampled_from(["top_down", "u_curve", "head_tail", "stable", ""]), "stable_with": st.uuids().map(str),
    "render": st.sampled_from(["markdown", "xml", "json", "?"]), "preview": st.booleans(), "explain": st.booleans(),
    "include_memories_top_k": NUMBERS, "include_tenant_memo": st.booleans(),
}  # fmt: skip


def bodies(fields: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly plausible bodies, some with any value in any field, some that are not objects."""
    plausible = st.fixed_dictionaries({}, optional=fields)
    odd = st.dictionaries(st.sampled_from(sorted(fields)) | TEXTS, VALUES, max_size=5)
    return plausible | plausible | odd | VALUES


fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check(response: Any) -> None:
    assert response.status_code < 500, response.content
    assert response.status_code != 422
    if response.status_code >= 400:
        assert response["Content-Type"] == "application/problem+json"
        problem = response.json()
        assert problem["code"]
        assert problem["status"] == response.status_code
        assert all(entry["code"] and entry["detail"] for entry in problem["errors"])


@pytest.mark.parametrize(
    ("url", "fields"),
    [(MEMORIES, MEMORY), (SEARCH, SEARCHES), (CONTEXT, CONTEXT_REQUEST)],
    ids=["memories", "search", "context"],
)
def test_any_body_of_a_post_is_answered_or_refused(api: APIClient, url: str, fields: dict[str, Any]) -> None:
    post_memory(api, "Alex bakes bread.", metadata={"a": 1}, user_id="alex")

    @fuzzed
    @given(bodies(fields))
    def send(body: Any) -> None:
        check(api.post(url, json.dumps(body), content_type="application/json"))

    send()


def test_any_change_is_made_or_refused(api: APIClient) -> None:
    url = f"{MEMORIES}/{post_memory(api, 'Alex bakes bread.')['id']}"

    @fuzzed
    @given(bodies(MEMORY))
    def send(body: Any) -> None:
        check(api.patch(url, json.dumps(body), content_type="application/json"))

    send()


def test_any_row_of_a_bulk_is_answered(api: APIClient) -> None:
    @fuzzed
    @given(st.lists(bodies(MEMORY), min_size=1, max_size=4))
    def send(rows: list[Any]) -> None:
        response = api.post(BULK, json.dumps({"memories": rows}), content_type="application/json")
        check(response)
        if response.status_code == 200:
            assert len(response.json()["results"]) == len(rows)

    send()


LIST_NAMES = st.sampled_from(
    [
        "partition",
        "user_id",
        "exact",
        "kind",
        "pinned",
        "q",
        "created_after",
        "archived",
        "ordering",
        "cursor",
        "page_size",
    ]
)


def test_any_query_of_a_list_is_answered_or_refused(api: APIClient) -> None:
    post_memory(api, "Alex bakes bread.")
    words = st.sampled_from(["true", "1", "created_at", "bread", "user=alex"])
    encodable = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | words

    @fuzzed
    @given(st.dictionaries(LIST_NAMES, encodable, max_size=4))
    def send(query: dict[str, str]) -> None:
        check(api.get(MEMORIES, query))

    send()
