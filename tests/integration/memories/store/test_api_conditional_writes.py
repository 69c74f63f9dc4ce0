"""Writes of several memories, or of a memory by its `source_id`, only in the state that the caller has read."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.rest_helpers import BULK, MEMORIES, all_stored_memories, assert_problem, post_memory

pytestmark = pytest.mark.django_db

MOVE = f"{MEMORIES}/move"


def put(api: APIClient, content: str, source_id: str = "doc-1", **headers: str) -> Any:
    """Store a text under a `source_id`; `If_Match` is the header If-Match."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.post(MEMORIES, {"content": content, "source_id": source_id}, headers=named)


def texts(tenant: Tenant) -> list[str]:
    return [row.content for row in all_stored_memories(tenant)]


def test_memory_of_a_source_is_updated_only_in_the_version_of_if_match(api: APIClient, tenant: Tenant) -> None:
    first = put(api, "one")
    second = put(api, "two", If_Match=first["ETag"])
    assert (second.status_code, second.json()["status"], second.json()["version"]) == (200, "updated", 2)
    assert_problem(put(api, "three", If_Match=first["ETag"]), 412, "stale_version", "If-Match")
    # the text is the same, but the memory is not in the state that the client has read
    assert_problem(put(api, "two", If_Match=first["ETag"]), 412, "stale_version", "If-Match")
    assert texts(tenant) == ["two"]
    assert put(api, "three", If_Match=f"{first['ETag']}, {second['ETag']}").json()["version"] == 3
    assert put(api, "three", If_Match='"3"').json()["status"] == "existing"
    assert put(api, "four", If_Match="*").json()["version"] == 4


def test_if_match_without_a_memory_of_the_source_stores_nothing(api: APIClient, tenant: Tenant) -> None:
    archived = put(api, "one")
    api.delete(f"{MEMORIES}/{archived.json()['id']}")
    for etag in ("*", archived["ETag"], '"0"', "nonsense"):
        assert_problem(put(api, "two", If_Match=etag), 412, "stale_version", "If-Match")
        assert_problem(put(api, "two", "other", If_Match=etag), 412, "stale_version", "If-Match")
        assert_problem(put(api, "two", "", If_Match=etag), 412, "stale_version", "If-Match")
    assert texts(tenant) == ["one"]


def test_if_none_match_creates_only(api: APIClient, tenant: Tenant) -> None:
    assert put(api, "one", If_None_Match="*").status_code == 201
    for text in ("one", "two"):
        assert_problem(put(api, text, If_None_Match="*"), 412, "stale_version", "If-Match")
    assert_problem(put(api, "two", "", If_None_Match="*"), 400, "required", "source_id")
    for tags in ('"1"', 'W/"1.5ca1e"', "nonsense"):
        refused = put(api, "two", "other", If_None_Match=tags)
        assert_problem(refused, 400, "if_none_match_unsupported", "If-None-Match")
    for name in ("doc-1", "other"):
        both = put(api, "two", name, If_None_Match="*", If_Match="*")
        assert_problem(both, 412, "stale_version", "If-Match")
    assert texts(tenant) == ["one"]


def test_each_row_of_a_bulk_request_has_its_own_condition(api: APIClient, tenant: Tenant) -> None:
    for name in ("a", "b"):
        post_memory(api, f"{name}1", source_id=name)
    rows = [
        {"content": "a2", "source_id": "a", "if_version": 1},
        {"content": "a3", "source_id": "a", "if_version": 1},  # the first row has updated it
        {"content": "b2", "source_id": "b", "if_version": 2},
        {"content": "b3", "source_id": "b", "if_version": 0},
        {"content": "c1", "source_id": "c", "if_version": 0},
        {"content": "d1", "source_id": "d", "if_version": 1},
        {"content": "e1", "if_version": 1},
    ]
    results = api.post(BULK, {"memories": rows}).json()["results"]
    assert [row["status"] for row in results] == ["updated", *["invalid"] * 3, "created", "invalid", "invalid"]
    faults = [[(error["field"], error["code"]) for error in row["errors"]] for row in results]
    stale = [("if_version", "stale_version")]
    assert faults == [[], stale, stale, stale, [], stale, [("source_id", "required")]]
    assert texts(tenant) == ["a2", "b1", "c1"]


def test_each_line_of_a_file_has_its_own_condition(api: APIClient, tenant: Tenant) -> None:
    post_memory(api, "one", source_id="a")
    lines = [{"content": "two", "source_id": "a", "if_version": 7}, {"content": "new", "source_id": "b"}]
    files = {
        "application/x-ndjson": "\n".join(map(json.dumps, lines)),
        "text/csv": "content,source_id,if_version\n3,a,7",
    }
    for content_type, text in files.items():
        report = api.post("/api/v1/import", data=text.encode(), content_type=content_type).json()
        assert [(row["status"], row["errors"][0]["code"]) for row in report["lines"][:1]] == [
            ("invalid", "stale_version")
        ]
    assert texts(tenant) == ["new", "one"]
    fitting = "content,source_id,if_version\ntwo,a,1\n"
    assert api.post("/api/v1/import", data=fitting.encode(), content_type="text/csv").json()["updated"] == 1


def test_each_message_has_its_own_condition(api: APIClient) -> None:
    post_memory(api, "one", source_id="m1")
    message = {"role": "user", "content": "two", "source_id": "m1"}
    body = {"messages": [{**message, "if_version": version} for version in (7, 1)]}
    (stale, updated) = api.post(MEMORIES, body).json()["results"]
    assert (stale["status"], stale["errors"][0]["code"]) == ("invalid", "stale_version")
    assert updated["status"] == "updated"
    for name in ("If-Match", "If-None-Match"):
        answer = api.post(MEMORIES, {"messages": [message]}, headers={name: "*"})
        assert_problem(answer, 400, f"{name.lower().replace('-', '_')}_unsupported", name)


def test_move_does_what_its_dry_run_showed_or_nothing(api: APIClient, tenant: Tenant) -> None:
    one = post_memory(api, "one", partition="user=sam")["id"]
    body = {"filter": {"partition": "user=sam"}, "to": "user=kim"}

    def shown() -> str:
        return str(api.post(MOVE, {**body, "dry_run": True})["ETag"])

    before_edit = shown()
    assert shown() == before_edit
    api.patch(f"{MEMORIES}/{one}", {"confidence": 0.1})
    before_second = shown()
    second = post_memory(api, "two", partition="user=sam")["id"]
    before_twin = shown()
    post_memory(api, "two", partition="user=kim")
    for etag in (before_edit, before_second, before_twin):
        assert_problem(api.post(MOVE, body, headers={"If-Match": etag}), 412, "stale_version", "If-Match")
    assert api.get(f"{MEMORIES}/{one}").json()["partition"] == "user=sam"
    current = {"If-Match": shown()}
    moved = api.post(MOVE, body, headers=current).json()
    assert (moved["moved"], moved["skipped"]) == (1, {"duplicate": 1})
    # now there is nothing left to move: without the header this is a conflict
    for selected in (body, {"ids": [second], "to": "user=kim"}, {**body, "filter": {"partition": "user=nobody"}}):
        assert_problem(api.post(MOVE, selected, headers=current), 412, "stale_version", "If-Match")
        assert_problem(api.post(MOVE, selected), 409, "nothing_left")


def test_memories_are_replaced_only_in_the_versions_that_the_caller_names(api: APIClient, tenant: Tenant) -> None:
    old, other = (post_memory(api, text)["id"] for text in ("Alex lives in Lisbon.", "Alex moved in May."))
    api.patch(f"{MEMORIES}/{old}", {"confidence": 0.1})
    new = {"content": "Alex lives in Porto.", "supersedes": [other, old]}
    stale = {**new, "superseded_versions": [1, 1]}
    assert_problem(api.post(MEMORIES, stale), 412, "stale_version", "supersedes")
    (row,) = api.post(BULK, {"memories": [stale]}).json()["results"]
    assert [(error["field"], error["code"]) for error in row["errors"]] == [("supersedes", "stale_version")]
    assert_problem(api.post(MEMORIES, {**new, "superseded_versions": [1]}), 400, "bad_length", "superseded_versions")
    twice = {**new, "supersedes": [other, other], "superseded_versions": [99, 1]}
    assert_problem(api.post(MEMORIES, twice), 400, "different_versions", "superseded_versions")
    line = json.dumps(stale).encode()
    (row,) = api.post("/api/v1/import", data=line, content_type="application/x-ndjson").json()["lines"]
    assert [(error["field"], error["code"]) for error in row["errors"]] == [("supersedes", "stale_version")]
    assert all(row.archived_at is None for row in all_stored_memories(tenant))
    rows = [{**new, "superseded_versions": [1, 2]}, {**new, "content": "x", "superseded_versions": [1]}]
    stored, invalid = api.post(BULK, {"memories": rows}).json()["results"]
    assert (stored["status"], invalid["errors"][0]["code"]) == ("created", "bad_length")
    assert {row.content for row in all_stored_memories(tenant) if row.archived_at is None} == {"Alex lives in Porto."}
