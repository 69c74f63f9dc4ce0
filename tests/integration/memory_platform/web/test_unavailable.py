"""Responses while the database or the cache is unavailable."""

import os
from typing import Any

import psycopg
import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.db import InterfaceError, OperationalError, connection
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError

from memory_platform.console import heartbeats
from tests import servers
from tests.users import User


@pytest.fixture
def visitor(operator: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(operator)
    return client


def fails_with(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("error", [OperationalError(), InterfaceError(), RedisConnectionError()])
def test_page_without_a_database_is_503_with_a_time_to_try_again(
    visitor: Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(SessionStore, "load", fails_with(error))
    response = visitor.get("/")
    assert (response.status_code, response["Retry-After"]) == (503, "2")
    assert "cannot be reached" in response.content.decode()


def test_any_other_failure_of_a_page_is_500(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionStore, "load", fails_with(ValueError()))
    assert visitor.get("/").status_code == 500


def test_health_page_opens_without_a_cache(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: Any = cache
    for name in ("get_many", "set"):
        monkeypatch.setattr(connected._connections["default"], name, fails_with(RedisConnectionError()))
    response = visitor.get("/health")
    assert response.status_code == 200
    assert "no worker seen" in response.content.decode()
    assert {row.last for row in heartbeats.scheduled_tasks()} == {None}


@pytest.mark.django_db(transaction=True)
def test_connection_that_the_server_closed_in_the_pool_is_not_used() -> None:
    connection.ensure_connection()
    user = connection.connection.info.user
    connection.close()
    with psycopg.connect(os.environ[servers.SUPERUSER_URL], autocommit=True) as superuser:
        ended = superuser.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND usename = %s",
            [servers.own_database(), user],
        ).fetchall()
    assert (True,) in ended
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
