"""Generated requests to the other addresses get a success or a problem with a 4xx."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from tests.integration.memory_platform.rest.test_api_fuzz import (
    CONTEXT_REQUEST,
    NUMBERS,
    SCALARS,
    TEXTS,
    VALUES,
    bodies,
    check,
    fuzzed,
)
from tests.integration.rest_helpers import CONTEXT, MEMORIES, post_memory
from tests.users import api_client

IDS = st.uuids().map(str) | TEXTS
FOCUS = st.fixed_dictionaries({}, optional={"memory_id": IDS, "summary_id": IDS, "partition": TEXTS}) | VALUES
TIMES = st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat()) | TEXTS
DEPTH = {
    **CONTEXT_REQUEST,
    "focus": FOCUS,
    "as_of": TIMES,
    "packer": st.sampled_from(["greedy", "elastic", "optimal", "?"]),
    "include_summaries_at": st.lists(NUMBERS, max_size=4) | SCALARS,
    "include_linked_memories": st.booleans(),
    "summary_style": st.sampled_from(["compact", "detailed", "?"]),
    "budget_profile": st.sampled_from(["default", "chat"]) | TEXTS,
}
SINCE = st.fixed_dictionaries({}, optional={"context_id": IDS, "snapshot": TEXTS, "as_of": TIMES}) | VALUES
PROFILE = {
    "default_tokens": NUMBERS | st.integers(1, 5000), "overfetch_ratio": NUMBERS, "minimum_score": NUMBERS,
    "sections": st.dictionaries(st.sampled_from(["memories", "focus", "?"]), VALUES, max_size=3),
    "include_summaries_at": st.lists(NUMBERS, max_size=4), "summary_style": TEXTS,
    "elastic_min_tokens": NUMBERS, "elastic_max_tokens": NUMBERS | st.integers(1, 200),
    "near_duplicate_threshold": NUMBERS, "pinned_share": NUMBERS, "packer": st.sampled_from(["greedy", "elastic", "?"]),
    "receipt_days": NUMBERS,
}  # fmt: skip
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("post", CONTEXT, DEPTH),
    ("post", f"{CONTEXT}/diff", {**DEPTH, "since": SINCE, "profiles": st.lists(TEXTS, max_size=3)}),
    ("post", "/api/v1/feedback", {"memory_id": IDS, "context_id": IDS, "feedback": TEXTS, "reason": TEXTS}),
    ("post", "/api/v1/links", {"source_id": IDS, "target_id": IDS, "kind": TEXTS}),
    ("post", "/api/v1/partitions", {"partition": TEXTS, "user_id": TEXTS, "run_id": TEXTS}),
    ("put", "/api/v1/memo", {"content": TEXTS}),
    ("put", "/api/v1/partitions/user%3Dalex/summaries", {"content": TEXTS, "style": TEXTS}),
    ("post", "/api/v1/snapshots", {"name": TEXTS, "recorded_at": TIMES}),
    ("post", "/api/v1/keys", {"name": TEXTS, "scopes": st.lists(TEXTS, max_size=4), "partition": TEXTS}),
    ("post", "/api/v1/budget-profiles", {"name": TEXTS | st.just("x"), "based_on": TEXTS, **PROFILE}),
    ("patch", "/api/v1/budget-profiles/default", PROFILE),
    ("put", "/api/v1/budget-profiles/default", PROFILE),
    ("post", "/api/v1/budget-profiles/default/rollback", {"version": NUMBERS}),
    ("put", "/api/v1/budget-profiles/assignments", {"budget_profile": TEXTS, "key": TEXTS, "partition": TEXTS}),
]


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.mark.parametrize(("method", "url", "fields"), REQUESTS, ids=[f"{row[0]} {row[1][8:]}" for row in REQUESTS])
def test_any_body_is_answered_or_refused(admin: APIClient, method: str, url: str, fields: dict[str, Any]) -> None:
    post_memory(admin, "Alex bakes bread.", user_id="alex")

    @fuzzed
    @given(bodies(fields))
    def send(body: Any) -> None:
        check(getattr(admin, method)(url, json.dumps(body), content_type="application/json"))

    send()


@pytest.mark.parametrize(
    "url",
    [
        "/api/v1/partitions/{}/summaries",
        "/api/v1/budget-profiles/{}",
        "/api/v1/budget-profiles/{}/versions",
        "/api/v1/keys/{}",
        "/api/v1/links/{}",
        "/api/v1/snapshots/{}",
        "/api/v1/feedback/{}",
        MEMORIES + "/{}/feedback",
        CONTEXT + "/{}",
    ],
)
def test_any_address_is_answered_or_refused(admin: APIClient, url: str) -> None:
    encodable = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["user=alex", "1"])

    @fuzzed
    @given(encodable)
    def send(part: str) -> None:
        address = url.format(quote(part, safe=""))
        for response in (admin.get(address), admin.delete(address)):
            check(response)

    send()


LISTS = ["contexts", "links", "partitions", "snapshots", "keys", "budget-profiles", "budget-profiles/assignments"]
NAMES = st.sampled_from(
    ["cursor", "page_size", "partition", "exact", "key", "model", "created_after", "kind", "source_id", "history"]
)


@pytest.mark.parametrize("name", LISTS)
def test_any_query_of_a_list_is_answered_or_refused(admin: APIClient, name: str) -> None:
    encodable = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
        ["true", "1", "user=x"]
    )

    @fuzzed
    @given(st.dictionaries(NAMES, encodable, max_size=4))
    def send(query: dict[str, str]) -> None:
        check(admin.get(f"/api/v1/{name}", query))

    send()
