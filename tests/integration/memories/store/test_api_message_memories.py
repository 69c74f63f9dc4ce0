"""`messages` on POST memories: each message of a user or an assistant becomes a memory."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.rest_helpers import MEMORIES, all_stored_memories, assert_problem
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "name": "Alex", "content": "I moved to Lisbon.", "source_id": "m1"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    {"role": "assistant", "content": [{"type": "text", "text": "How is it?"}, {"type": "image_url", "image_url": {}}]},
]


def send(api: APIClient, status: int = 201, **body: Any) -> list[dict[str, Any]]:
    response = api.post(MEMORIES, {"messages": TALK, **body})
    assert response.status_code == status, response.json()
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def test_messages_become_memories_with_speaker_session_and_position(api: APIClient, tenant: Tenant) -> None:
    results = send(api, user_id="alex", session="s1", metadata={"channel": "chat"})
    assert [row["status"] for row in results] == ["skipped", "created", "skipped", "skipped", "created"]
    assert [row["reason"] for row in results] == ["role", "", "empty", "role", ""]
    memory = api.get(f"{MEMORIES}/{results[1]['id']}").json()
    assert (memory["content"], memory["kind"], memory["partition"]) == (
        "Alex: I moved to Lisbon.",
        "episode",
        "user=alex",
    )
    assert (memory["session"], memory["position"], memory["source_id"]) == ("s1", 1, "m1")
    assert memory["metadata"] == {"channel": "chat", "role": "user", "speaker": "Alex"}
    assert memory["embedding"]["state"] == "ready"
    answered = api.get(f"{MEMORIES}/{results[4]['id']}").json()
    assert (answered["content"], answered["position"]) == ("How is it?\n[image]", 4)
    assert [row["status"] for row in send(api, 200, user_id="alex", session="s1")] == [
        "skipped", "existing", "skipped", "skipped", "existing"
    ]  # fmt: skip
    assert len(all_stored_memories(tenant)) == 2


def test_positions_follow_the_first_and_messages_have_their_own_times(api: APIClient) -> None:
    talk = [
        {"role": "user", "content": "one", "created_at": "2026-05-01T00:00:00Z"},
        {"role": "user", "content": "two"},
    ]
    results = send(api, messages=talk, position=7, created_at="2026-05-02T00:00:00Z")
    rows = [api.get(f"{MEMORIES}/{row['id']}").json() for row in results]
    assert [row["position"] for row in rows] == [7, 8]
    assert [row["created_at"] for row in rows] == ["2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z"]
    (free,) = send(api, messages=[{"role": "user", "content": "three"}])
    assert api.get(f"{MEMORIES}/{free['id']}").json()["position"] is None


def test_edited_message_of_a_source_updates_its_memory(api: APIClient) -> None:
    first = send(api)[1]
    edited = send(api, 200, messages=[{"role": "user", "content": "I moved to Porto.", "source_id": "m1"}])[0]
    assert (edited["status"], edited["id"]) == ("updated", first["id"])


BAD_MESSAGES = [
    ({"messages": []}, "min_length", "messages"),
    ({"messages": "x"}, "not_a_list", "messages"),
    ({"messages": [{"role": "user", "content": "x"}] * 501}, "max_length", "messages"),
    ({"messages": [{"role": "critic", "content": "x"}]}, "invalid_choice", "messages.0.role"),
    ({"messages": [{"role": "user", "content": "x" * 40_000}]}, "too_long", "messages.0.content"),
    ({"messages": [{"role": "user", "content": "a\x00"}]}, "null_character", "messages.0.content"),
    ({"messages": [{"role": "user", "content": [{"type": "poem"}]}]}, "unknown_part", "messages.0.content"),
    ({"messages": [{"role": "user", "content": 7}]}, "not_text", "messages.0.content"),
    ({"messages": [{"role": "user", "text": "x"}]}, "unknown_field", "messages.0.text"),
    ({"messages": [{"role": "user", "content": "x"}], "content": "x"}, "one_of", "content"),
]


def test_bad_message_names_its_field(api: APIClient, tenant: Tenant) -> None:
    for body, code, field in BAD_MESSAGES:
        assert_problem(api.post(MEMORIES, body), 400, code, field)
    assert all_stored_memories(tenant) == []


def test_key_writes_messages_to_its_partition_alone(tenant: Tenant) -> None:
    alex = api_client(new_key(tenant, "write", partition="user=alex"))
    assert_problem(alex.post(MEMORIES, {"messages": TALK, "user_id": "sam"}), 403, "partition_forbidden")
    send(alex)
    assert {row.partition_path for row in all_stored_memories(tenant)} == {"user=alex"}
