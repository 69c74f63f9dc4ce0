"""A `source_id` is the caller's own id: with another text it updates its memory as a new version."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.rest_helpers import (
    BULK,
    CONTEXT,
    MEMORIES,
    SEARCH,
    all_stored_memories,
    assert_problem,
    post_memory,
)

pytestmark = pytest.mark.django_db


def put(api: APIClient, content: str, status: int = 200, **fields: Any) -> dict[str, Any]:
    response = api.post(MEMORIES, {"content": content, "source_id": "doc-1", **fields})
    assert response.status_code == status, response.json()
    answer: dict[str, Any] = response.json()
    return answer


def test_other_text_of_a_source_is_a_new_version(api: APIClient, tenant: Tenant) -> None:
    first = post_memory(api, "The door code is 4711.", source_id="doc-1", kind="procedure", pinned=True)
    second = put(api, "The door code is 1174.", metadata={"page": 2})
    assert (second["status"], second["reason"]) == ("updated", "")
    assert (second["id"], second["version"], second["content"]) == (first["id"], 2, "The door code is 1174.")
    assert (second["kind"], second["pinned"], second["metadata"]) == ("procedure", True, {"page": 2})
    assert second["created_at"] == first["created_at"]
    assert second["embedding"]["state"] == "ready"
    history = api.get(f"{MEMORIES}/{first['id']}/history").json()["results"]
    assert [row["content"] for row in history] == ["The door code is 1174.", "The door code is 4711."]
    assert len(all_stored_memories(tenant)) == 1
    (hit,) = api.post(SEARCH, {"query": "door code"}).json()["results"]
    assert hit["content"] == "The door code is 1174."
    again = put(api, "The door code is 1174.", kind="fact")
    assert (again["status"], again["reason"], again["version"], again["kind"]) == (
        "existing",
        "duplicate",
        2,
        "procedure",
    )


def test_source_is_of_its_partition_and_only_while_it_lives(api: APIClient, tenant: Tenant) -> None:
    first = post_memory(api, "one", source_id="doc-1", user_id="alex")
    put(api, "two", 201, user_id="sam")
    api.delete(f"{MEMORIES}/{first['id']}")
    third = put(api, "three", 201, user_id="alex")
    assert third["id"] != first["id"]
    post_memory(api, "no source")
    post_memory(api, "no source either")
    assert len(all_stored_memories(tenant)) == 5


def test_bulk_updates_by_source_in_the_order_of_the_rows(api: APIClient) -> None:
    post_memory(api, "a1", source_id="a")
    rows = [
        {"content": "a2", "source_id": "a"},
        {"content": "b1", "source_id": "b"},
        {"content": "b2", "source_id": "b", "confidence": 0.3},
        {"content": "b2", "source_id": "b"},
        {"content": "b1", "source_id": "b"},
        {"content": "free"},
        {"content": "a2", "source_id": "a", "confidence": 7},
    ]
    results = api.post(BULK, {"memories": rows}).json()["results"]
    assert [row["status"] for row in results] == [
        *("updated", "created", "updated", "existing", "updated", "created", "invalid"),
    ]
    assert len({results[place]["id"] for place in (1, 2, 3, 4)}) == 1
    b = api.get(f"{MEMORIES}/{results[1]['id']}").json()
    assert (b["content"], b["version"], b["confidence"]) == ("b1", 3, 0.3)


def test_update_is_checked_against_the_stored_times(api: APIClient) -> None:
    post_memory(api, "one", source_id="doc-1", created_at="2026-05-01T00:00:00Z", expires_at="2999-01-01T00:00:00Z")
    answer = api.post(MEMORIES, {"content": "two", "source_id": "doc-1", "expires_at": "2026-04-01T00:00:00Z"})
    assert_problem(answer, 400, "before_creation", "expires_at")
    assert put(api, "two", created_at=None)["created_at"] == "2026-05-01T00:00:00Z"


def test_link_of_an_update_to_itself_is_left_out(api: APIClient) -> None:
    other, own = post_memory(api, "other"), post_memory(api, "one", source_id="doc-1")
    links = [{"target_id": own["id"]}, {"target_id": other["id"]}]
    assert [link["target_id"] for link in put(api, "two", links=links)["links"]] == [other["id"]]


def test_text_that_was_read_before_still_updates(api: APIClient) -> None:
    post_memory(api, "The code is 4711.", source_id="doc-1")
    assert "4711" in api.post(CONTEXT, {"query": "code"}).json()["text"]
    put(api, "The code is 1174.")
    assert put(api, "The code is 4711.")["content"] == "The code is 4711."


def test_answer_to_an_update_is_replayed_by_idempotency_key(api: APIClient) -> None:
    post_memory(api, "one", source_id="doc-1")
    body = {"content": "two", "source_id": "doc-1"}
    answers = [api.post(MEMORIES, body, headers={"Idempotency-Key": "k1"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1]["Idempotent-Replayed"] == "true"
