"""The hygiene lists over REST: the same rows and actions as in the console."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from memories.hygiene.maintenance import find_unused_and_expiring_memories
from memories.models import AuditEntry, Memory, MemoryPair, Tenant, UncomparedMemory
from memories.tenancy.scopes import tenant_scope
from tests.factories import make_memory
from tests.integration.rest_helpers import MEMORIES, all_stored_memories, assert_problem, every_page
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

HYGIENE = "/api/v1/hygiene"


def make_pairs(tenant: Tenant, count: int = 3, partition: str = "") -> list[Memory]:
    """Store near-duplicate pairs as the comparison does; return their older memories."""
    now = timezone.now()
    pairs, olders = [], []
    for number in range(count):
        texts = (f"Alex likes tea number {number}.", f"Alex likes tea number {number}!")
        older, newer = (make_memory(tenant, text, partition=partition) for text in texts)
        olders.append(older)
        pairs.append(("near_duplicate", older.pk, newer.pk, 0.99 - number / 100, f"hash {number}"))
    with tenant_scope(tenant.pk):
        MemoryPair.objects.store(tenant.pk, pairs, now)
    return olders


def rows_of(api: APIClient, name: str = "near_duplicate") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = api.get(f"{HYGIENE}/{name}").json()["results"]
    return rows


def act(api: APIClient, name: str = "near_duplicate", **body: Any) -> dict[str, Any]:
    response = api.post(f"{HYGIENE}/{name}", body)
    assert response.status_code == 200, response.json()
    answer: dict[str, Any] = response.json()
    return answer


def test_lists_have_lengths_and_pages(api: APIClient, tenant: Tenant) -> None:
    make_pairs(tenant)
    lists = {row["name"]: row for row in api.get(HYGIENE).json()["results"]}
    assert (lists["near_duplicate"]["count"], lists["near_duplicate"]["has_pairs"]) == (3, True)
    assert lists["unhelpful"]["sorts"] == ["retrievals", "oldest"]
    pages = every_page(api, f"{HYGIENE}/near_duplicate?page_size=2&sort=similarity")
    assert [row["similarity"] for page in pages for row in page] == [0.99, 0.98, 0.97]
    row = pages[0][0]
    assert [memory["content"] for memory in row["memories"]] == [
        "Alex likes tea number 0.", "Alex likes tea number 0!"
    ]  # fmt: skip
    assert row["suggested"] in [memory["id"] for memory in row["memories"]]


def test_merge_keeps_one_and_is_undone(api: APIClient, tenant: Tenant) -> None:
    make_pairs(tenant, 1)
    (row,) = rows_of(api)
    keep, other = (memory["id"] for memory in row["memories"])
    planned = act(api, action="merge", ids=[row["id"]], keep=keep, dry_run=True)
    assert (planned["act_id"], planned["archived"], planned["kept"]) == (None, [other], [keep])
    assert len(rows_of(api)) == 1
    done = act(api, action="merge", ids=[row["id"]], keep=keep)
    assert {**done, "act_id": None} == planned
    assert_problem(api.get(f"{MEMORIES}/{other}"), 404, "archived")
    assert rows_of(api) == []
    assert_problem(api.post(f"{HYGIENE}/near_duplicate", {"action": "merge", "ids": [row["id"]]}), 409, "gone")
    undone = api.post(f"/api/v1/acts/{done['act_id']}/undo").json()
    assert (undone["action"], undone["skipped"]) == ("merge", 0)
    with tenant_scope(tenant.pk):
        undo = AuditEntry.objects.for_tenant(tenant.pk).get(verb="undo_merge")
    assert_problem(api.post(f"/api/v1/acts/{undo.pk}/undo"), 409, "is_undo")  # it would draw no links
    assert len(rows_of(api)) == 1


def test_act_is_refused_if_the_dry_run_would_have_another_result_now(api: APIClient, tenant: Tenant) -> None:
    make_pairs(tenant, 2)
    first, second = rows_of(api)
    keep = first["memories"][0]["id"]
    merge = {"action": "merge", "ids": [first["id"]], "keep": keep}
    seen = api.post(f"{HYGIENE}/near_duplicate", {**merge, "dry_run": True})["ETag"]
    headers = {"If-Match": seen}
    for other in ({"ids": [second["id"]]}, {"action": "dismiss"}):
        other = {name: value for name, value in {**merge, **other}.items() if name != "keep"}
        assert_problem(api.post(f"{HYGIENE}/near_duplicate", other, headers=headers), 412, "stale_version", "If-Match")
    api.patch(f"{MEMORIES}/{keep}", {"pinned": True})
    assert_problem(api.post(f"{HYGIENE}/near_duplicate", merge, headers=headers), 412, "stale_version", "If-Match")
    assert len(rows_of(api)) == 2
    headers = {"If-Match": api.post(f"{HYGIENE}/near_duplicate", {**merge, "dry_run": True})["ETag"]}
    done = api.post(f"{HYGIENE}/near_duplicate", merge, headers=headers).json()
    assert done["kept"] == [keep]

    stored = api.get(f"/api/v1/acts/{done['act_id']}")
    assert (stored.json()["action"], stored.json()["undone_at"]) == ("merge", None)
    undo, headers = f"/api/v1/acts/{done['act_id']}/undo", {"If-Match": stored["ETag"]}
    assert api.post(undo, headers=headers).status_code == 200
    assert_problem(api.post(undo, headers=headers), 412, "stale_version", "If-Match")


def test_dismissed_rows_leave_the_list_until_undone(api: APIClient, tenant: Tenant) -> None:
    make_pairs(tenant)
    ids = [row["id"] for row in rows_of(api)]
    done = act(api, action="dismiss", ids=ids[:2])
    assert [row["id"] for row in rows_of(api)] == ids[2:]
    assert all(row.archived_at is None for row in all_stored_memories(tenant))
    api.post(f"/api/v1/acts/{done['act_id']}/undo")
    assert len(rows_of(api)) == 3


def test_old_memories_are_archived(api: APIClient, tenant: Tenant) -> None:
    old = make_memory(tenant, "old", now=timezone.now() - timedelta(days=40))
    find_unused_and_expiring_memories(now=timezone.now())
    (row,) = rows_of(api, "never_retrieved")
    assert ([memory["id"] for memory in row["memories"]], row["similarity"]) == ([str(old.pk)], None)
    assert_problem(
        api.post(f"{HYGIENE}/never_retrieved", {"action": "merge", "ids": [row["id"]]}), 400, "invalid_choice"
    )
    assert act(api, "never_retrieved", action="archive", ids=[row["id"]])["archived"] == [str(old.pk)]
    assert rows_of(api, "never_retrieved") == []


def test_key_sees_and_changes_its_partition_alone(api: APIClient, tenant: Tenant, other_tenant: Tenant) -> None:
    make_pairs(tenant, 1, "user=sam")
    (row,) = rows_of(api)
    body = {"action": "dismiss", "ids": [row["id"]]}
    for stranger in (new_key(tenant, "write", partition="user=alex"), new_key(other_tenant, "write")):
        client = api_client(stranger)
        assert rows_of(client) == []
        assert_problem(client.post(f"{HYGIENE}/near_duplicate", body), 409, "gone")
    sam = api_client(new_key(tenant, "write", partition="user=sam"))
    assert [each["id"] for each in rows_of(sam)] == [row["id"]]
    done = act(api, **body)
    undo = f"/api/v1/acts/{done['act_id']}/undo"
    assert_problem(sam.post(undo), 403, "partition_forbidden")
    assert_problem(api_client(new_key(other_tenant, "write")).post(undo), 404, "not_found")
    assert_problem(api_client(new_key(tenant, "read")).post(undo), 403, "scope_missing")


def test_key_with_a_partition_counts_its_rows_alone(api: APIClient, tenant: Tenant) -> None:
    (elsewhere, *_), (own, *_) = make_pairs(tenant, 1, "user=alex"), make_pairs(tenant, 2, "user=sam")
    with tenant_scope(tenant.pk):
        across = ("near_duplicate", elsewhere.pk, own.pk, 0.9, "hash")
        MemoryPair.objects.store(tenant.pk, [across], timezone.now())
        UncomparedMemory.objects.enqueue(tenant.pk, [elsewhere.pk, own.pk])
    sam = api_client(new_key(tenant, "read", partition="user=sam"))

    def counts(client: APIClient, **query: str) -> tuple[int, int]:
        answer = client.get(HYGIENE, query).json()
        return answer["results"][0]["count"], answer["waiting"]

    assert counts(api) == (4, 2)
    assert counts(sam) == counts(sam, partition="user=sam") == (2, 1)
    assert len(rows_of(sam)) == 2
    assert counts(api, partition="user=alex") == (1, 1)
    assert counts(sam, partition="user=sam/topic=tea") == (0, 0)


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("nothing", {"action": "dismiss", "ids": [1]}, 404, "not_found"),
        ("near_duplicate", {"action": "burn", "ids": [1]}, 400, "invalid"),
        ("near_duplicate", {"action": "dismiss", "ids": []}, 400, "invalid"),
        ("near_duplicate", {"action": "dismiss", "ids": [2**70]}, 400, "invalid"),
        ("near_duplicate", {"action": "archive", "ids": [1]}, 400, "invalid_choice"),
    ],
)
def test_bad_act_is_refused(api: APIClient, path: str, body: dict[str, Any], status: int, code: str) -> None:
    assert_problem(api.post(f"{HYGIENE}/{path}", body), status, code)


def test_other_sort_of_a_list_is_refused(api: APIClient) -> None:
    assert_problem(api.get(f"{HYGIENE}/unhelpful?sort=similarity"), 400, "invalid_choice", "sort")
