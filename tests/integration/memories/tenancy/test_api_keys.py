"""Who may use the REST API: keys, scopes, partition prefixes, tenants."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import ApiKey, Tenant
from memories.tenancy.actions.api_keys import revoke_api_key
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import (
    CONTEXT,
    CONTEXTS,
    MEMORIES,
    SEARCH,
    all_stored_memories,
    assert_problem,
    post_memory,
)
from tests.users import BY, api_client, new_key


def key_row(tenant: Tenant, plain: str) -> ApiKey:
    with tenant_scope(tenant.pk):
        row: ApiKey = ApiKey.objects.for_tenant(tenant.pk).get(prefix=plain.partition(".")[0])
    return row


def test_both_headers_are_taken(api_key: str) -> None:
    client = APIClient()
    assert client.get(MEMORIES, headers={"Authorization": f"Bearer {api_key}"}).status_code == 200
    assert client.get(MEMORIES, headers={"Authorization": f"bearer {api_key}"}).status_code == 200
    assert client.get(MEMORIES, headers={"X-API-Key": api_key}).status_code == 200


WRONG_KEYS = [
    ({}, "key_missing"),
    ({"Authorization": "Bearer nonsense"}, "key_invalid"),
    ({"Authorization": "Bearer abcdefgh.nonsense"}, "key_invalid"),
    ({"Authorization": "Bearer "}, "key_missing"),
    ({"Authorization": "Basic YTpi"}, "key_missing"),
    ({"Authorization": "nonsense"}, "key_missing"),
    ({"X-API-Key": ""}, "key_missing"),
    ({"X-API-Key": "a", "Authorization": "Basic YTpi"}, "key_missing"),
    ({"X-API-Key": "x" * 5000}, "key_invalid"),
    ({"X-API-Key": "schlüssel.x"}, "key_invalid"),
    ({"X-API-Key": "a", "Authorization": "Bearer b"}, "key_invalid"),
]


def test_no_or_wrong_key_is_refused(tenant: Tenant) -> None:
    for headers, code in WRONG_KEYS:
        response = APIClient().post(MEMORIES, {"content": "One"}, headers=headers)
        assert_problem(response, 401, code)
        assert response["WWW-Authenticate"].startswith("Bearer")
    assert all_stored_memories(tenant) == []


def test_a_key_with_a_wrong_end_is_refused(api_key: str) -> None:
    assert_problem(api_client(api_key[:-1] + "~").get(MEMORIES), 401, "key_invalid")


def test_revoking_takes_effect_immediately(api: APIClient, api_key: str, tenant: Tenant) -> None:
    assert api.get(MEMORIES).status_code == 200
    with tenant_scope(tenant.pk):
        revoke_api_key(key=key_row(tenant, api_key), by=BY, now=timezone.now())
    assert_problem(api.get(MEMORIES), 401, "key_invalid")


def test_expired_key_is_refused(api: APIClient, api_key: str, tenant: Tenant) -> None:
    row = key_row(tenant, api_key)
    with tenant_scope(tenant.pk):
        row.expiry_date = timezone.now() - timedelta(seconds=1)
        row.save()
    assert_problem(api.get(MEMORIES), 401, "key_invalid")


READING: list[tuple[str, str, dict[str, Any]]] = [
    ("get", MEMORIES, {}),
    ("post", SEARCH, {"query": "x"}),
    ("post", CONTEXT, {"query": "x", "preview": True}),
    ("get", CONTEXTS, {}),
]
WRITING: list[tuple[str, str, dict[str, Any]]] = [
    ("post", MEMORIES, {"content": "x"}),
    ("post", f"{MEMORIES}/bulk", {"memories": [{"content": "x"}]}),
    ("post", CONTEXT, {"query": "x"}),
    ("patch", f"{MEMORIES}/{{id}}", {"confidence": 0.1}),
    ("delete", f"{MEMORIES}/{{id}}", {}),
    ("post", f"{MEMORIES}/{{id}}/restore", {}),
]


@pytest.mark.parametrize(("method", "url", "body"), READING)
def test_reading_takes_the_scope_read(tenant: Tenant, method: str, url: str, body: dict[str, Any]) -> None:
    for scope in ("read", "write", "admin"):
        assert getattr(api_client(new_key(tenant, scope)), method)(url, body).status_code == 200


@pytest.mark.parametrize(("method", "url", "body"), WRITING)
def test_writing_takes_the_scope_write(
    api: APIClient, tenant: Tenant, method: str, url: str, body: dict[str, Any]
) -> None:
    created = post_memory(api, "One")
    url = url.format(id=created["id"])
    assert_problem(getattr(api_client(new_key(tenant, "read")), method)(url, body), 403, "scope_missing")
    assert len(all_stored_memories(tenant)) == 1
    assert api.get(f"{MEMORIES}/{created['id']}").json()["version"] == 1
    assert getattr(api_client(new_key(tenant, "write")), method)(url, body).status_code in {200, 201, 204}


@pytest.fixture
def confined(tenant: Tenant) -> APIClient:
    return api_client(new_key(tenant, "read", "write", partition="user=alex"))


def test_confined_key_writes_into_its_partition_by_default(confined: APIClient) -> None:
    assert post_memory(confined, "One")["partition"] == "user=alex"
    assert post_memory(confined, "Two", partition="user=alex/topic=food")["partition"] == "user=alex/topic=food"
    assert post_memory(confined, "Three", user_id="alex", agent_id="planner")["partition"] == "user=alex/agent=planner"


@pytest.mark.parametrize(
    "place", [{"partition": "user=sam"}, {"partition": ""}, {"partition": "user=alexa"}, {"agent_id": "planner"}]
)
def test_confined_key_writes_nowhere_else(confined: APIClient, tenant: Tenant, place: dict[str, str]) -> None:
    assert_problem(confined.post(MEMORIES, {"content": "One", **place}), 403, "partition_forbidden")
    results = confined.post(f"{MEMORIES}/bulk", {"memories": [{"content": "One", **place}]}).json()["results"]
    assert [(row["status"], row["errors"][0]["code"]) for row in results] == [("invalid", "partition_forbidden")]
    assert all_stored_memories(tenant) == []


def test_confined_key_moves_nothing_out(confined: APIClient) -> None:
    url = f"{MEMORIES}/{post_memory(confined, 'One')['id']}"
    assert_problem(confined.patch(url, {"partition": "user=sam"}), 403, "partition_forbidden")
    assert confined.get(url).json()["partition"] == "user=alex"


def test_key_with_a_partition_reads_only_that_partition(confined: APIClient, api: APIClient) -> None:
    own = post_memory(api, "Alex lives in Porto.", partition="user=alex/topic=home")
    foreign = post_memory(api, "Sam lives in Porto.", partition="user=sam")
    similar = post_memory(api, "Alexa lives in Porto.", partition="user=alexa")
    assert [row["id"] for row in confined.get(MEMORIES).json()["results"]] == [own["id"]]
    found = confined.post(SEARCH, {"query": "Who lives in Porto?"}).json()["results"]
    assert [row["id"] for row in found] == [own["id"]]
    context = confined.post(CONTEXT, {"query": "Who lives in Porto?"}).json()
    assert [block["anchor"]["id"] for block in context["blocks"]] == [own["id"]]
    for row in (foreign, similar):
        url = f"{MEMORIES}/{row['id']}"
        assert_problem(confined.get(url), 404, "not_found")
        assert_problem(confined.get(f"{url}/history"), 404, "not_found")
        assert_problem(confined.patch(url, {"confidence": 0.1}), 404, "not_found")
        assert_problem(confined.delete(url), 404, "not_found")
        assert_problem(confined.post(f"{url}/restore"), 404, "not_found")
        assert_problem(
            confined.post(MEMORIES, {"content": "x", "links": [{"target_id": row["id"]}]}),
            400, "unknown_target", "links",
        )  # fmt: skip


@pytest.mark.parametrize("partition", ["user=sam", "", "user=alexa"])
def test_confined_key_asking_for_another_partition_is_refused(confined: APIClient, partition: str) -> None:
    assert_problem(confined.get(MEMORIES, {"partition": partition}), 403, "partition_forbidden")
    assert_problem(confined.post(SEARCH, {"query": "x", "partition": partition}), 403, "partition_forbidden")
    assert_problem(confined.post(CONTEXT, {"query": "x", "partition": partition}), 403, "partition_forbidden")


def test_receipts_are_confined_too(confined: APIClient, api: APIClient) -> None:
    post_memory(api, "Sam lives in Porto.", partition="user=sam")
    receipt = api.post(CONTEXT, {"query": "Porto"}).json()
    assert_problem(confined.get(f"{CONTEXT}/{receipt['id']}"), 404, "not_found")
    assert_problem(confined.post(CONTEXT, {"query": "x", "stable_with": receipt["id"]}), 404, "not_found")
    own = confined.post(CONTEXT, {"query": "Porto"}).json()
    assert [row["id"] for row in confined.get(CONTEXTS).json()["results"]] == [own["id"]]
    assert confined.get(f"{CONTEXT}/{own['id']}").status_code == 200


def test_another_tenants_rows_are_absent(api: APIClient, other_tenant: Tenant) -> None:
    created = post_memory(api, "Sam lives in Porto.")
    receipt = api.post(CONTEXT, {"query": "Porto"}).json()
    stranger = api_client(new_key(other_tenant, "read", "write", "admin"))
    url = f"{MEMORIES}/{created['id']}"
    assert_problem(stranger.get(url), 404, "not_found")
    assert_problem(stranger.get(f"{url}/history"), 404, "not_found")
    assert_problem(stranger.patch(url, {"content": "changed"}), 404, "not_found")
    assert_problem(stranger.delete(url), 404, "not_found")
    assert_problem(stranger.post(f"{url}/restore"), 404, "not_found")
    assert_problem(stranger.get(f"{CONTEXT}/{receipt['id']}"), 404, "not_found")
    assert_problem(
        stranger.post(MEMORIES, {"content": "x", "links": [{"target_id": created["id"]}]}),
        400, "unknown_target", "links",
    )  # fmt: skip
    assert stranger.get(MEMORIES).json()["results"] == []
    assert stranger.get(CONTEXTS).json()["results"] == []
    assert stranger.post(SEARCH, {"query": "Porto"}).json()["results"] == []
    assert stranger.post(CONTEXT, {"query": "Porto"}).json()["blocks"] == []
    assert api.get(url).json()["content"] == "Sam lives in Porto."


def test_the_same_text_of_two_tenants_is_two_memories(api: APIClient, other_tenant: Tenant) -> None:
    first = post_memory(api, "Sam lives in Porto.")
    second = post_memory(api_client(new_key(other_tenant, "write")), "Sam lives in Porto.")
    assert first["id"] != second["id"]


def test_keys_of_two_tenants_may_share_a_prefix(tenant: Tenant, other_tenant: Tenant) -> None:
    """A prefix is unique within its tenant: each key still finds its own row."""
    ours, theirs = new_key(tenant, "read", "write"), new_key(other_tenant, "read", "write")
    prefix, generator = ours.partition(".")[0], ApiKey.objects.key_generator
    theirs, row = f"{prefix}.{theirs.partition('.')[2]}", key_row(other_tenant, theirs)
    with tenant_scope(other_tenant.pk):
        ApiKey.objects.for_tenant(other_tenant.pk).filter(pk=row.pk).update(
            prefix=prefix, hashed_key=generator.hash(theirs)
        )
    created = post_memory(api_client(ours), "Ours")
    assert api_client(ours).get(f"{MEMORIES}/{created['id']}").status_code == 200
    assert_problem(api_client(theirs).get(f"{MEMORIES}/{created['id']}"), 404, "not_found")
    assert_problem(api_client(f"{prefix}.wrong").get(MEMORIES), 401, "key_invalid")
