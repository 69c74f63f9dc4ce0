"""Replay and comparison of contexts over REST: with an earlier time, and under two budget profiles."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from context.assembly.serializers.receipts import ReceiptOutput
from context.assembly.serializers.replay import DiffOutput
from context.models import Receipt
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import CONTEXT, MEMORIES, NOWHERE, all_stored_memories, assert_problem, post_memory
from tests.users import api_client, new_key

DIFF = f"{CONTEXT}/diff"
PROFILES = "/api/v1/budget-profiles"
SNAPSHOTS = "/api/v1/snapshots"
REQUEST = {"query": "Where does Sam live?", "partition": "user=sam"}


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def home(api: APIClient) -> dict[str, Any]:
    post_memory(api, "Sam owns a boat.", partition="user=sam")
    return post_memory(api, "Sam lives in Lisbon.", partition="user=sam")


def replay(client: APIClient, context_id: str, mode: str, **more: Any) -> dict[str, Any]:
    response = client.post(f"{CONTEXT}/{context_id}/replay", {"mode": mode, **more})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def diff(client: APIClient, **body: Any) -> dict[str, Any]:
    response = client.post(DIFF, {**REQUEST, **body})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    assert set(answer) == set(DiffOutput().fields) - {"explain"}
    return answer


def test_recorded_replay_gives_the_text_back_through_edits_and_archives(
    api: APIClient, admin: APIClient, home: dict[str, Any]
) -> None:
    url = f"/api/v1/partitions/{quote('user=sam', safe='')}/summaries"
    api.put(url, {"content": "Sam in short."})
    admin.put("/api/v1/memo", {"content": "You help Sam."})
    given = api.post(CONTEXT, REQUEST).json()
    api.patch(f"{MEMORIES}/{home['id']}", {"content": "Sam lives in Porto."})
    api.put(url, {"content": "Sam anew."})
    admin.put("/api/v1/memo", {"content": "You help Kim."})
    admin.patch(f"{PROFILES}/default", {"default_tokens": 50})
    (boat,) = [memory for memory in api.get(MEMORIES).json()["results"] if "boat" in memory["content"]]
    api.delete(f"{MEMORIES}/{boat['id']}")
    again = replay(api, given["id"], "recorded")
    assert set(again) == set(ReceiptOutput().fields) - {"explain", "stable_prefix_tokens"}
    assert (again["text"], again["is_verified"], again["id"]) == (given["text"], True, given["id"])
    assert again["blocks"] == given["blocks"]
    today = replay(api, given["id"], "today", explain=True)
    assert not today["is_verified"]
    assert today["id"] is None
    assert "Sam lives in Porto." in today["text"]
    assert "boat" not in today["text"]
    assert today["explain"]["candidates"]


def test_replay_stores_and_counts_nothing_and_takes_the_scope_read(
    api: APIClient, tenant: Tenant, home: dict[str, Any]
) -> None:
    given = api.post(CONTEXT, REQUEST).json()
    counts = {row["id"]: row["retrieval_count"] for row in api.get(MEMORIES).json()["results"]}
    reader = api_client(new_key(tenant, "read"))
    for mode in ("recorded", "today"):
        replay(reader, given["id"], mode)
    assert {row["id"]: row["retrieval_count"] for row in api.get(MEMORIES).json()["results"]} == counts
    assert len(api.get("/api/v1/contexts").json()["results"]) == 1


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "required", "mode"),
        ({"mode": "yesterday"}, "invalid_choice", "mode"),
        ({"mode": None}, "null", "mode"),
        ({"mode": "today", "query": "x"}, "unknown_field", "query"),
        ({"mode": "today", "explain": 1}, "not_a_boolean", "explain"),
    ],
)
def test_bad_replay_is_refused_by_name(
    api: APIClient, home: dict[str, Any], body: dict[str, Any], code: str, field: str
) -> None:
    given = api.post(CONTEXT, REQUEST).json()
    response = api.post(f"{CONTEXT}/{given['id']}/replay", json.dumps(body), content_type="application/json")
    assert_problem(response, 400, code, field)


def test_replay_out_of_reach_is_not_found(api: APIClient, tenant: Tenant, home: dict[str, Any]) -> None:
    given = api.post(CONTEXT, REQUEST).json()
    confined = api_client(new_key(tenant, "read", partition="user=alex"))
    for client, context_id in ((confined, given["id"]), (api, NOWHERE)):
        for mode in ("recorded", "today"):
            assert_problem(client.post(f"{CONTEXT}/{context_id}/replay", {"mode": mode}), 404, "not_found")


def test_difference_since_a_context_shows_text_of_what_was_added_alone(
    api: APIClient, tenant: Tenant, home: dict[str, Any]
) -> None:
    given = api.post(CONTEXT, REQUEST).json()
    nothing = diff(api, since={"context_id": given["id"]})
    assert (nothing["added"], nothing["removed"], nothing["tokens_estimated_added"]) == ([], [], 0)
    assert len(nothing["kept"]) == 2
    api.patch(f"{MEMORIES}/{home['id']}", {"content": "Sam lives in Porto."})
    new = diff(api, since={"context_id": given["id"]})
    (added,) = new["added"]
    assert (added["text"], added["anchor"]) == (
        "Sam lives in Porto.", {"type": "memory", "id": home["id"], "version": 2},
    )  # fmt: skip
    assert new["removed"] == [{"type": "memory", "id": home["id"], "version": 1}]
    assert len(new["kept"]) == 1
    assert new["tokens_estimated_added"] == added["tokens"] > 0
    assert "Lisbon" not in str(new)
    with tenant_scope(tenant.pk):
        assert Receipt.objects.for_tenant(tenant.pk).row_count() == 1
    assert {memory.retrieval_count for memory in all_stored_memories(tenant)} <= {0, 1}


def test_difference_since_a_snapshot_or_a_time(api: APIClient, admin: APIClient, home: dict[str, Any]) -> None:
    snapshot = admin.post(SNAPSHOTS, {"name": "before"}).json()
    before = timezone.now().isoformat()
    post_memory(api, "Sam lives in Porto.", partition="user=sam")
    for since in ({"snapshot": "before"}, {"snapshot": snapshot["id"]}, {"as_of": before}):
        answer = diff(api, since=since)
        assert [block["text"] for block in answer["added"]] == ["Sam lives in Porto."]
        assert (len(answer["kept"]), answer["removed"]) == (2, [])


def test_two_profiles_are_compared_on_one_query(api: APIClient, admin: APIClient, home: dict[str, Any]) -> None:
    one = admin.post(PROFILES, {"name": "one", "default_tokens": 35})
    assert one.status_code == 201
    answer = diff(api, profiles=["one", "default"])
    assert (len(answer["kept"]), len(answer["added"]), answer["removed"]) == (1, 1, [])
    assert answer["budget_profile"]["name"] == "default"
    back = diff(api, profiles=["default", "one"])
    assert (back["added"], len(back["removed"])) == ([], 1)


BAD_DIFFERENCES = [
    ({}, 400, "one_of", ""),
    ({"since": {"snapshot": "x"}, "profiles": ["default", "default"]}, 400, "one_of", ""),
    ({"since": {}}, 400, "one_of", "since"),
    ({"since": {"snapshot": "x", "as_of": "2026-01-01T00:00:00Z"}}, 400, "one_of", "since"),
    ({"since": {"context_id": "x"}}, 400, "not_a_uuid", "since.context_id"),
    ({"since": {"as_of": "2026-01-01"}}, 400, "no_offset", "since.as_of"),
    ({"since": {"as_of": "2999-01-01T00:00:00Z"}}, 400, "in_the_future", "since.as_of"),
    ({"since": {"time": "x"}}, 400, "unknown_field", "since.time"),
    ({"since": {"snapshot": "a\x00"}}, 400, "null_character", "since.snapshot"),
    ({"since": {"context_id": str(NOWHERE)}}, 404, "not_found", "since.context_id"),
    ({"since": {"snapshot": "nothing"}}, 404, "not_found", "since.snapshot"),
    ({"since": {"snapshot": str(NOWHERE)}}, 404, "not_found", "since.snapshot"),
    ({"profiles": ["default"]}, 400, "min_length", "profiles"),
    ({"profiles": ["default"] * 3}, 400, "max_length", "profiles"),
    ({"profiles": ["nobody", "default"]}, 400, "unknown_budget_profile", "profiles.0"),
    ({"profiles": ["default", "nobody"]}, 400, "unknown_budget_profile", "profiles.1"),
    ({"profiles": ["default", "default"], "budget_profile": "default"}, 400, "given_twice", "budget_profile"),
    ({"profiles": ["default", "default"], "max_tokens": 0}, 400, "out_of_range", "max_tokens"),
    ({"profiles": ["default", "default"], "packer": 7}, 400, "invalid_choice", "packer"),
    ({"profiles": ["default", "default"], "packer": ["greedy"]}, 400, "invalid_choice", "packer"),
    ({"profiles": ["default", "default"], "render": {}}, 400, "invalid_choice", "render"),
]


def test_bad_difference_is_refused_by_name(api: APIClient, home: dict[str, Any]) -> None:
    for body, status, code, field in BAD_DIFFERENCES:
        assert_problem(api.post(DIFF, {**REQUEST, **body}), status, code, field)


def test_difference_since_a_context_of_another_partition_is_refused(
    api: APIClient, tenant: Tenant, home: dict[str, Any]
) -> None:
    given = api.post(CONTEXT, REQUEST).json()
    elsewhere = {"query": "x", "partition": "user=alex", "since": {"context_id": given["id"]}}
    assert_problem(api.post(DIFF, elsewhere), 400, "another_partition", "since.context_id")
    confined = api_client(new_key(tenant, "read", partition="user=alex"))
    own = {"query": "x", "since": {"context_id": given["id"]}}
    assert_problem(confined.post(DIFF, own), 404, "not_found", "since.context_id")
    assert_problem(confined.post(DIFF, {**REQUEST, "since": {"snapshot": "x"}}), 403, "partition_forbidden")


def test_difference_takes_the_scope_read_and_explains(api: APIClient, tenant: Tenant, home: dict[str, Any]) -> None:
    given = api.post(CONTEXT, REQUEST).json()
    reader = api_client(new_key(tenant, "read"))
    body = {**REQUEST, "since": {"context_id": given["id"]}, "explain": True}
    answer = reader.post(DIFF, body).json()
    assert answer["explain"]["candidates"]


def test_diff_refuses_a_wrongly_typed_field_by_its_name(api: APIClient) -> None:
    for name in ["packer", "ordering", "render", "summary_style", "query", "profile", "budget_profile"]:
        for value in [5, True, 1.5, [], {}, ["greedy"]]:
            for compared in [{"since": {"as_of": "2026-01-01T00:00:00Z"}}, {"profiles": ["default", "default"]}]:
                response = api.post("/api/v1/context/diff", {"query": "tea", **compared, name: value})
                assert response.status_code == 400, response.content
                assert [error["field"] for error in response.json()["errors"]] == [name]
