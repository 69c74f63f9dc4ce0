"""Attacks by clients of the REST API that once succeeded."""

import base64
import io
import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.tenancy.api.middleware import ApiMiddleware
from tests.integration.rest_helpers import (
    BULK,
    CONTEXT,
    MEMORIES,
    NOWHERE,
    SEARCH,
    all_stored_memories,
    assert_problem,
    post_memory,
)

FAR_OFFSET = "2026-01-01T00:00:00+23:59"


ADDRESSES = [
    ("post", MEMORIES, {"content": "x"}),
    ("post", BULK, {"memories": [{"content": "x"}]}),
    ("post", SEARCH, {"query": "x"}),
    ("post", CONTEXT, {"query": "x"}),
    ("get", f"{MEMORIES}/{NOWHERE}", None),
    ("patch", f"{MEMORIES}/{NOWHERE}", {"content": "x"}),
    ("delete", f"{MEMORIES}/{NOWHERE}", None),
    ("post", f"{MEMORIES}/{NOWHERE}/restore", None),
    ("get", f"{MEMORIES}/{NOWHERE}/history", None),
    ("get", f"{CONTEXT}/{NOWHERE}", None),
]


def test_an_unknown_query_parameter_is_refused(api: APIClient, tenant: Tenant) -> None:
    for method, path, body in ADDRESSES:
        answer = getattr(api, method)(f"{path}?user_id=alex&tenant=other", body, format="json")
        assert_problem(answer, 400, "unknown_field", "tenant")
    assert all_stored_memories(tenant) == []


def test_exact_in_a_body_is_a_boolean(api: APIClient) -> None:
    for path in [SEARCH, CONTEXT]:
        for value in ["true", "false", 1, None]:
            answer = api.post(path, {"query": "x", "exact": value}, format="json")
            assert_problem(answer, 400, "null" if value is None else "not_a_boolean", "exact")


def test_exact_in_a_query_is_a_word(api: APIClient) -> None:
    assert api.get(f"{MEMORIES}?exact=true").status_code == 200


def test_a_time_in_digits_of_another_script_is_no_time(api: APIClient) -> None:
    answer = api.post(MEMORIES, {"content": "x", "created_at": "٢٠٢٦-01-01T00:00:00Z"}, format="json")
    assert_problem(answer, 400, "not_a_time", "created_at")


def test_an_offset_beyond_those_of_the_database_is_read_all_the_same(api: APIClient) -> None:
    memory = post_memory(api, "Alex moved to Lisbon.", created_at=FAR_OFFSET)
    assert memory["created_at"] == "2025-12-31T00:01:00Z"
    wanted = {"query": "Lisbon", "filters": {"created_at": {"gte": FAR_OFFSET, "lte": FAR_OFFSET}}}
    assert [row["id"] for row in api.post(SEARCH, wanted, format="json").json()["results"]] == [memory["id"]]


def test_a_cursor_that_the_platform_did_not_sign_is_refused(api: APIClient) -> None:
    forged = {"o": "-created_at", "b": 0, "t": FAR_OFFSET, "u": str(NOWHERE)}
    cursor = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode()
    assert_problem(api.get(MEMORIES, {"cursor": cursor}), 400, "bad_cursor", "cursor")


def test_a_filter_by_a_time_outside_of_the_calendar_is_refused(api: APIClient) -> None:
    filters = {"created_at": {"gte": "0001-01-01T00:00:00+14:00"}}
    answer = api.post(SEARCH, {"query": "x", "filters": filters}, format="json")
    assert_problem(answer, 400, "wrong_type", "filters.created_at")


@pytest.mark.parametrize(("before", "after"), [(1, True), (True, 1), (0, False), ([{"a": 1}], [{"a": True}])])
def test_true_takes_the_place_of_one_in_metadata(api: APIClient, before: Any, after: Any) -> None:
    memory = post_memory(api, "x", metadata={"value": before})
    answer = api.patch(f"{MEMORIES}/{memory['id']}", {"metadata": {"value": after}}, format="json").json()
    assert json.dumps(answer["metadata"]) == json.dumps({"value": after})
    assert answer["version"] == 2


@pytest.mark.parametrize("number", [6.02e23, -1e22, 1.5e300])
def test_metadata_can_be_sent_back_as_it_came(api: APIClient, number: float) -> None:
    memory = post_memory(api, "x", metadata={"number": number})
    assert memory["metadata"]["number"] == pytest.approx(number)
    answer = api.patch(f"{MEMORIES}/{memory['id']}", {"metadata": memory["metadata"]}, format="json")
    assert answer.status_code == 200, answer.json()
    assert answer.json()["version"] == 1


def test_chunks_that_cannot_be_read_are_a_client_error() -> None:
    class BadChunks(io.BytesIO):
        def read(self, *_: Any) -> bytes:
            raise RuntimeError("as gunicorn's InvalidChunkSize")

    def never(request: HttpRequest) -> HttpResponse:
        raise AssertionError(request)

    request = RequestFactory().post(MEMORIES, headers={"Transfer-Encoding": "chunked"})
    request.META |= {"wsgi.input": BadChunks(), "wsgi.input_terminated": True}
    answer = ApiMiddleware(never)(request)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
