"""The work and the response of every request are bounded."""

import json
import time
from typing import Any

import pytest
from rest_framework.test import APIClient

from memory_platform.rest.serializers import PROBLEMS_MAX, ROW_PROBLEMS_MAX, UNKNOWN_NAMED_MAX
from memory_platform.rest.strict_json import OBJECT_KEYS_MAX
from tests.integration.rest_helpers import assert_problem
from tests.users import api_client, new_key

API = "/api/v1/"
JSON = "application/json"
ANSWER_BYTES_MAX = 16 * 1024
KIB, MIB = 1024, 1024 * 1024


@pytest.fixture
def reader(tenant: Any) -> APIClient:
    return api_client(new_key(tenant, "read"))


def unknown(count: int) -> dict[str, int]:
    return {f"k{number}": 0 for number in range(count)}


def test_hundreds_of_thousands_of_unknown_keys_get_a_short_answer_at_once(reader: APIClient) -> None:
    body = json.dumps(unknown(100_000))
    start = time.process_time()
    response = reader.post(f"{API}memories/search", body, content_type=JSON)
    assert_problem(response, 400, "too_many_keys")
    assert len(response.content) < ANSWER_BYTES_MAX
    assert time.process_time() - start < 5


def test_object_takes_a_thousand_keys_also_inside(api: APIClient) -> None:
    stored = {"content": "tea", "metadata": unknown(OBJECT_KEYS_MAX + 1)}
    assert_problem(api.post(f"{API}memories", stored), 400, "too_many_keys")


def test_twenty_unknown_fields_are_named_and_the_others_counted(reader: APIClient) -> None:
    response = reader.post(f"{API}memories/search", unknown(OBJECT_KEYS_MAX))
    errors = response.json()["errors"]
    assert {"field": "", "code": "unknown_fields", "detail": "980 more unknown fields."} in errors
    assert [error["code"] for error in errors].count("unknown_field") == UNKNOWN_NAMED_MAX
    assert len(response.content) < ANSWER_BYTES_MAX
    errors = reader.post(f"{API}memories/search", {"query": "tea", **unknown(UNKNOWN_NAMED_MAX)}).json()["errors"]
    assert {error["code"] for error in errors} == {"unknown_field"}


def test_fifty_problems_are_shown_and_the_others_counted(api: APIClient) -> None:
    session = api.post(f"{API}sessions", {"max_context_tokens": 8000}).json()["id"]
    rows = [{"role": "nobody", "content": "tea"}] * 120
    response = api.post(f"{API}sessions/{session}/messages", {"messages": rows})
    errors = response.json()["errors"]
    assert len(errors) == PROBLEMS_MAX
    assert errors[-1] == {"field": "", "code": "more_problems", "detail": "71 more problems not shown."}


def test_bulk_request_of_unknown_fields_alone_is_answered_soon(api: APIClient) -> None:
    rows = [unknown(900)] * 800
    start = time.process_time()
    response = api.post(f"{API}memories/bulk", {"memories": rows})
    assert response.status_code == 200
    assert time.process_time() - start < 10
    assert len(response.content) < 2 * MIB


def test_problems_of_rows_are_bounded_in_bulk_and_files(api: APIClient) -> None:
    row = {"content": "tea", **unknown(500)}
    bulk = api.post(f"{API}memories/bulk", {"memories": [row, {"content": "coffee"}]}).json()["results"]
    lines = "\n".join(json.dumps(each) for each in (row, {"content": "cocoa"}))
    imported = api.post(f"{API}import", lines, content_type="application/x-ndjson").json()["lines"]
    for faulty, good in (bulk, imported):
        assert len(faulty["errors"]) == ROW_PROBLEMS_MAX
        assert {"unknown_fields", "more_problems"} < {error["code"] for error in faulty["errors"]}
        assert good["status"] == "created"


def test_list_with_too_many_entries_is_one_problem(api: APIClient) -> None:
    response = api.post(f"{API}memories/move", {"ids": [0] * 20_000, "to": "user=alex"})
    assert [error["code"] for error in response.json()["errors"] if error["field"].startswith("ids")] == ["max_length"]


LIMITS = [
    ("feedback", 64 * KIB),
    ("links", 64 * KIB),
    ("memories/search", 2 * MIB),
    ("context", 2 * MIB),
    ("memories", 8 * MIB),
    ("memories/bulk", 8 * MIB),
]


def test_body_above_the_limit_of_its_endpoint_is_too_large(api: APIClient) -> None:
    for path, limit in LIMITS:
        for size, is_taken in ((limit, True), (limit + 1, False)):
            body = b"{" + b" " * (size - 2) + b"}"
            response = api.post(f"{API}{path}", body, content_type=JSON)
            assert (response.status_code != 413) == is_taken
        assert_problem(response, 413, "too_large")


def test_body_of_a_request_that_reads_is_small(api: APIClient) -> None:
    response = api.generic("GET", f"{API}memories", b" " * (64 * KIB + 1), content_type=JSON)
    assert_problem(response, 413, "too_large")


def test_longest_texts_fit_however_they_are_escaped(api: APIClient) -> None:
    session = api.post(f"{API}sessions", {"max_context_tokens": 1_000_000}).json()["id"]
    body = '{"messages": [{"role": "user", "content": "%s"}]}' % ("\\u0001" * (256 * KIB))
    assert api.post(f"{API}sessions/{session}/messages", body, content_type=JSON).status_code == 201
    body = '{"content": "%s"}' % ("\\u0001" * (32 * KIB))
    assert api.post(f"{API}memories", body, content_type=JSON).status_code == 201
