"""The list of replaced facts, over REST and in the console: what it shows, and how a replacement is undone."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from memories.hygiene.maintenance import detect_pairs_in_batch, find_unused_and_expiring_memories
from memories.models import MemoryPair, StoredAct, Tenant
from memories.services.tenancy.act_labels import UNDO_DAYS
from memories.store.recall import delete_expired_records
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import client_of, page, text_of
from tests.integration.rest_helpers import MEMORIES, assert_problem, post_memory
from tests.users import api_client, new_key, new_operator

pytestmark = pytest.mark.django_db

REPLACED = "/api/v1/hygiene/replaced"
OLD, NEW = "The timeout of the search client is 30 seconds.", "The timeout of the search client is 45 seconds."


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def pair(api: APIClient) -> tuple[dict[str, Any], dict[str, Any]]:
    week_ago = (timezone.now() - timedelta(days=7)).isoformat()
    older = post_memory(api, OLD, partition="project=search", created_at=week_ago)
    return older, post_memory(api, NEW, partition="project=search", supersedes=[older["id"]])


def rows(api: APIClient, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(REPLACED, query).json()["results"]
    return found


def pair_id(tenant: Tenant) -> int:
    with tenant_scope(tenant.pk):
        return int(MemoryPair.objects.for_tenant(tenant.pk).of_kind("replaced").get().pk)


def test_list_contains_the_older_and_the_newer_memory(api: APIClient, pair: Any) -> None:
    (row,) = rows(api)
    assert [memory["id"] for memory in row["memories"]] == [memory["id"] for memory in pair]
    assert (row["kind"], row["similarity"], row["suggested"]) == ("replaced", None, None)
    lists = {each["name"]: each["count"] for each in api.get("/api/v1/hygiene").json()["results"]}
    assert lists["replaced"] == 1
    assert [rows(api, partition=path) != [] for path in ("project=search", "project=other")] == [True, False]


def test_key_of_another_partition_sees_no_pair(pair: Any, tenant: Tenant) -> None:
    assert rows(api_client(new_key(tenant, "read", "write", partition="project=other"))) == []


def test_replacement_is_undone_from_the_list(api: APIClient, pair: Any) -> None:
    (row,) = rows(api)
    preview = api.post(REPLACED, {"action": "restore", "ids": [row["id"]], "dry_run": True}).json()
    assert preview["restored"] == [pair[0]["id"]]
    assert rows(api) == [row]
    done = api.post(REPLACED, {"action": "restore", "ids": [row["id"]]}).json()
    assert (done["restored"], done["archived"], done["act_id"]) == ([pair[0]["id"]], [], None)
    assert rows(api) == []
    live = api.get(MEMORIES, {"ordering": "created_at"}).json()["results"]
    assert [memory["content"] for memory in live] == [OLD, NEW]
    assert_problem(api.post(REPLACED, {"action": "restore", "ids": [row["id"]]}), 409, "gone")


def test_replacement_cannot_be_undone_while_the_text_is_stored_again(api: APIClient, pair: Any) -> None:
    post_memory(api, OLD, partition="project=search")
    (row,) = rows(api)
    assert_problem(api.post(REPLACED, {"action": "restore", "ids": [row["id"]]}), 409, "duplicate", "content")
    assert rows(api) == [row]


def test_dismissed_replacement_stays_active(api: APIClient, pair: Any) -> None:
    (row,) = rows(api)
    act = api.post(REPLACED, {"action": "dismiss", "ids": [row["id"]]}).json()
    assert rows(api) == []
    assert len(api.get(MEMORIES).json()["results"]) == 1
    api.post(f"/api/v1/acts/{act['act_id']}/undo")
    assert rows(api) == [row]


def forget_old_acts(days: int) -> None:
    delete_expired_records(now=timezone.now() + timedelta(days=days))


def test_replacement_can_be_undone_as_long_as_it_is_listed(api: APIClient, pair: Any, tenant: Tenant) -> None:
    forget_old_acts(10 * UNDO_DAYS)
    api.post(REPLACED, {"action": "restore", "ids": [rows(api)[0]["id"]]})
    assert len(api.get(MEMORIES).json()["results"]) == 2


def test_act_of_a_dismissed_replacement_is_deleted_when_its_dismissal_cannot_be_undone(
    api: APIClient, pair: Any, tenant: Tenant
) -> None:
    api.post(REPLACED, {"action": "dismiss", "ids": [rows(api)[0]["id"]]})
    now = timezone.now()
    with tenant_scope(tenant.pk):
        acts = StoredAct.objects.for_tenant(tenant.pk)
        acts.filter(act="replace").update(at=now - timedelta(days=50))
    forget_old_acts(UNDO_DAYS - 1)
    with tenant_scope(tenant.pk):
        assert {*acts.values_list("act", flat=True)} == {"replace", "dismiss"}
    forget_old_acts(UNDO_DAYS + 1)
    with tenant_scope(tenant.pk):
        assert not acts.exists()


def test_act_of_a_replacement_is_deleted_after_its_memory_was_restored(
    api: APIClient, pair: Any, tenant: Tenant
) -> None:
    api.post(f"{MEMORIES}/{pair[0]['id']}/restore", {})
    assert rows(api) == []
    forget_old_acts(UNDO_DAYS + 1)
    with tenant_scope(tenant.pk):
        assert not StoredAct.objects.for_tenant(tenant.pk).filter(act="replace").exists()


def test_memories_replaced_again_after_an_undo_are_listed_again(api: APIClient, pair: Any) -> None:
    api.post(REPLACED, {"action": "restore", "ids": [rows(api)[0]["id"]]})
    api.post(MEMORIES, {"content": NEW, "partition": "project=search", "supersedes": [pair[0]["id"]]})
    assert len(rows(api)) == 1


def test_pair_stays_when_texts_are_compared_and_lists_are_cleaned(api: APIClient, pair: Any, tenant: Tenant) -> None:
    while detect_pairs_in_batch(tenant.pk, now=timezone.now()):
        pass
    find_unused_and_expiring_memories(now=timezone.now())
    assert len(rows(api)) == 1


def test_pairs_are_neither_merged_nor_archived(api: APIClient, pair: Any) -> None:
    (row,) = rows(api)
    for act in ("merge", "archive"):
        assert_problem(api.post(REPLACED, {"action": act, "ids": [row["id"]]}), 400, "invalid_choice", "action")


def test_page_shows_what_differs_and_undoes_the_replacement(client: Client, pair: Any, tenant: Tenant) -> None:
    shown = text_of(client.get(page("hygiene-list", tenant, "replaced")))
    assert '<mark class="differs differs-value">30</mark>' in shown
    assert "true until" in shown
    assert "cosine" not in shown
    assert "Keep this one" not in shown
    fields = {"action": "restore", "id": pair_id(tenant)}
    preview = text_of(client.get(page("hygiene-bulk", tenant, "replaced"), fields))
    assert "Undo 1 replacement?" in preview
    done = client.post(page("hygiene-bulk", tenant, "replaced"), fields, follow=True)
    assert "1 memory is live again" in text_of(done)
    assert "No findings" in text_of(done)


def test_viewer_sees_the_list_and_undoes_nothing(pair: Any, tenant: Tenant) -> None:
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert "Undo replacement" not in text_of(viewer.get(page("hygiene-list", tenant, "replaced")))
    fields = {"action": "restore", "id": pair_id(tenant)}
    assert viewer.post(page("hygiene-bulk", tenant, "replaced"), fields).status_code == 403


def test_page_of_a_replaced_memory_names_its_successor(client: Client, pair: Any, tenant: Tenant) -> None:
    older, newer = pair
    shown = text_of(client.get(page("memory", tenant, older["id"])))
    assert "Replaced by" in shown
    assert f"/memories/{newer['id']}" in shown
    assert "replaced</span>" in shown
    assert "Replaced by" not in text_of(client.get(page("memory", tenant, newer["id"])))
