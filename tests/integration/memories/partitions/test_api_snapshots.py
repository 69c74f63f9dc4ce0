"""Snapshots and their comparison over REST."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.partitions.serializers import SnapshotComparisonOutput, SnapshotOutput
from tests.integration.rest_helpers import (
    MEMORIES,
    NOWHERE,
    all_stored_memories,
    assert_problem,
    every_page,
    post_memory,
    query_count,
)
from tests.users import api_client, new_key

SNAPSHOTS = "/api/v1/snapshots"


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def snap(client: APIClient, name: str, **fields: Any) -> dict[str, Any]:
    response = client.post(SNAPSHOTS, {"name": name, **fields})
    assert response.status_code == 201, response.content
    answer: dict[str, Any] = response.json()
    return answer


def compare(client: APIClient, snapshot: dict[str, Any], **query: Any) -> dict[str, Any]:
    response = client.get(f"{SNAPSHOTS}/{snapshot['id']}/compare", query)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    assert set(answer) == set(SnapshotComparisonOutput().fields)
    return answer


def test_snapshot_names_a_time_and_deleting_it_deletes_the_name_alone(
    api: APIClient, admin: APIClient, tenant: Tenant
) -> None:
    post_memory(api, "Sam lives in Porto.")
    made = snap(admin, "before the import")
    assert set(made) == set(SnapshotOutput().fields)
    assert made["recorded_at"] == made["created_at"]
    assert api.get(SNAPSHOTS).json()["results"] == [made]
    assert api.get(f"{SNAPSHOTS}/{made['id']}").json() == made
    assert_problem(admin.post(SNAPSHOTS, {"name": "before the import"}), 409, "duplicate", "name")
    assert admin.delete(f"{SNAPSHOTS}/{made['id']}").status_code == 204
    assert_problem(admin.delete(f"{SNAPSHOTS}/{made['id']}"), 404, "not_found")
    assert api.get(SNAPSHOTS).json()["results"] == []
    assert len(all_stored_memories(tenant)) == 1
    snap(admin, "before the import", recorded_at="2026-01-01T00:00:00+02:00")
    assert api.get(SNAPSHOTS).json()["results"][0]["recorded_at"] == "2025-12-31T22:00:00Z"


def test_comparison_counts_and_lists_what_became_of_memories(api: APIClient, admin: APIClient) -> None:
    edited, gone, _ = (post_memory(api, text) for text in ("edited", "gone", "kept"))
    first = snap(admin, "first")
    api.patch(f"{MEMORIES}/{edited['id']}", {"content": "edited anew"})
    api.delete(f"{MEMORIES}/{gone['id']}")
    second = snap(admin, "second")
    new = post_memory(api, "new", metadata={"a": 1})
    answer = compare(api, first)
    assert answer["counts"] == {"added": 1, "changed": 1, "removed": 1}
    assert answer["before"] == {name: first[name] for name in ("id", "name", "recorded_at")}
    assert (answer["after"]["id"], answer["after"]["name"]) == (None, "now")
    assert answer["next"] == {"added": None, "changed": None, "removed": None}
    (added,), (changed,), (removed,) = answer["added"], answer["changed"], answer["removed"]
    assert (added["id"], added["before"]) == (new["id"], None)
    assert (added["after"]["content"], added["after"]["metadata"]) == ("new", {"a": 1})
    assert (changed["id"], changed["before"]["content"], changed["after"]["content"]) == (
        edited["id"], "edited", "edited anew",
    )  # fmt: skip
    assert (changed["before"]["version"], changed["after"]["version"]) == (1, 2)
    assert (removed["id"], removed["before"]["content"], removed["after"]) == (gone["id"], "gone", None)
    between = compare(api, first, **{"with": second["id"]})
    assert between["counts"] == {"added": 0, "changed": 1, "removed": 1}
    assert between["after"]["name"] == "second"
    back = compare(api, second, **{"with": first["id"]})
    assert back["counts"] == {"added": 1, "changed": 1, "removed": 0}
    assert compare(api, second, **{"with": "now"})["counts"] == {"added": 1, "changed": 0, "removed": 0}


def test_long_lists_have_pages_and_queries_do_not_grow(api: APIClient, admin: APIClient) -> None:
    before = snap(admin, "before")
    url = f"{SNAPSHOTS}/{before['id']}/compare"
    post_memory(api, "memory")
    few = query_count(api, url)
    for number in range(6):
        post_memory(api, f"memory {number}")
    assert query_count(api, url) == few
    first = compare(api, before, page_size=3)
    assert (first["counts"]["added"], len(first["added"])) == (7, 3)
    seen = [row["id"] for row in first["added"]]
    following = first["next"]["added"]
    while following:
        page = api.get(following).json()
        assert page["counts"]["added"] == 7
        seen += [row["id"] for row in page["added"]]
        following = page["next"]["added"]
    assert len(seen) == len(set(seen)) == 7
    assert_problem(api.get(f"{first['next']['added']}x"), 400, "bad_cursor", "cursor")
    moved = first["next"]["added"].replace("kind=added", "kind=removed")
    assert_problem(api.get(moved), 400, "bad_cursor", "cursor")


def test_comparison_stays_within_the_reach(api: APIClient, admin: APIClient, tenant: Tenant) -> None:
    before = snap(admin, "before")
    post_memory(api, "Sam lives in Porto.", partition="user=sam")
    own = post_memory(api, "Alex lives in Porto.", partition="user=alex/topic=home")
    confined = api_client(new_key(tenant, "read", "admin", partition="user=alex"))
    answer = compare(confined, before)
    assert answer["counts"] == {"added": 1, "changed": 0, "removed": 0}
    assert [row["id"] for row in answer["added"]] == [own["id"]]
    assert compare(api, before, partition="user=sam")["counts"]["added"] == 1
    outside = confined.get(f"{SNAPSHOTS}/{before['id']}/compare", {"partition": "user=sam"})
    assert_problem(outside, 403, "partition_forbidden")
    assert_problem(confined.post(SNAPSHOTS, {"name": "x"}), 403, "partition_forbidden")
    assert_problem(confined.delete(f"{SNAPSHOTS}/{before['id']}"), 403, "partition_forbidden")
    assert_problem(api.post(SNAPSHOTS, {"name": "x"}), 403, "scope_missing")
    assert_problem(api.delete(f"{SNAPSHOTS}/{before['id']}"), 403, "scope_missing")
    assert len(api.get(SNAPSHOTS).json()["results"]) == 1


BAD_SNAPSHOTS = [
    ({}, "required", "name"),
    ({"name": ""}, "bad_name", "name"),
    ({"name": " x"}, "bad_name", "name"),
    ({"name": "x\ny"}, "bad_name", "name"),
    ({"name": "x" * 101}, "too_long", "name"),
    ({"name": "a\x00"}, "null_character", "name"),
    ({"name": 7}, "not_text", "name"),
    ({"name": "x", "recorded_at": "2999-01-01T00:00:00Z"}, "in_the_future", "recorded_at"),
    ({"name": "x", "recorded_at": "2026-01-01"}, "no_offset", "recorded_at"),
    ({"name": "x", "partition": "user=alex"}, "unknown_field", "partition"),
]


def test_bad_snapshot_is_refused_by_name(admin: APIClient) -> None:
    for body, code, field in BAD_SNAPSHOTS:
        assert_problem(admin.post(SNAPSHOTS, body), 400, code, field)
    assert admin.get(SNAPSHOTS).json()["results"] == []


def test_bad_name_is_reported_without_a_pattern(admin: APIClient) -> None:
    responses = [admin.post(SNAPSHOTS, {"name": " x"}), admin.post("/api/v1/budget-profiles", {"name": "Bad Name"})]
    responses.append(admin.post("/api/v1/memories", {"content": "One", "kind": "Two Words"}))
    for response in responses:
        assert not set("[]{}\\") & set(response.json()["errors"][0]["detail"])


def test_bad_comparison_is_refused_by_name(admin: APIClient) -> None:
    url = f"{SNAPSHOTS}/{snap(admin, 'before')['id']}/compare"
    assert_problem(admin.get(url, {"with": "yesterday"}), 400, "invalid_choice", "with")
    assert_problem(admin.get(url, {"with": "x" * 36}), 400, "invalid_choice", "with")
    assert_problem(admin.get(url, {"with": str(NOWHERE)}), 404, "not_found", "with")
    assert_problem(admin.get(url, {"kind": "moved"}), 400, "invalid_choice", "kind")
    assert_problem(admin.get(url, {"page_size": "0"}), 400, "out_of_range", "page_size")
    assert_problem(admin.get(url, {"since": "now"}), 400, "unknown_field", "since")
    assert_problem(admin.get(f"{SNAPSHOTS}/{NOWHERE}/compare"), 404, "not_found")
    assert_problem(admin.get(f"{SNAPSHOTS}/{NOWHERE}"), 404, "not_found")


def test_snapshots_are_paged_and_repeated_posts_make_one(admin: APIClient) -> None:
    first, again = (admin.post(SNAPSHOTS, {"name": "x"}, headers={"Idempotency-Key": "s"}) for _ in range(2))
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    few = query_count(admin, SNAPSHOTS)
    same = timezone.now().isoformat()
    for number in range(4):
        snap(admin, f"s{number}", recorded_at=same)
    assert query_count(admin, SNAPSHOTS) == few
    assert [len(page) for page in every_page(admin, f"{SNAPSHOTS}?page_size=2")] == [2, 2, 1]
