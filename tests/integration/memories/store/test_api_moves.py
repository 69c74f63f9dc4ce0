"""Bulk moves of memories to another partition over REST, and their undo."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import AuditEntry, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import MEMORIES, SEARCH, all_stored_memories, assert_problem, post_memory
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

MOVE = f"{MEMORIES}/move"


def move(api: APIClient, **body: Any) -> dict[str, Any]:
    response = api.post(MOVE, body)
    assert response.status_code == 200, response.json()
    answer: dict[str, Any] = response.json()
    return answer


def places(tenant: Tenant) -> dict[str, str]:
    return {row.content: row.partition_path for row in all_stored_memories(tenant)}


@pytest.fixture
def stored(api: APIClient) -> dict[str, str]:
    rows = [("tea", "user=alex"), ("oats", "user=alex/topic=food"), ("jazz", "user=sam"), ("tea ", "user=alexander")]
    return {f"{text}@{path}": post_memory(api, text, partition=path)["id"] for text, path in rows}


def test_filter_moves_a_subtree_and_undo_brings_it_back(api: APIClient, tenant: Tenant, stored: dict[str, str]) -> None:
    before = places(tenant)
    body = {"filter": {"partition": "user=alex"}, "to": "user=alexander"}
    counted = move(api, **body, dry_run=True)
    assert counted == {
        "act_id": None, "to": "user=alexander", "moved": 1, "skipped": {"duplicate": 1}, "has_more": False
    }  # fmt: skip
    assert places(tenant) == before
    done = move(api, **body)
    assert {**done, "act_id": None} == counted
    moved = api.get(f"{MEMORIES}/{stored['oats@user=alex/topic=food']}").json()
    assert (moved["partition"], moved["version"], moved["embedding"]["state"]) == ("user=alexander", 2, "ready")
    hits = api.post(SEARCH, {"query": "oats", "partition": "user=alexander"}).json()["results"]
    assert "oats" in [hit["content"] for hit in hits]
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).filter(verb="move_memories").get().fields == ["partition"]
    undone = api.post(f"/api/v1/acts/{done['act_id']}/undo")
    assert undone.json() == {"act_id": done["act_id"], "action": "move", "undone": 1, "skipped": 0}
    assert places(tenant) == before
    assert_problem(api.post(f"/api/v1/acts/{done['act_id']}/undo"), 409, "already_undone")


def test_ids_move_to_the_root_and_what_is_there_is_skipped(api: APIClient, stored: dict[str, str]) -> None:
    post_memory(api, "doc", source_id="d1")
    other = post_memory(api, "doc two", source_id="d1", partition="user=sam")["id"]
    jazz = stored["jazz@user=sam"]
    ids = [jazz, other, "00000000-0000-4000-8000-000000000000"]
    answer = move(api, ids=ids, to="")
    assert (answer["moved"], answer["skipped"]) == (1, {"source_taken": 1, "not_found": 1})
    assert api.get(f"{MEMORIES}/{jazz}").json()["partition"] == ""
    assert_problem(api.post(MOVE, {"ids": [jazz], "to": ""}), 409, "nothing_left")
    assert_problem(api.post(MOVE, {"ids": ids[2:], "to": ""}), 409, "nothing_left")


def test_key_moves_within_its_partition_alone(tenant: Tenant, stored: dict[str, str]) -> None:
    alex = api_client(new_key(tenant, "write", partition="user=alex"))
    assert_problem(alex.post(MOVE, {"filter": {}, "to": "user=sam"}), 403, "partition_forbidden")
    sam = {"filter": {"partition": "user=sam"}, "to": "user=alex"}
    assert_problem(alex.post(MOVE, sam), 403, "partition_forbidden")
    jazz = {"ids": [stored["jazz@user=sam"]], "to": "user=alex"}
    assert_problem(alex.post(MOVE, jazz), 409, "nothing_left")
    done = move(alex, filter={"exact": True}, to="user=alex/topic=drinks")
    assert done["moved"] == 1
    assert_problem(alex.post(f"/api/v1/acts/{done['act_id']}/undo"), 403, "partition_forbidden")
    reader = api_client(new_key(tenant, "read"))
    assert_problem(reader.post(MOVE, {"filter": {}, "to": ""}), 403, "scope_missing")


BAD_MOVES = [
    ({"to": "user=a"}, "one_of", ""),
    ({"ids": [], "to": "user=a"}, "min_length", "ids"),
    ({"ids": ["x"], "to": "user=a"}, "not_a_uuid", "ids.0"),
    ({"filter": {}}, "required", "to"),
    ({"filter": {}, "to": "nonsense"}, "bad_segment", "to"),
    ({"filter": {"colour": 1}, "to": ""}, "unknown_field", "filter.colour"),
]


def test_bad_move_names_its_field(api: APIClient) -> None:
    for body, code, field in BAD_MOVES:
        assert_problem(api.post(MOVE, body), 400, code, field)


def test_refused_move_shows_what_was_skipped(api: APIClient) -> None:
    post_memory(api, "Barrel 2 holds cider.", partition="cellar=b")
    duplicate = post_memory(api, "Barrel 2 holds cider.", partition="cellar=a")
    problem = assert_problem(api.post(MOVE, {"ids": [duplicate["id"]], "to": "cellar=b"}), 409, "nothing_left")
    assert problem["detail"] == "Nothing was moved: 1 with the text of another live memory."
