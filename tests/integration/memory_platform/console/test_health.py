"""`/healthz` and `/readyz` name the components that are down, and reveal no secrets."""

import time
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings
from kombu import Connection

from memory_platform.console import health

#: Much less than the minutes for which the clients of database and broker wait by default.
WAITED_MAX_SECONDS = 10 * health.TIMEOUT_SECONDS


def test_process_is_alive_without_a_database(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert client.post("/healthz").status_code == 405


def test_everything_is_ready(client: Client, db: None) -> None:
    response = client.get("/readyz")
    answer = response.json()
    assert response.status_code == 200, answer
    assert {part["status"] for part in answer["parts"].values()} == {"ok"}
    assert response["Cache-Control"].startswith("max-age=0")


class FakeDatabase:
    """Returns one row for every query."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.row = row

    def cursor(self) -> "FakeDatabase":
        return self

    def __enter__(self) -> "FakeDatabase":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, *_: object) -> None: ...

    def fetchone(self) -> tuple[Any, ...]:
        return self.row


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((True, False, False), "row-level security"),
        ((False, True, False), "row-level security"),
        ((False, False, True), "owner"),
    ],
)
def test_role_that_is_above_the_policies_is_not_ready(
    monkeypatch: pytest.MonkeyPatch, row: tuple[Any, ...], message: str
) -> None:
    monkeypatch.setattr(health, "connection", FakeDatabase(row))
    with pytest.raises(health.ComponentNotReady, match=message):
        health.CHECKS["role"]()


def test_missing_migration_is_not_ready(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_platform.console.health.MigrationExecutor.migration_plan", lambda *_: ["one"])
    with pytest.raises(health.ComponentNotReady, match="1 migration is not applied"):
        health.CHECKS["migrations"]()


@pytest.mark.django_db(transaction=True)
def test_database_of_an_earlier_checkout_is_refused_in_one_sentence() -> None:
    recorder = MigrationRecorder(connections["owner"])
    recorder.record_applied("memories", "0002_pinned_index")
    try:
        with pytest.raises(health.ComponentNotReady, match="an earlier development version"):
            health.CHECKS["migrations"]()
        with pytest.raises(CommandError) as refusal:
            call_command("migrate", verbosity=0, interactive=False)
        assert str(refusal.value) == (
            "An earlier development version created this database (its migration memories.0002_pinned_index no longer"
            " exists). It cannot be upgraded. To keep its memories, export them with that version first. Then"
            f" start with an empty database: delete {settings.DATA_DIR}, set DATA_DIR to a new folder, or change"
            " DATABASE_URL."
        )
    finally:
        recorder.record_unapplied("memories", "0002_pinned_index")
    assert health.CHECKS["migrations"]() == "all applied"


def test_a_part_that_is_down_makes_a_503_without_its_message(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> str:
        raise ConnectionError("redis://user:secret@host")

    monkeypatch.setitem(health.CHECKS, "broker", away)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["status"] == "down"
    assert response.json()["parts"]["broker"]["status"] == "down"
    assert "secret" not in response.content.decode()


class AbsentDatabase:
    """A server that does not respond."""

    def get_connection_params(self) -> dict[str, Any]:
        return {"host": "127.0.0.1", "port": 9, "password": "secret"}


def test_database_that_is_away_is_named_quickly(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "connection", AbsentDatabase())
    start = time.monotonic()
    response = client.get("/readyz")
    down = {name for name, part in response.json()["parts"].items() if part["status"] == "down"}
    assert (response.status_code, down) == (503, {"database", *health.NEED_DATABASE})
    assert "secret" not in response.content.decode()
    assert time.monotonic() - start < WAITED_MAX_SECONDS


@override_settings(EMBEDDING_PROVIDER="openai", EMBEDDING_BASE_URL="http://127.0.0.1:9/v1")
def test_provider_that_is_away_is_named(client: Client, db: None) -> None:
    answer = client.get("/readyz").json()
    assert {name for name, part in answer["parts"].items() if part["status"] == "down"} == {"embedder"}


class FakeApp:
    """A Celery application without a broker."""

    def connection_for_write(self) -> Connection:
        return Connection("redis://127.0.0.1:9/0")


def test_broker_that_is_away_is_named_quickly(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "current_app", FakeApp())
    start = time.monotonic()
    answer = client.get("/readyz").json()
    assert {name for name, part in answer["parts"].items() if part["status"] == "down"} == {"broker"}
    assert time.monotonic() - start < WAITED_MAX_SECONDS
