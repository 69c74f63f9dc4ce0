"""Lists of the REST API: filters, orders, cursors, and a constant number of queries."""

import functools
import operator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from tests.integration.rest_helpers import BULK, CONTEXT, CONTEXTS, MEMORIES, post_memory

JAN, FEB, MAR, APR = (f"2026-0{month}-01T00:00:00Z" for month in range(1, 5))
ROWS: list[dict[str, Any]] = [
    {"content": "a: Alex eats rye bread", "user_id": "alex", "kind": "preference", "created_at": JAN},
    {"content": "b: Alex bakes", "partition": "user=alex/topic=food", "pinned": True, "created_at": FEB},
    {"content": "c: Sam rides", "partition": "team=x/user=sam", "confidence": 0.1, "created_at": MAR},
    {"content": "d: nobody's bread", "confidence": 0.9, "created_at": APR},
]  # fmt: skip


@pytest.fixture
def rows(api: APIClient) -> None:
    answer = api.post(BULK, {"memories": ROWS}).json()
    assert {row["status"] for row in answer["results"]} == {"created"}


def letters(page: dict[str, Any]) -> str:
    return "".join(row["content"][0] for row in page["results"])


QUERIES = [
    ({}, "dcba"),
    ({"ordering": "created_at"}, "abcd"),
    ({"ordering": "-confidence"}, "dabc"),
    ({"partition": "user=alex"}, "ba"),
    ({"partition": "user=alex", "exact": "true"}, "a"),
    ({"partition": "", "exact": "true"}, "d"),
    ({"partition": "user=nobody"}, ""),
    ({"user_id": "sam"}, "c"),
    ({"user_id": "alex"}, "ba"),
    ({"user_id": "alex", "agent_id": "x"}, ""),
    ({"kind": "preference"}, "a"),
    ({"pinned": "true"}, "b"),
    ({"pinned": "false"}, "dca"),
    ({"q": "bread"}, "da"),
    ({"q": "the"}, ""),
    ({"created_after": "2026-02-01T00:00:00Z"}, "dcb"),
    ({"created_before": "2026-02-01T00:00:00Z"}, "a"),
    ({"archived": "true"}, ""),
]


def test_list_is_narrowed_and_ordered(rows: None, api: APIClient) -> None:
    for query, expected in QUERIES:
        page = api.get(MEMORIES, query).json()
        assert set(page) == {"next", "previous", "results"}
        if query.get("ordering") == "-confidence":
            assert sorted(letters(page)) == sorted(expected)
            assert [row["confidence"] for row in page["results"]] == [0.9, 0.8, 0.8, 0.1]
        else:
            assert letters(page) == expected


def test_expired_rows_do_not_appear(api: APIClient) -> None:
    old = {"created_at": "2025-01-01T00:00:00Z", "expires_at": "2025-02-01T00:00:00Z"}
    created = post_memory(api, "Gone", **old)
    assert api.get(MEMORIES).json()["results"] == []
    assert api.get(f"{MEMORIES}/{created['id']}").status_code == 200


def test_pages_forth_and_back_show_every_row_once_even_with_ties(api: APIClient) -> None:
    same = {"created_at": "2026-01-01T00:00:00Z"}
    api.post(BULK, {"memories": [{"content": f"memory {number}", **same} for number in range(7)]})
    for ordering in ["created_at", "-created_at", "-updated_at", "confidence", "-usefulness_score", "retrieval_count"]:
        whole = [row["id"] for row in api.get(MEMORIES, {"ordering": ordering}).json()["results"]]
        pages, url = [], f"{MEMORIES}?page_size=3&ordering={ordering}"
        while url:
            pages.append(api.get(url).json())
            url = pages[-1]["next"]
        forward = [[row["id"] for row in page["results"]] for page in pages]
        assert [len(page) for page in forward] == [3, 3, 1]
        assert functools.reduce(operator.iadd, forward, []) == whole
        back, url = [forward[-1]], pages[-1]["previous"]
        while url:
            page = api.get(url).json()
            back.insert(0, [row["id"] for row in page["results"]])
            url = page["previous"]
        assert back == forward
        assert pages[0]["previous"] is None


def test_a_row_stored_meanwhile_shifts_no_page(api: APIClient) -> None:
    for number in range(4):
        post_memory(api, f"memory {number}")
    first = api.get(MEMORIES, {"page_size": 2}).json()
    post_memory(api, "newer")
    second = api.get(first["next"]).json()
    assert [row["content"] for row in second["results"]] == ["memory 1", "memory 0"]


def test_history_is_paged_forth_and_back(api: APIClient) -> None:
    url = f"{MEMORIES}/{post_memory(api, 'version 1')['id']}"
    for number in range(2, 6):
        api.patch(url, {"content": f"version {number}"})
    first = api.get(f"{url}/history", {"page_size": 2}).json()
    second = api.get(first["next"]).json()
    third = api.get(second["next"]).json()
    versions = [[row["version"] for row in page["results"]] for page in (first, second, third)]
    assert versions == [[5, 4], [3, 2], [1]]
    assert third["next"] is None
    assert [row["version"] for row in api.get(third["previous"]).json()["results"]] == [3, 2]
    assert [row["version"] for row in api.get(second["previous"]).json()["results"]] == [5, 4]


def test_receipts_are_listed_newest_first(api: APIClient) -> None:
    post_memory(api, "Sam lives in Porto.")
    ids = [api.post(CONTEXT, {"query": f"Porto {number}"}).json()["id"] for number in range(3)]
    first = api.get(CONTEXTS, {"page_size": 2}).json()
    assert [row["id"] for row in first["results"]] == [ids[2], ids[1]]
    assert [row["id"] for row in api.get(first["next"]).json()["results"]] == [ids[0]]
    row = first["results"][0]
    assert (row["query"], row["partition"], row["block_count"]) == ("Porto 2", "", 1)
    assert row["budget"]["used"] > 0
    assert "Sam lives" not in str(row)


@pytest.mark.parametrize("url", [MEMORIES, CONTEXTS, f"{MEMORIES}/search"])
def test_query_count_does_not_grow(api: APIClient, url: str) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            answer = api.post(url, {"query": "memory", "top_k": 50}) if url.endswith("search") else api.get(url)
        assert answer.status_code == 200
        return len(queries)

    target = post_memory(api, "memory target")
    api.post(CONTEXT, {"query": "memory"})
    few = count()
    for number in range(6):
        post_memory(api, f"memory {number}", links=[{"target_id": target["id"]}])
        api.post(CONTEXT, {"query": "memory"})
    assert count() <= few + 1
