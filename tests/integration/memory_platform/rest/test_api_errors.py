"""Every error under /api/ is a problem, reveals no data and adds nothing to the log."""

import logging
import time
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from django.test import Client
from redis.exceptions import ConnectionError as CacheDown
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.store.api import memories as endpoints
from memories.tenancy.api import authentication
from memories.tenancy.api.authentication import KeyThrottle
from tests.integration.rest_helpers import MEMORIES, SEARCH, all_stored_memories, assert_problem, post_memory

SECRET_TEXT = "the combination is 4711"
OVER_8_MIB = 8 * 1024 * 1024 + 1


def test_unknown_address_is_a_problem(api: APIClient) -> None:
    for name in ("", "/", "/v1", "/v1/", "/v2/memories", "/v1/nothing", "/v1/memories/a/b/c"):
        for method in ("get", "post", "put", "patch", "delete", "options"):
            assert_problem(getattr(api, method)(f"/api{name}"), 404, "not_found")


def test_page_addresses_do_not_answer_with_problems(client: Client, db: None) -> None:
    assert client.get("/nothing")["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("method", "url"),
    [("put", MEMORIES), ("delete", MEMORIES), ("get", SEARCH), ("get", f"{MEMORIES}/bulk")],
)
def test_method_that_an_address_does_not_take(api: APIClient, method: str, url: str) -> None:
    response = getattr(api, method)(url)
    assert_problem(response, 405, "method_not_allowed")
    assert response["Allow"]


def test_answer_in_another_format_is_not_acceptable(api: APIClient) -> None:
    assert_problem(api.get(MEMORIES, headers={"Accept": "text/csv"}), 406, "not_acceptable")
    for accepted in ("*/*", "application/json", "application/*", "text/html, application/json;q=0.5"):
        assert api.get(MEMORIES, headers={"Accept": accepted}).status_code == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml"])
def test_body_in_another_format_is_unsupported(api: APIClient, tenant: Tenant, content_type: str) -> None:
    response = api.post(MEMORIES, b'{"content": "x"}', content_type=content_type)
    assert_problem(response, 415, "unsupported_media_type")
    assert all_stored_memories(tenant) == []


def test_json_with_a_charset_is_taken(api: APIClient) -> None:
    response = api.post(MEMORIES, '{"content": "ä"}'.encode(), content_type="application/json; charset=utf-8")
    assert response.json()["content"] == "ä"


def test_body_over_8_mib_is_too_large(api: APIClient, tenant: Tenant) -> None:
    body = b'{"content": "' + b"x" * OVER_8_MIB + b'"}'
    assert_problem(api.post(MEMORIES, body, content_type="application/json"), 413, "too_large")
    assert all_stored_memories(tenant) == []


def test_body_of_almost_8_mib_is_read(api: APIClient) -> None:
    body = b'{"content": "tea"' + b" " * (8 * 1024 * 1024 - 1024) + b"}"
    assert api.post(MEMORIES, body, content_type="application/json").status_code == 201


def test_length_that_is_no_number_is_refused(api: APIClient) -> None:
    response = api.post(MEMORIES, b"{}", content_type="application/json", CONTENT_LENGTH="-1")
    assert_problem(response, 400, "bad_content_length")


def test_host_that_is_not_allowed_is_a_problem(api: APIClient) -> None:
    assert_problem(api.get(MEMORIES, headers={"Host": "evil.example"}), 400, "bad_request")


def test_too_many_requests_get_the_time_to_retry(api: APIClient, settings: Any) -> None:
    settings.API_RATE_LIMIT_PER_SECOND = 2
    for _ in range(3):
        answers = [api.get(MEMORIES) for _ in range(6)]
        refused = [answer for answer in answers if answer.status_code == 429]
        if refused:
            break
    assert_problem(refused[0], 429, "rate_limited")
    assert int(refused[0]["Retry-After"]) >= 1


def test_cache_is_updated_once_per_percent_of_the_limit_and_not_after_a_refusal(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    counts: list[int] = []

    class Counting:
        def add(self, _name: str, count: int, **_: Any) -> bool:
            counts.append(count)
            return len(counts) == 1

        def incr(self, _name: str, _count: int) -> int:
            return 301

    settings.API_RATE_LIMIT_PER_SECOND = 300
    monkeypatch.setattr(authentication, "cache", Counting())
    monkeypatch.setattr(authentication, "time", SimpleNamespace(time=lambda: 1_000.0, monotonic=time.monotonic))
    monkeypatch.setattr(KeyThrottle, "_window", authentication.RequestWindow())
    assert [api.get(MEMORIES).status_code for _ in range(8)] == [200, 200, 200, 200, 200, 429, 429, 429]
    assert counts == [3, 3]


def test_requests_are_accepted_with_one_warning_while_the_cache_is_down(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []

    class Down:
        def add(self, *_: Any, **__: Any) -> bool:
            calls.append(1)
            raise CacheDown("nobody there")

    monkeypatch.setattr(authentication, "cache", Down())
    monkeypatch.setattr(authentication, "REPORTED_SHARE", 0)
    monkeypatch.setattr(KeyThrottle, "_is_warned", False)
    monkeypatch.setattr(KeyThrottle, "_paused_until", 0.0)
    assert [api.get(MEMORIES).status_code for _ in range(3)] == [200, 200, 200]
    assert len([record for record in caplog.records if "not limited" in record.message]) == 1
    assert len(calls) == 1  # the other requests did not wait for it


def test_cache_that_is_available_again_is_used_again(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.API_RATE_LIMIT_PER_SECOND = 0
    monkeypatch.setattr(KeyThrottle, "_paused_until", time.monotonic() + authentication.THROTTLE_PAUSE_SECONDS)
    assert api.get(MEMORIES).status_code == 200
    monkeypatch.setattr(KeyThrottle, "_paused_until", time.monotonic())
    assert_problem(api.get(MEMORIES), 429, "rate_limited")


def failing(error: Exception) -> Any:
    def verb(**_: Any) -> None:
        raise error

    return verb


def caused_by(cause: Exception, error: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError(SECRET_TEXT), 500, "internal_error"),
        (OperationalError(f"Failing row contains {SECRET_TEXT}"), 503, "database_unavailable"),
        (InterfaceError(f"Failing row contains {SECRET_TEXT}"), 503, "database_unavailable"),
        (DataError(SECRET_TEXT), 400, "invalid"),
        (caused_by(psycopg.errors.ForeignKeyViolation(), IntegrityError(SECRET_TEXT)), 503, "try_again"),
        (caused_by(psycopg.errors.UniqueViolation(), IntegrityError(SECRET_TEXT)), 409, "conflict"),
        (caused_by(psycopg.errors.CheckViolation(), IntegrityError(SECRET_TEXT)), 500, "internal_error"),
    ],
)
def test_unexpected_error_does_not_quote_the_text(
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    code: str,
) -> None:
    monkeypatch.setattr(endpoints, "store_memories", failing(error))
    with caplog.at_level(logging.DEBUG):
        response = api.post(MEMORIES, {"content": SECRET_TEXT})
    assert_problem(response, status, code)
    assert b"4711" not in response.content
    assert type(error).__name__ in caplog.text
    assert "4711" not in caplog.text


def test_memory_text_is_never_logged(api: APIClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("django.db.backends").setLevel(logging.INFO)  # its DEBUG messages are the SQL itself
        created = post_memory(api, SECRET_TEXT)
        api.post(MEMORIES, {"content": SECRET_TEXT, "confidence": 7})
        api.post(SEARCH, {"query": SECRET_TEXT})
        api.patch(f"{MEMORIES}/{created['id']}", {"content": f"{SECRET_TEXT}, really"})
    assert "4711" not in caplog.text


def test_database_that_is_away_is_a_503(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("memories.tenancy.api.authentication.authentication_scope", away)
    response = api.get(MEMORIES)
    assert_problem(response, 503, "database_unavailable")
    assert response["Retry-After"]
