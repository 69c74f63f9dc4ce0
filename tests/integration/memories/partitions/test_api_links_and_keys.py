"""Links and API keys over REST."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import AuditEntry, IdempotencyRecord, Tenant
from memories.partitions.serializers import LinkOutput
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.api_keys import ApiKeyOutput, NewApiKeyOutput
from tests.integration.rest_helpers import (
    MEMORIES,
    NOWHERE,
    SEARCH,
    assert_problem,
    every_page,
    post_memory,
    query_count,
)
from tests.users import api_client, new_key

LINKS = "/api/v1/links"
KEYS = "/api/v1/keys"


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def ends(api: APIClient) -> tuple[str, str]:
    return post_memory(api, "Sam moved.")["id"], post_memory(api, "Sam found a job in Porto.")["id"]


def test_edge_is_made_once_listed_and_ended(api: APIClient, ends: tuple[str, str]) -> None:
    source, target = ends
    link = {"source_id": source, "target_id": target, "kind": "because"}
    made = api.post(LINKS, link)
    assert made.status_code == 201
    edge = made.json()
    assert set(edge) == set(LinkOutput().fields)
    assert (edge["source_id"], edge["target_id"], edge["kind"]) == (source, target, "because")
    again = api.post(LINKS, link)
    assert (again.status_code, again.json()) == (200, edge)
    assert api.get(f"{MEMORIES}/{source}").json()["links"] == [{"target_id": target, "kind": "because"}]
    assert api.get(LINKS).json()["results"] == [edge]
    assert api.delete(f"{LINKS}/{edge['id']}").status_code == 204
    assert api.delete(f"{LINKS}/{edge['id']}").status_code == 204
    assert api.get(LINKS).json()["results"] == []
    assert api.get(f"{MEMORIES}/{source}").json()["links"] == []


def test_edges_may_form_a_circle_and_are_found_by_their_ends(api: APIClient, ends: tuple[str, str]) -> None:
    source, target = ends
    forth = api.post(LINKS, {"source_id": source, "target_id": target}).json()
    back = api.post(LINKS, {"source_id": target, "target_id": source, "kind": "before"}).json()
    assert forth["kind"] == "related"
    assert api.get(LINKS, {"source_id": source}).json()["results"] == [forth]
    assert api.get(LINKS, {"target_id": source}).json()["results"] == [back]
    assert api.get(LINKS, {"kind": "before"}).json()["results"] == [back]
    assert api.get(LINKS, {"source_id": str(NOWHERE)}).json()["results"] == []


def test_bad_edge_is_refused_by_name(api: APIClient, ends: tuple[str, str]) -> None:
    source, target = ends
    whole = {"source_id": source, "target_id": target}
    for body, status, code, field in (
        ({**whole, "target_id": source}, 400, "same_memory", "target_id"),
        ({**whole, "kind": "Two Words"}, 400, "bad_kind", "kind"),
        ({**whole, "target_id": "x"}, 400, "not_a_uuid", "target_id"),
        ({"source_id": source}, 400, "required", "target_id"),
        ({**whole, "weight": 1}, 400, "unknown_field", "weight"),
        ({**whole, "target_id": str(NOWHERE)}, 404, "not_found", "target_id"),
        ({**whole, "source_id": str(NOWHERE)}, 404, "not_found", "source_id"),
    ):
        assert_problem(api.post(LINKS, body), status, code, field)
    api.delete(f"{MEMORIES}/{target}")
    assert_problem(api.post(LINKS, whole), 404, "not_found", "target_id")
    assert api.get(LINKS).json()["results"] == []
    assert_problem(api.delete(f"{LINKS}/7"), 404, "not_found")
    assert_problem(api.delete(f"{LINKS}/{10**30}"), 404, "not_found")
    assert_problem(api.get(LINKS, {"source_id": "x"}), 400, "not_a_uuid", "source_id")


def test_both_ends_of_an_edge_are_within_the_reach(api: APIClient, tenant: Tenant) -> None:
    confined = api_client(new_key(tenant, "read", "write", partition="user=alex"))
    own = [post_memory(confined, f"Alex {number}")["id"] for number in range(2)]
    foreign = [post_memory(api, f"Sam {number}", partition="user=sam")["id"] for number in range(2)]
    for source, target, field in (
        (own[0], foreign[0], "target_id"),
        (foreign[0], own[0], "source_id"),
        (foreign[0], foreign[1], "source_id"),
    ):
        assert_problem(confined.post(LINKS, {"source_id": source, "target_id": target}), 404, "not_found", field)
    across = api.post(LINKS, {"source_id": own[0], "target_id": foreign[0]}).json()
    within = confined.post(LINKS, {"source_id": own[0], "target_id": own[1]}).json()
    assert confined.get(LINKS).json()["results"] == [within]
    assert_problem(confined.delete(f"{LINKS}/{across['id']}"), 404, "not_found")
    assert len(api.get(LINKS).json()["results"]) == 2


def test_memory_names_no_linked_memory_beyond_the_reach(api: APIClient, tenant: Tenant) -> None:
    confined = api_client(new_key(tenant, "read", partition="user=alex"))
    source, own = (post_memory(api, f"Alex likes tea {number}.", user_id="alex")["id"] for number in range(2))
    foreign = post_memory(api, "Sam likes tea.", user_id="sam")["id"]
    for target in (own, foreign):
        api.post(LINKS, {"source_id": source, "target_id": target})

    def targets(client: APIClient) -> list[list[str]]:
        now = timezone.now().isoformat()
        lists = [client.get(MEMORIES, query).json()["results"] for query in ({}, {"as_of": now})]
        found = [client.post(SEARCH, {"query": "tea", **at}).json()["results"] for at in ({}, {"as_of": now})]
        rows = [client.get(f"{MEMORIES}/{source}").json()]
        rows += [row for results in (*lists, *found) for row in results if row["id"] == source]
        return [[link["target_id"] for link in row["links"]] for row in rows]

    assert targets(api) == [[own, foreign]] * 5
    assert targets(confined) == [[own]] * 5


def test_linking_takes_the_scope_write(api: APIClient, tenant: Tenant, ends: tuple[str, str]) -> None:
    reader = api_client(new_key(tenant, "read"))
    body = {"source_id": ends[0], "target_id": ends[1]}
    assert_problem(reader.post(LINKS, body), 403, "scope_missing")
    edge = api.post(LINKS, body).json()
    assert_problem(reader.delete(f"{LINKS}/{edge['id']}"), 403, "scope_missing")
    assert reader.get(LINKS).json()["results"] == [edge]


def test_links_are_paged_and_repeated_posts_make_one(api: APIClient, ends: tuple[str, str]) -> None:
    source, target = ends
    body = {"source_id": source, "target_id": target}
    first, again = (api.post(LINKS, body, headers={"Idempotency-Key": "l"}) for _ in range(2))
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    few = query_count(api, LINKS)
    for number in range(4):
        api.post(LINKS, {**body, "kind": f"kind{number}"})
    assert query_count(api, LINKS) == few
    pages = every_page(api, f"{LINKS}?page_size=2")
    assert [[row["kind"] for row in page] for page in pages] == [["kind3", "kind2"], ["kind1", "kind0"], ["related"]]


def test_key_is_shown_once_and_works_until_it_is_revoked(admin: APIClient, tenant: Tenant) -> None:
    made = admin.post(KEYS, {"name": "planner", "scopes": ["read", "write"], "partition": "user=alex"})
    assert made.status_code == 201
    answer = made.json()
    assert set(answer) == set(NewApiKeyOutput().fields)
    agent = api_client(answer["key"])
    assert post_memory(agent, "Alex likes tea.")["partition"] == "user=alex"
    rows = admin.get(KEYS).json()["results"]
    assert rows[0] == {name: answer[name] for name in ApiKeyOutput().fields}
    assert [row["id"] for row in rows] == [answer["id"], rows[1]["id"]]
    assert answer["key"].partition(".")[2] not in str(rows)
    assert admin.delete(f"{KEYS}/{answer['id']}").status_code == 204
    assert admin.delete(f"{KEYS}/{answer['id']}").status_code == 204
    assert_problem(agent.get(MEMORIES), 401, "key_invalid")
    assert [row["is_revoked"] for row in admin.get(KEYS).json()["results"]] == [True, False]
    with tenant_scope(tenant.pk):
        verbs = [entry.verb for entry in AuditEntry.objects.for_tenant(tenant.pk).newest_first()]
    assert {"create_api_key", "revoke_api_key"} <= set(verbs)


def test_repeated_request_makes_one_key_and_stores_no_secret(admin: APIClient, tenant: Tenant) -> None:
    body, once = {"name": "planner", "scopes": ["read"]}, {"Idempotency-Key": "key-1"}
    first, again = (admin.post(KEYS, body, headers=once) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == {**first.json(), "key": None}
    with tenant_scope(tenant.pk):
        (record,) = IdempotencyRecord.objects.for_tenant(tenant.pk)
    assert first.json()["key"].partition(".")[2] not in str(record.answer)
    assert len(admin.get(KEYS).json()["results"]) == 2


BAD_KEYS: list[tuple[dict[str, Any], str, str]] = [
    ({"scopes": ["read"]}, "required", "name"),
    ({"name": "x"}, "required", "scopes"),
    ({"name": "", "scopes": ["read"]}, "bad_name", "name"),
    ({"name": " x", "scopes": ["read"]}, "bad_name", "name"),
    ({"name": "x" * 51, "scopes": ["read"]}, "too_long", "name"),
    ({"name": "a\x00", "scopes": ["read"]}, "null_character", "name"),
    ({"name": "x", "scopes": []}, "min_length", "scopes"),
    ({"name": "x", "scopes": ["root"]}, "invalid_choice", "scopes.0"),
    ({"name": "x", "scopes": "read"}, "not_a_list", "scopes"),
    ({"name": "x", "scopes": ["read"], "partition": "nonsense"}, "bad_segment", "partition"),
    ({"name": "x", "scopes": ["read"], "refuses_recalled_text": 1}, "not_a_boolean", "refuses_recalled_text"),
    ({"name": "x", "scopes": ["read"], "tenant": "other"}, "unknown_field", "tenant"),
]


def test_bad_key_is_refused_by_name(admin: APIClient) -> None:
    for body, code, field in BAD_KEYS:
        assert_problem(admin.post(KEYS, body), 400, code, field)
    assert len(admin.get(KEYS).json()["results"]) == 1


def test_keys_are_for_admins_of_the_whole_tenant(admin: APIClient, api: APIClient, tenant: Tenant) -> None:
    confined = api_client(new_key(tenant, "admin", partition="user=alex"))
    new_key(tenant, "read", partition="user=alex/topic=home")
    new_key(tenant, "read", partition="user=sam")
    body = {"name": "x", "scopes": ["read"], "partition": "user=alex"}
    assert_problem(api.get(KEYS), 403, "scope_missing")
    some = admin.get(KEYS).json()["results"][0]["id"]
    for client, code in ((api, "scope_missing"), (confined, "partition_forbidden")):
        assert_problem(client.post(KEYS, body), 403, code)
        assert_problem(client.delete(f"{KEYS}/{some}"), 403, code)
    rows = confined.get(KEYS).json()["results"]
    assert [row["partition"] for row in rows] == ["user=alex/topic=home", "user=alex"]


def test_key_of_another_tenant_is_absent(admin: APIClient, other_tenant: Tenant) -> None:
    foreign = new_key(other_tenant, "read")
    assert_problem(admin.delete(f"{KEYS}/{foreign.partition('.')[0]}"), 404, "not_found")
    assert_problem(admin.delete(f"{KEYS}/%00"), 404, "not_found")
    assert api_client(foreign).get(MEMORIES).status_code == 200


def test_keys_are_paged_and_queries_do_not_grow(admin: APIClient, tenant: Tenant) -> None:
    few = query_count(admin, KEYS)
    for _ in range(4):
        new_key(tenant, "read")
    assert query_count(admin, KEYS) == few
    assert [len(page) for page in every_page(admin, f"{KEYS}?page_size=2")] == [2, 2, 1]
