"""Storing, reading, changing, archiving and restoring memories over REST."""

from datetime import datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import ApiKey, AuditEntry, Tenant
from memories.store.serializers.answers import MemoryOutput, MemoryVersionOutput, StoredMemoryOutput
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import BULK, MEMORIES, NOWHERE, all_stored_memories, assert_problem, post_memory
from tests.users import api_client, new_key

ALL_FIELDS = {
    "content": "Alex prefers meetings before noon.",
    "kind": "preference",
    "partition": "user=alex/topic=meetings",
    "confidence": 0.9,
    "pinned": True,
    "metadata": {"source": "chat", "nested": {"n": [1, 2.5, None, True]}},
    "created_at": "2026-03-01T10:30:00.123456+02:00",
    "expires_at": "2031-01-01T00:00:00Z",
    "source_id": "note-17",
    "session": "s-4",
    "position": 12,
}


def test_new_memory_is_answered_with_all_fields_but_the_vector(api: APIClient) -> None:
    response = api.post(MEMORIES, ALL_FIELDS)
    answer = response.json()
    assert response.status_code == 201
    assert {name: answer[name] for name in ALL_FIELDS} == {
        **ALL_FIELDS,
        "created_at": "2026-03-01T08:30:00.123456Z",
    }
    assert (answer["status"], answer["reason"], answer["version"]) == ("created", "", 1)
    assert (answer["usefulness_score"], answer["retrieval_count"], answer["archived_at"]) == (0.5, 0, None)
    assert set(answer["token_counts"]) == {"o200k_base", "cl100k_base"}
    assert response["Location"].endswith(f"{MEMORIES}/{answer['id']}")
    assert set(answer) == set(StoredMemoryOutput().fields)


def test_memory_is_embedded_in_the_request(api: APIClient) -> None:
    answer = post_memory(api, "Sam moved to Lisbon.")
    assert answer["embedding"]["state"] == "ready"
    assert answer["embedding"]["model"]
    assert answer["embedding"]["dimension"] > 0


def test_defaults_are_those_of_the_specification(api: APIClient) -> None:
    answer = post_memory(api, "  Sam moved to Lisbon.\n")
    assert answer["content"] == "Sam moved to Lisbon."
    wanted = {"kind": "fact", "confidence": 0.8, "pinned": False, "metadata": {}, "partition": "", "links": []}
    assert {name: answer[name] for name in wanted} == wanted
    assert answer["expires_at"] is None
    assert datetime.fromisoformat(answer["created_at"]).tzinfo


def test_the_same_text_is_answered_with_the_existing_memory_unchanged(api: APIClient, tenant: Tenant) -> None:
    first = post_memory(api, "Sam moved to Lisbon.", confidence=0.4)
    again = api.post(MEMORIES, {"content": "Sam moved to Lisbon. ", "confidence": 0.9})
    assert again.status_code == 200
    assert again.json() == {**first, "status": "existing", "reason": "duplicate"}
    assert len(all_stored_memories(tenant)) == 1


def test_shorthand_ids_are_segments_in_their_order(api: APIClient) -> None:
    answer = post_memory(api, "One", run_id="3", user_id="al/ex", agent_id="planner")
    assert answer["partition"] == "user=al%2Fex/agent=planner/run=3"


def test_links_are_stored_and_shown(api: APIClient) -> None:
    target = post_memory(api, "The target")
    answer = post_memory(api, "The source", links=[{"target_id": target["id"], "kind": "about"}])
    assert answer["links"] == [{"target_id": target["id"], "kind": "about"}]


def test_memory_is_read_back_as_it_was_answered(api: APIClient) -> None:
    created = post_memory(api, **ALL_FIELDS)  # type: ignore[arg-type]
    read = api.get(f"{MEMORIES}/{created['id']}").json()
    assert read == {name: value for name, value in created.items() if name not in {"status", "reason"}}
    assert set(read) == set(MemoryOutput().fields)


def test_a_trailing_slash_is_taken_too(api: APIClient) -> None:
    created = post_memory(api, "One")
    assert api.get(f"{MEMORIES}/{created['id']}/").json()["id"] == created["id"]
    assert api.post(f"{MEMORIES}/", {"content": "Two"}).status_code == 201


def test_etag_saves_the_second_reading(api: APIClient) -> None:
    url = f"{MEMORIES}/{post_memory(api, 'One')['id']}"
    etag = api.get(url)["ETag"]
    unchanged = api.get(url, headers={"If-None-Match": etag})
    assert (unchanged.status_code, unchanged.content, unchanged["ETag"]) == (304, b"", etag)
    assert api.patch(url, {"confidence": 0.1}).status_code == 200
    assert api.get(url, headers={"If-None-Match": etag}).status_code == 200


def test_patch_opens_a_version_and_history_shows_both_intervals(api: APIClient) -> None:
    created = post_memory(api, "Sam lives in Porto.", created_at="2026-01-01T00:00:00Z")
    url = f"{MEMORIES}/{created['id']}"
    changed = api.patch(url, {"content": "Sam lives in Lisbon.", "user_id": "sam", "metadata": {"a": 1}})
    assert changed.status_code == 200
    answer = changed.json()
    assert (answer["version"], answer["partition"], answer["confidence"]) == (2, "user=sam", 0.8)
    assert answer["embedding"]["state"] == "ready"
    page = api.get(f"{url}/history").json()
    newest, oldest = page["results"]
    assert (page["next"], page["previous"]) == (None, None)
    assert [newest["content"], oldest["content"]] == ["Sam lives in Lisbon.", "Sam lives in Porto."]
    assert oldest["valid_from"] == "2026-01-01T00:00:00Z"
    assert oldest["valid_to"] == newest["valid_from"]
    assert oldest["recorded_to"] == newest["recorded_from"]
    assert (newest["valid_to"], newest["recorded_to"]) == (None, None)
    assert set(newest) == set(oldest) == set(MemoryVersionOutput().fields)


def test_history_ends_where_the_reach_of_the_key_does(api: APIClient, tenant: Tenant) -> None:
    created = post_memory(api, "Only Kim may know this.", user_id="kim")
    url = f"{MEMORIES}/{created['id']}"
    for content, place in (("Known to all.", "sam"), ("Kim's again.", "kim"), ("Sam's at last.", "sam")):
        assert api.patch(url, {"content": content, "user_id": place}).status_code == 200
    sam = api_client(new_key(tenant, "read", partition="user=sam"))
    assert [row["version"] for row in api.get(f"{url}/history").json()["results"]] == [4, 3, 2, 1]
    assert [row["content"] for row in sam.get(f"{url}/history").json()["results"]] == [
        "Sam's at last.",
        "Known to all.",
    ]
    first = sam.get(f"{url}/history?page_size=1").json()
    second = sam.get(first["next"]).json()
    assert [row["version"] for row in (*first["results"], *second["results"])] == [4, 2]
    assert second["next"] is None
    assert [row["version"] for row in sam.get(second["previous"]).json()["results"]] == [4]


def test_patch_of_nothing_makes_no_version(api: APIClient) -> None:
    created = post_memory(api, "One")
    for body in ({}, {"content": "One", "confidence": 0.8}):
        assert api.patch(f"{MEMORIES}/{created['id']}", body).json()["version"] == 1


def test_stale_if_match_is_refused_and_changes_nothing(api: APIClient) -> None:
    url = f"{MEMORIES}/{post_memory(api, 'One')['id']}"
    etag = api.get(url)["ETag"]
    current = api.patch(url, {"confidence": 0.1}, headers={"If-Match": etag})
    assert current.status_code == 200
    assert_problem(api.patch(url, {"confidence": 0.2}, headers={"If-Match": etag}), 412, "stale_version")
    assert_problem(api.delete(url, headers={"If-Match": '"nonsense"'}), 412, "stale_version")
    assert api.get(url).json()["confidence"] == 0.1
    assert api.patch(url, {"confidence": 0.2}, headers={"If-Match": current["ETag"]}).status_code == 200
    assert api.patch(url, {"confidence": 0.3}, headers={"If-Match": "*"}).status_code == 200


def test_patch_onto_a_live_duplicate_is_a_conflict(api: APIClient) -> None:
    post_memory(api, "One")
    second = post_memory(api, "Two")
    assert_problem(api.patch(f"{MEMORIES}/{second['id']}", {"content": "One"}), 409, "duplicate")
    assert api.get(f"{MEMORIES}/{second['id']}").json()["content"] == "Two"


def test_delete_archives_and_restore_brings_back(api: APIClient) -> None:
    created = post_memory(api, "One")
    url = f"{MEMORIES}/{created['id']}"
    deleted = api.delete(url)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert_problem(api.get(url), 404, "archived")
    assert_problem(api.patch(url, {"confidence": 0.1}), 404, "archived")
    assert api.delete(url).status_code == 204
    assert api.get(MEMORIES).json()["results"] == []
    (archived,) = api.get(MEMORIES, {"archived": "true"}).json()["results"]
    assert archived["archived_at"]
    (version,) = api.get(f"{url}/history").json()["results"]
    assert version["valid_to"] == version["recorded_to"] == archived["archived_at"]
    restored = api.post(f"{url}/restore")
    assert restored.status_code == 200
    assert (restored.json()["archived_at"], restored.json()["version"]) == (None, 2)
    assert restored.json()["embedding"]["state"] == "ready"
    assert api.get(url).json() == restored.json()


def test_restore_beside_a_live_duplicate_is_a_conflict(api: APIClient) -> None:
    created = post_memory(api, "One")
    api.delete(f"{MEMORIES}/{created['id']}")
    post_memory(api, "One")
    assert_problem(api.post(f"{MEMORIES}/{created['id']}/restore"), 409, "duplicate")


@pytest.mark.parametrize(
    ("method", "suffix"),
    [("get", ""), ("patch", ""), ("delete", ""), ("post", "/restore"), ("get", "/history")],
)
def test_absent_memory_is_not_found(api: APIClient, method: str, suffix: str) -> None:
    assert_problem(getattr(api, method)(f"{MEMORIES}/{NOWHERE}{suffix}"), 404, "not_found")
    assert_problem(getattr(api, method)(f"{MEMORIES}/not-a-uuid{suffix}"), 404, "not_found")


def test_bulk_keeps_the_good_rows_and_names_the_bad(api: APIClient, tenant: Tenant) -> None:
    rows: list[Any] = [
        {"content": "One", "user_id": "alex"},
        {"content": " "},
        {"content": "One", "user_id": "alex"},
        "not an object",
        {"content": "Two", "confidence": 1.5, "colour": "red"},
        {"content": "Three", "links": [{"target_id": str(NOWHERE)}]},
        {"content": "Four"},
    ]
    response = api.post(BULK, {"memories": rows})
    assert response.status_code == 200
    results = response.json()["results"]
    assert [row["index"] for row in results] == list(range(7))
    assert [row["status"] for row in results] == [
        "created", "invalid", "existing", "invalid", "invalid", "invalid", "created",
    ]  # fmt: skip
    assert results[0]["id"] == results[2]["id"]
    faults = [[(entry["field"], entry["code"]) for entry in row["errors"]] for row in results]
    assert faults[1] == [("content", "blank")]
    assert faults[3] == [("", "not_an_object")]
    assert sorted(faults[4]) == [("colour", "unknown_field"), ("confidence", "out_of_range")]
    assert faults[5] == [("links", "unknown_target")]
    assert [row["id"] for row in results if row["status"] == "invalid"] == [None] * 4
    assert [memory.content for memory in all_stored_memories(tenant)] == ["Four", "One"]
    assert {memory.embedding_state for memory in all_stored_memories(tenant)} == {"ready"}


@pytest.mark.parametrize(
    ("rows", "code"),
    [([], "bad_length"), ([{"content": "x"}] * 1001, "bad_length"), ({}, "not_a_list"), (None, "null")],
    ids=["none", "1001", "object", "null"],
)
def test_bulk_of_no_or_too_many_rows_is_refused(api: APIClient, tenant: Tenant, rows: Any, code: str) -> None:
    assert_problem(api.post(BULK, {"memories": rows}), 400, code, "memories")
    assert all_stored_memories(tenant) == []


def test_bulk_takes_queries_by_batch_and_not_by_row(
    api: APIClient, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    api.post(BULK, {"memories": [{"content": "warm up"}]})
    with django_assert_max_num_queries(100):
        answer = api.post(BULK, {"memories": [{"content": f"memory {n}"} for n in range(1000)]})
    assert {row["status"] for row in answer.json()["results"]} == {"created"}
    assert len(all_stored_memories(tenant)) == 1001


def test_writes_are_audited_by_key_and_without_text(api: APIClient, tenant: Tenant) -> None:
    created = post_memory(api, "Sam moved to Lisbon.")
    api.patch(f"{MEMORIES}/{created['id']}", {"content": "Sam moved to Porto."})
    with tenant_scope(tenant.pk):
        key = ApiKey.objects.for_tenant(tenant.pk).get()
        entries = list(AuditEntry.objects.for_tenant(tenant.pk).about(created["id"]).newest_first())
    assert [entry.verb for entry in entries] == ["update_memory", "store_memory"]
    assert {(entry.actor_kind, entry.actor_label) for entry in entries} == {("key", f"an agent ({key.prefix})")}
    assert entries[0].fields == ["content"]
