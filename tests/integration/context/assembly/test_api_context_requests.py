"""The parameters of a context request over REST: focus, packer, time, an earlier order, sections."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from context.models import Receipt
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import CONTEXT, MEMORIES, NOWHERE, all_stored_memories, assert_problem, post_memory
from tests.users import api_client, new_key

TOWNS = ("Porto", "Genoa", "Bergen", "Cadiz", "Split", "Galway", "Riga", "Izmir")
CRAFTS = ("fishing", "rope making", "welding", "brewing", "chess", "opera singing", "baking", "cartography")
OLD = "2026-01-01T00:00:00Z"


def summary(client: APIClient, path: str, content: str, style: str = "compact") -> dict[str, Any]:
    url = f"/api/v1/partitions/{quote(path, safe='')}/summaries"
    response = client.put(url, {"content": content, "style": style})
    assert response.status_code in {200, 201}, response.content
    answer: dict[str, Any] = response.json()
    return answer


def texts(answer: dict[str, Any], kind: str = "") -> list[str]:
    return [block["text"] for block in answer["blocks"] if kind in ("", block["kind"])]


def ask(client: APIClient, **options: Any) -> dict[str, Any]:
    response = client.post(CONTEXT, options)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


@pytest.fixture
def confined(tenant: Tenant) -> APIClient:
    return api_client(new_key(tenant, "read", "write", partition="user=alex"))


@pytest.fixture
def home(api: APIClient) -> dict[str, Any]:
    """A memory of Sam that links to another one, below two summaries."""
    summary(api, "user=sam", "Sam in short.")
    summary(api, "user=sam", "Sam at length.", "detailed")
    summary(api, "user=sam/topic=home", "Home in short.")
    job = post_memory(api, "Sam found a job in Porto.", partition="user=sam/topic=work")
    links = [{"target_id": job["id"], "kind": "because"}]
    return post_memory(api, "Sam moved to Porto.", partition="user=sam/topic=home", links=links)


def test_focus_on_a_memory_brings_its_summaries_and_what_it_links_to(api: APIClient, home: dict[str, Any]) -> None:
    answer = ask(api, focus={"memory_id": home["id"]})
    assert [(block["kind"], block["text"]) for block in answer["blocks"]] == [
        ("partition_summary", "Sam in short."),
        ("partition_summary", "Home in short."),
        ("memory", "Sam moved to Porto."),
        ("linked_memory", "Sam found a job in Porto."),
    ]
    assert [block["anchor"]["type"] for block in answer["blocks"]] == [
        "partition_summary", "partition_summary", "memory", "memory",
    ]  # fmt: skip
    bare = ask(api, focus={"memory_id": home["id"]}, include_summaries_at=[], include_linked_memories=False)
    assert texts(bare) == ["Sam moved to Porto."]


def test_circle_of_links_shows_each_memory_once(api: APIClient, home: dict[str, Any]) -> None:
    (job,) = [memory for memory in stored_of(api) if "job" in memory["content"]]
    api.post("/api/v1/links", {"source_id": job["id"], "target_id": home["id"]})
    answer = ask(api, focus={"memory_id": home["id"]}, query="Why did Sam move?")
    ids = [block["anchor"]["id"] for block in answer["blocks"]]
    assert len(ids) == len(set(ids))


def stored_of(client: APIClient) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(MEMORIES).json()["results"]
    return rows


def test_focus_on_a_summary_or_a_partition(api: APIClient, home: dict[str, Any]) -> None:
    row = summary(api, "user=sam/topic=home", "Home in short.")
    about = ask(api, focus={"summary_id": row["id"]}, include_summaries_at=[])
    assert texts(about) == ["Home in short."]
    there = ask(api, focus={"partition": "user=sam/topic=home"}, include_summaries_at=[0])
    assert texts(there, "partition_summary") == ["Sam in short."]
    assert texts(there, "memory") == ["Sam moved to Porto."]
    at_length = ask(api, focus={"partition": "user=sam"}, summary_style="detailed")
    assert texts(at_length, "partition_summary") == ["Sam at length."]


def test_focus_on_a_partition_shows_its_top_memories(api: APIClient) -> None:
    for number in range(4):
        post_memory(api, f"Note {number}", partition="user=kim", pinned=number == 2)
    answer = ask(api, focus={"partition": "user=kim"}, include_memories_top_k=2)
    assert len(answer["blocks"]) == 2
    assert "Note 2" in texts(answer)


BAD_OPTIONS: list[tuple[Any, str, str]] = [
    ({"focus": {}}, "one_of", "focus"),
    ({"focus": {"memory_id": str(NOWHERE), "partition": "user=x"}}, "one_of", "focus"),
    ({"focus": {"memory_id": None}}, "one_of", "focus"),
    ({"focus": {"memory_id": "x"}}, "not_a_uuid", "focus.memory_id"),
    ({"focus": {"partition": "nonsense"}}, "bad_segment", "focus.partition"),
    ({"focus": {"query": "x"}}, "unknown_field", "focus.query"),
    ({"focus": "x"}, "not_an_object", "focus"),
    ({"focus": {"partition": "user=x"}, "partition": "user=x"}, "given_twice", "focus.partition"),
    ({"packer": "magic"}, "invalid_choice", "packer"),
    ({"summary_style": "poetic"}, "invalid_choice", "summary_style"),
    ({"include_summaries_at": [8]}, "out_of_range", "include_summaries_at.0"),
    ({"include_summaries_at": [-1]}, "out_of_range", "include_summaries_at.0"),
    ({"include_summaries_at": [0] * 10}, "max_length", "include_summaries_at"),
    ({"include_summaries_at": 1}, "not_a_list", "include_summaries_at"),
    ({"include_linked_memories": "yes"}, "not_a_boolean", "include_linked_memories"),
    ({"as_of": "2026-01-01T00:00:00"}, "no_offset", "as_of"),
    ({"as_of": "2026-01-01"}, "no_offset", "as_of"),
    ({"as_of": "2999-01-01T00:00:00Z"}, "in_the_future", "as_of"),
    ({"as_of": 7}, "not_a_time", "as_of"),
    ({"budget_profile": "nobody"}, "unknown_budget_profile", "budget_profile"),
    ({"budget_profile": 7}, "not_text", "budget_profile"),
    ({"stable_with": "x"}, "not_a_uuid", "stable_with"),
]


def test_bad_option_is_refused_by_name(api: APIClient, tenant: Tenant) -> None:
    for options, code, field in BAD_OPTIONS:
        response = api.post(CONTEXT, json.dumps({"query": "x", **options}), content_type="application/json")
        assert_problem(response, 400, code, field)
    with tenant_scope(tenant.pk):
        assert not Receipt.objects.for_tenant(tenant.pk).exists()


def test_focus_out_of_reach_is_refused(
    api: APIClient, confined: APIClient, other_tenant: Tenant, home: dict[str, Any]
) -> None:
    row = summary(api, "user=sam", "Sam in short.")
    stranger = api_client(new_key(other_tenant, "read", "write"))
    for client in (confined, stranger):
        for focus in ({"memory_id": home["id"]}, {"summary_id": row["id"]}, {"memory_id": str(NOWHERE)}):
            response = client.post(CONTEXT, {"focus": focus})
            assert_problem(response, 404, "not_found")
            assert "Porto" not in response.content.decode()
    for path in ("user=sam", "user=alexa", ""):
        asked = {"focus": {"partition": path}}
        assert_problem(confined.post(CONTEXT, asked), 403, "partition_forbidden", "focus.partition")
    assert ask(stranger, focus={"partition": "user=sam"})["blocks"] == []
    api.delete(f"{MEMORIES}/{home['id']}")
    assert_problem(api.post(CONTEXT, {"focus": {"memory_id": home["id"]}}), 404, "not_found")


def test_links_are_followed_within_the_reach_alone(api: APIClient, confined: APIClient) -> None:
    foreign = post_memory(api, "Sam lives in Porto.", partition="user=sam")
    own = post_memory(api, "Alex knows Sam.", partition="user=alex", links=[{"target_id": foreign["id"]}])
    assert texts(ask(confined, focus={"memory_id": own["id"]}), "linked_memory") == []
    assert texts(ask(api, focus={"memory_id": own["id"]}), "linked_memory") == ["Sam lives in Porto."]


@pytest.mark.parametrize("packer", ["greedy", "elastic", "optimal"])
def test_every_packer_stays_within_the_budget_and_explains_itself(api: APIClient, packer: str) -> None:
    for number, (town, craft) in enumerate(zip(TOWNS, CRAFTS, strict=True)):
        post_memory(api, f"The harbour of {town}: " + f"{craft} by the quay of {town}, day {number}. " * (2 + number))
    answer = ask(api, query="Which harbour is it?", packer=packer, max_tokens=120, explain=True)
    assert 0 < answer["budget"]["used"] <= 120
    assert answer["blocks"]
    optimality = answer["explain"]["optimality"]
    assert set(optimality) == {"total_score", "optimal_score", "upper_bound", "gap"}
    assert optimality["gap"] == pytest.approx(optimality["upper_bound"] - optimality["total_score"], abs=1e-5)
    codes = [warning["code"] for warning in answer["warnings"]]
    assert ("uncalibrated_profile" in codes) == (packer == "optimal")
    assert any(block["truncated"] for block in answer["blocks"]) == (packer == "elastic")


def test_as_of_reads_what_was_true_then_and_counts_nothing(api: APIClient, tenant: Tenant) -> None:
    post_memory(api, "Sam lives in Lisbon.", created_at=OLD)
    moved = post_memory(api, "Sam lives in Porto.")
    then = (timezone.now() - timedelta(hours=1)).isoformat()
    answer = ask(api, query="Where does Sam live?", as_of=then)
    assert texts(answer) == ["Sam lives in Lisbon."]
    assert {memory.retrieval_count for memory in all_stored_memories(tenant)} == {0}
    api.patch(f"{MEMORIES}/{moved['id']}", {"content": "Sam lives in Braga."})
    assert "Sam lives in Braga." in texts(ask(api, query="Where does Sam live?"))
    east = (timezone.now() - timedelta(hours=1)).astimezone(timezone.get_fixed_timezone(120)).isoformat()
    assert texts(ask(api, query="Where does Sam live?", as_of=east)) == ["Sam lives in Lisbon."]
    assert ask(api, query="Where does Sam live?", as_of="1999-01-01T00:00:00Z")["text"] == ""


def test_earlier_order_is_kept_and_the_kept_tokens_are_reported(api: APIClient) -> None:
    for name in ("Lisbon", "Porto", "Braga"):
        post_memory(api, f"Sam once lived in {name}.")
    first = ask(api, query="Where did Sam live?")
    assert "stable_prefix_tokens" not in first
    post_memory(api, "Sam once lived in Faro.")
    second = ask(api, query="Faro", stable_with=first["id"])
    assert second["stable_prefix_tokens"] > 0
    shown = [block["anchor"]["id"] for block in first["blocks"]]
    assert [block["anchor"]["id"] for block in second["blocks"]][: len(shown)] == shown
    assert_problem(api.post(CONTEXT, {"query": "x", "stable_with": str(NOWHERE)}), 404, "not_found")


def test_budget_profile_is_chosen_by_name(api: APIClient, admin_key: str) -> None:
    body = {"name": "chat", "default_tokens": 77, "include_tenant_memo": False}
    assert api_client(admin_key).post("/api/v1/budget-profiles", body).status_code == 201
    post_memory(api, "Sam lives in Porto.")
    answer = ask(api, query="Sam", budget_profile="chat")
    assert (answer["budget_profile"], answer["budget"]["max_tokens"]) == ({"name": "chat", "version": 1}, 77)


def test_repeated_context_is_given_and_counted_once(api: APIClient, home: dict[str, Any]) -> None:
    options = {"focus": {"memory_id": home["id"]}, "packer": "elastic"}
    first, again = (api.post(CONTEXT, options, headers={"Idempotency-Key": "c"}) for _ in range(2))
    assert again.json() == first.json()
    assert len(api.get("/api/v1/contexts").json()["results"]) == 1


def test_list_of_contexts_is_narrowed(api: APIClient, api_key: str, tenant: Tenant, admin_key: str) -> None:
    admin = api_client(admin_key)
    post_memory(api, "Sam lives in Porto.", partition="user=sam")
    old = ask(api, query="Porto", partition="user=sam")
    middle = timezone.now().isoformat()
    below = ask(admin, query="Porto", partition="user=sam/topic=home", model="gpt-4")
    whole = ask(admin, query="Porto", as_of=OLD)

    def found(**query: str) -> list[str]:
        response = api.get("/api/v1/contexts", query)
        assert response.status_code == 200, response.content
        return [row["id"] for row in response.json()["results"]]

    key_id = api_key.partition(".")[0]
    assert found() == [whole["id"], below["id"], old["id"]]
    assert found(partition="user=sam") == [below["id"], old["id"]]
    assert found(partition="user=sam", exact="true") == [old["id"]]
    assert found(key=key_id) == [old["id"]]
    assert found(model="gpt-4") == [below["id"]]
    assert found(created_after=middle) == [whole["id"], below["id"]]
    assert found(created_before=middle) == [old["id"]]
    assert found(key="unknown") == []
    (row,) = api.get("/api/v1/contexts", {"key": key_id}).json()["results"]
    assert (row["key"], row["model"], row["as_of"]) == (key_id, "gpt-4o", None)
    assert api.get("/api/v1/contexts").json()["results"][0]["as_of"] == OLD


BAD_FILTERS = [
    ("partition", "nonsense", "bad_segment"),
    ("created_after", "2026-01-01", "no_offset"),
    ("created_before", "tomorrow", "not_a_time"),
    ("key", "", "too_short"),
    ("key", "\x00", "null_character"),
    ("model", "\x00", "null_character"),
    ("exact", "yes", "not_a_boolean"),
    ("profile", "x", "unknown_field"),
    ("cursor", "x", "bad_cursor"),
]


def test_bad_filter_of_contexts_is_refused_by_name(api: APIClient) -> None:
    for name, value, code in BAD_FILTERS:
        assert_problem(api.get("/api/v1/contexts", {name: value}), 400, code, name)


def test_receipt_with_content_from_outside_is_hidden_from_a_key_with_a_partition(
    api: APIClient, confined: APIClient, tenant: Tenant
) -> None:
    """A key for more partitions also gets linked memories and summaries from there, as would readers of its receipt."""
    foreign = post_memory(api, "Sam lives in Porto.", partition="user=sam")
    own = post_memory(api, "Alex knows Sam.", partition="user=alex/topic=x", links=[{"target_id": foreign["id"]}])
    summary(api, "user=alex", "Alex is from Porto.")
    narrower = api_client(new_key(tenant, "read", "write", partition="user=alex/topic=x"))
    linked = ask(api, focus={"memory_id": own["id"]}, partition="user=alex")
    elsewhere = ask(api, focus={"memory_id": foreign["id"]}, partition="user=alex", include_summaries_at=[])
    above = ask(api, query="Alex", partition="user=alex/topic=x")
    for client, wider in ((confined, linked), (confined, elsewhere), (narrower, above)):
        assert "Porto" in wider["text"]
        for response in (
            client.get(f"{CONTEXT}/{wider['id']}"),
            client.post(f"{CONTEXT}/{wider['id']}/replay", {"mode": "recorded"}),
            client.post(f"{CONTEXT}/{wider['id']}/replay", {"mode": "today"}),
            client.post(f"{CONTEXT}/{wider['id']}/outcome", {"answer": "Porto"}),
            client.post("/api/v1/feedback", {"context_id": wider["id"], "feedback": "POSITIVE"}),
            client.post(f"{CONTEXT}/diff", {"query": "x", "since": {"context_id": wider["id"]}}),
            client.post(CONTEXT, {"query": "x", "stable_with": wider["id"]}),
        ):
            assert_problem(response, 404, "not_found")
        assert wider["id"] not in str(client.get("/api/v1/contexts").json())
    assert confined.get(f"{CONTEXT}/{above['id']}").status_code == 200
    narrow = ask(narrower, focus={"memory_id": own["id"]})
    assert narrower.get(f"{CONTEXT}/{narrow['id']}").json()["text"] == narrow["text"]
    plain = ask(api, query="Alex", partition="user=alex/topic=x", include_summaries_at=[])
    listed = narrower.get("/api/v1/contexts").json()["results"]
    assert [row["id"] for row in listed] == [plain["id"], narrow["id"]]
