"""A single write waits for the database as rarely as possible, and returns what a GET returns."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.database_waits import counted_waits
from tests.integration.rest_helpers import MEMORIES, post_memory

pytestmark = pytest.mark.django_db(transaction=True)


def test_write_waits_for_what_it_depends_on_alone(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for hour in ("four", "five"):  # the first one changes the settings of the tenant
        post_memory(api, f"Tea at {hour}.", user_id="alex")
    with counted_waits(monkeypatch) as waits:
        post_memory(api, "Tea at six.", user_id="alex")
    assert waits == ["_exit_gen"] * 4 + ["_commit_gen"], (
        "the key, the lock, the models, the rows; nothing is read again"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"metadata": {"long": "é", "n": 10**22, "a": None, "b": True}, "confidence": 1, "pinned": True},
        {"metadata": {"x": 1e22, "y": [1.0, {"z": -0.0}]}, "session": "s", "position": 3},
        {"created_at": "2026-05-08T13:56:00.123456+02:00", "expires_at": "2999-01-01T00:00:00Z", "kind": "event"},
    ],
)
def test_answer_to_a_write_is_that_of_a_get(api: APIClient, fields: dict[str, Any]) -> None:
    response = api.post(MEMORIES, {"content": " Tea\u0301 at five. ", "user_id": "alex", **fields})
    assert response.status_code == 201, response.content
    read = api.get(f"{MEMORIES}/{response.json()['id']}")
    own = {name: value for name, value in response.json().items() if name not in {"status", "reason"}}
    assert list(own.items()) == list(read.json().items())
    assert response["ETag"] == read["ETag"]
