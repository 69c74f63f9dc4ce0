"""An append waits for the database as rarely as possible, and stores values as they were sent."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.database_waits import counted_waits
from tests.integration.session_helpers import append, open_session, user

pytestmark = pytest.mark.django_db(transaction=True)


def test_append_waits_for_the_key_the_lock_the_rows_and_the_commit(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session(api)
    sent: dict[str, Any] = {"metadata": {"n": 10**22, "é": [1.5, None]}, "created_at": "2026-05-08T13:56:00.123456Z"}
    with counted_waits(monkeypatch) as waits:
        (row,) = append(api, session, user("Tea?", **sent))
    assert waits == ["_exit_gen", "_exit_gen", "_exit_gen", "_commit_gen"]
    assert {name: row[name] for name in sent} == sent
    (repeated,) = api.get(f"/api/v1/sessions/{session['id']}/messages").json()["results"]
    assert repeated == {name: value for name, value in row.items() if name != "status"}
