"""`supersedes` of new memories: what it ends, links, shows and undoes, and what it refuses."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import AuditEntry, MemoryLink, StoredAct, Tenant
from memories.store.actions.edit import archive_memory
from memories.store.actions.replace import replace_memories
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope
from tests.factories import TESTER, make_memory
from tests.integration.rest_helpers import BULK, MEMORIES, assert_problem, post_memory
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

LISBON, PORTO = "Alex lives in Lisbon.", "Alex lives in Porto."
PLACE = {"partition": "user=alex"}


def ago(**time: float) -> str:
    return (timezone.now() - timedelta(**time)).isoformat()


def listed(api: APIClient, **query: Any) -> list[str]:
    rows = api.get(MEMORIES, {"ordering": "created_at", **query}).json()["results"]
    return [row["content"] for row in rows]


@pytest.fixture
def lisbon(api: APIClient) -> dict[str, Any]:
    return post_memory(api, LISBON, created_at=ago(days=10), **PLACE)


def replace(api: APIClient, older: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return post_memory(api, PORTO, **{"created_at": ago(days=3), "supersedes": [older["id"]], **PLACE, **fields})


def test_replaced_memory_is_true_until_the_newer_one_began(api: APIClient, lisbon: dict[str, Any]) -> None:
    porto = replace(api, lisbon)
    assert listed(api) == [PORTO]
    assert listed(api, as_of=ago(days=5)) == [LISBON]
    assert listed(api, as_of=ago(days=1)) == [PORTO]
    assert porto["links"] == [{"target_id": lisbon["id"], "kind": "supersedes"}]
    (older,) = api.get(MEMORIES, {"archived": "true"}).json()["results"]
    assert (older["superseded_by"], older["valid_to"]) == (porto["id"], porto["created_at"])
    assert older["archived_at"] > older["valid_to"]
    assert (porto["superseded_by"], porto["valid_to"]) == (None, None)


def test_history_shows_when_it_was_true_and_when_that_was_recorded(api: APIClient, lisbon: dict[str, Any]) -> None:
    porto = replace(api, lisbon)
    (version,) = api.get(f"{MEMORIES}/{lisbon['id']}/history").json()["results"]
    assert version["valid_to"] == porto["created_at"]
    assert version["recorded_to"] > version["valid_to"]


def test_replacement_is_audited_with_both_memories(api: APIClient, lisbon: dict[str, Any], tenant: Tenant) -> None:
    porto = replace(api, lisbon)
    with tenant_scope(tenant.pk):
        entry = AuditEntry.objects.for_tenant(tenant.pk).get(verb="replace_memories")
    assert (set(entry.target_ids), entry.fields) == ({porto["id"], lisbon["id"]}, ["valid_to"])


def test_newer_memory_never_ends_the_older_one_before_it_began(api: APIClient, lisbon: dict[str, Any]) -> None:
    replace(api, lisbon, created_at=ago(days=20))
    (version,) = api.get(f"{MEMORIES}/{lisbon['id']}/history").json()["results"]
    assert version["valid_to"] == version["valid_from"]
    assert listed(api, as_of=ago(days=5)) == [PORTO]


def test_restored_memory_is_true_without_a_gap(api: APIClient, lisbon: dict[str, Any]) -> None:
    replace(api, lisbon)
    answer = api.post(f"{MEMORIES}/{lisbon['id']}/restore").json()
    assert (answer["valid_to"], answer["superseded_by"], answer["archived_at"]) == (None, None, None)
    assert listed(api) == listed(api, as_of=ago(days=1)) == [LISBON, PORTO]
    newest, oldest = api.get(f"{MEMORIES}/{lisbon['id']}/history").json()["results"]
    assert newest["valid_from"] == oldest["valid_to"]
    assert api.get(f"{MEMORIES}").json()["results"][0]["links"] == []


def test_action_is_undone_once(api: APIClient, lisbon: dict[str, Any], tenant: Tenant) -> None:
    replace(api, lisbon)
    with tenant_scope(tenant.pk):
        act = StoredAct.objects.for_tenant(tenant.pk).get()
    answer = api.post(f"/api/v1/acts/{act.pk}/undo").json()
    assert (answer["action"], answer["undone"], answer["skipped"]) == ("replace", 1, 0)
    assert listed(api) == [LISBON, PORTO]
    assert_problem(api.post(f"/api/v1/acts/{act.pk}/undo"), 409, "already_undone")


def test_repeated_request_is_no_error(api: APIClient, lisbon: dict[str, Any], tenant: Tenant) -> None:
    body = {"content": PORTO, "supersedes": [lisbon["id"], lisbon["id"]], **PLACE}
    first, second = (api.post(MEMORIES, body) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["links"] == first.json()["links"]
    with tenant_scope(tenant.pk):
        assert StoredAct.objects.for_tenant(tenant.pk).count() == 1


def test_existing_text_can_replace_too(api: APIClient, lisbon: dict[str, Any]) -> None:
    porto = post_memory(api, PORTO, **PLACE)
    answer = api.post(MEMORIES, {"content": PORTO, "supersedes": [lisbon["id"]], **PLACE})
    assert (answer.status_code, answer.json()["id"], answer.json()["status"]) == (200, porto["id"], "existing")
    assert listed(api) == [PORTO]


def test_value_that_is_stated_again_is_current_again(api: APIClient, lisbon: dict[str, Any]) -> None:
    porto = replace(api, lisbon)
    again = post_memory(api, LISBON, created_at=ago(days=1), supersedes=[porto["id"]], **PLACE)
    assert again["id"] != lisbon["id"]
    assert listed(api) == listed(api, as_of=ago(hours=1)) == [LISBON]
    assert listed(api, as_of=ago(days=2)) == [PORTO]
    assert listed(api, as_of=ago(days=5)) == [LISBON]


def refused(api: APIClient, code: str, *ids: str, **fields: Any) -> None:
    body = {"content": PORTO, "supersedes": list(ids), **PLACE, **fields}
    assert_problem(api.post(MEMORIES, body), 400, code, "supersedes")


def test_what_cannot_be_replaced_is_refused(api: APIClient, lisbon: dict[str, Any], tenant: Tenant) -> None:
    sam = post_memory(api, "Sam lives in Faro.", partition="user=sam")
    gone = make_memory(tenant, "Alex lives in Braga.", partition="user=alex")
    with tenant_scope(tenant.pk):
        archive_memory(memory=gone, by=TESTER, now=timezone.now())
    refused(api, "unknown_memory", str(uuid4()))
    refused(api, "other_partition", sam["id"])
    refused(api, "archived", str(gone.pk))
    refused(api, "same_memory", lisbon["id"], content=LISBON)
    assert_problem(api.post(MEMORIES, {"content": PORTO, "supersedes": ["x"], **PLACE}), 400, "invalid")
    too_many = [str(uuid4()) for _ in range(51)]
    assert_problem(api.post(MEMORIES, {"content": PORTO, "supersedes": too_many, **PLACE}), 400, "invalid")
    assert listed(api) == [LISBON, "Sam lives in Faro."]


def test_memory_of_the_same_source_id_does_not_replace_itself(api: APIClient) -> None:
    own = post_memory(api, LISBON, source_id="home", **PLACE)
    refused(api, "same_memory", own["id"], source_id="home")


def test_parent_and_child_partitions_can_be_named(api: APIClient, lisbon: dict[str, Any]) -> None:
    child = post_memory(api, "Alex lives at Rua Nova 12.", partition="user=alex/topic=home")
    post_memory(api, PORTO, supersedes=[lisbon["id"], child["id"]], **PLACE)
    assert listed(api) == [PORTO]


def test_memory_beyond_the_partition_of_the_key_is_unknown(
    api: APIClient, lisbon: dict[str, Any], tenant: Tenant
) -> None:
    narrow = api_client(new_key(tenant, "read", "write", partition="user=sam"))
    body = {"content": "Sam lives in Porto.", "partition": "user=sam", "supersedes": [lisbon["id"]]}
    assert_problem(narrow.post(MEMORIES, body), 400, "unknown_memory", "supersedes")


def test_memory_of_another_tenant_is_unknown(api: APIClient, other_tenant: Tenant) -> None:
    foreign = make_memory(other_tenant, LISBON, partition="user=alex")
    refused(api, "unknown_memory", str(foreign.pk))


def test_rows_of_a_bulk_replace_each_their_own(api: APIClient, lisbon: dict[str, Any]) -> None:
    rows = [
        {"content": PORTO, "supersedes": [lisbon["id"]], **PLACE},
        {"content": "Alex lives in Faro.", "supersedes": [lisbon["id"]], **PLACE},
        {"content": "Alex likes tea.", **PLACE},
    ]
    results = api.post(BULK, {"memories": rows}).json()["results"]
    assert [row["status"] for row in results] == ["created", "invalid", "created"]
    assert [(each["field"], each["code"]) for each in results[1]["errors"]] == [("supersedes", "already_replaced")]
    assert sorted(listed(api)) == ["Alex likes tea.", PORTO]


def test_memory_archived_meanwhile_is_a_conflict(tenant: Tenant) -> None:
    older, newer = (make_memory(tenant, text, partition="user=alex") for text in (LISBON, PORTO))
    with tenant_scope(tenant.pk):
        archive_memory(memory=older, by=TESTER, now=timezone.now())
        with pytest.raises(Conflict) as raised:
            replace_memories(tenant_id=tenant.pk, replaced={newer.pk: [older.pk]}, by=TESTER, now=timezone.now())
        assert (raised.value.code, raised.value.field) == ("archived", "supersedes")
        assert not MemoryLink.objects.for_tenant(tenant.pk).exists()
