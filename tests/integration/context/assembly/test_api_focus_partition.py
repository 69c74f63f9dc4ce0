"""A focus on a memory or summary limits the context to its partition, unless the request names another one."""

from typing import Any
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.rest_helpers import CONTEXT, assert_problem, post_memory
from tests.users import api_client, new_key

QUESTION = "What is the plan for the garden?"
OWN = "Alex plans a garden with beans."
ABOVE = "Alex plans the garden for spring."
FOREIGN = "Sam plans a garden with roses."
SHARED = "The garden of the office needs a plan."


@pytest.fixture
def focus(api: APIClient) -> dict[str, Any]:
    """A memory of Alex, with pinned memories above, below and outside its partition."""
    post_memory(api, FOREIGN, partition="user=sam/topic=garden", pinned=True)
    post_memory(api, SHARED, pinned=True)
    post_memory(api, ABOVE, partition="user=alex", pinned=True)
    post_memory(api, "The beans of the garden are planned for May.", partition="user=alex/topic=garden/run=7")
    linked = post_memory(api, "Kim lends a spade.", partition="user=kim")
    return post_memory(
        api, OWN, partition="user=alex/topic=garden", links=[{"target_id": linked["id"], "kind": "about"}]
    )


def ask(client: APIClient, **options: Any) -> dict[str, Any]:
    response = client.post(CONTEXT, {"query": QUESTION, "include_tenant_memo": False} | options, format="json")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def texts(answer: dict[str, Any]) -> set[str]:
    return {block["text"] for block in answer["blocks"]}


WITHIN = {OWN, "The beans of the garden are planned for May.", "Kim lends a spade."}


def test_focus_on_a_memory_brings_its_partition_and_below_and_what_it_links_to(
    api: APIClient, focus: dict[str, Any]
) -> None:
    for extra in ({}, {"preview": True}, {"packer": "elastic"}, {"profile": "conversation-recall"}):
        assert texts(ask(api, focus={"memory_id": focus["id"]}, **extra)) == WITHIN
    assert texts(ask(api, query=None, focus={"memory_id": focus["id"]}, include_memories_top_k=9)) == WITHIN
    exact = ask(api, focus={"memory_id": focus["id"]}, exact=True)
    assert texts(exact) == {OWN, "Kim lends a spade."}


def test_focus_on_a_summary_brings_the_partition_of_the_summary(api: APIClient, focus: dict[str, Any]) -> None:
    url = f"/api/v1/partitions/{quote('user=alex/topic=garden', safe='')}/summaries"
    summary = api.put(url, {"content": "All about the garden of Alex.", "style": "compact"}).json()
    found = texts(ask(api, focus={"summary_id": summary["id"]}))
    assert found == {"All about the garden of Alex.", OWN, "The beans of the garden are planned for May."}


def test_named_partition_decides_also_a_wider_or_another_one(api: APIClient, focus: dict[str, Any]) -> None:
    by_memory = {"focus": {"memory_id": focus["id"]}}
    assert texts(ask(api, **by_memory, partition="user=alex")) == WITHIN | {ABOVE}
    assert texts(ask(api, **by_memory, partition="")) == WITHIN | {ABOVE, FOREIGN, SHARED}
    assert texts(ask(api, **by_memory, partition="user=sam")) == {OWN, "Kim lends a spade.", FOREIGN}
    both = {"focus": {"partition": "user=alex"}, "partition": ""}
    assert_problem(api.post(CONTEXT, both, format="json"), 400, "given_twice", "focus.partition")


def test_shorthand_names_the_ancestor_of_the_focus_and_never_another_users_partition(
    api: APIClient, focus: dict[str, Any]
) -> None:
    by_memory = {"focus": {"memory_id": focus["id"]}}
    assert texts(ask(api, **by_memory, user_id="alex")) == WITHIN | {ABOVE}
    assert texts(ask(api, **by_memory, user_id="sam")) == {OWN, "Kim lends a spade."}
    post_memory(api, "Sam also plans the garden of run 7.", partition="user=sam/run=7", pinned=True)
    assert texts(ask(api, **by_memory, run_id="7")) == WITHIN


def test_key_with_a_partition_stays_within_it_and_may_name_it(
    api: APIClient, tenant: Tenant, focus: dict[str, Any]
) -> None:
    confined = api_client(new_key(tenant, "read", "write", partition="user=alex"))
    by_memory = {"focus": {"memory_id": focus["id"]}}
    own = WITHIN - {"Kim lends a spade."}
    assert texts(ask(confined, **by_memory)) == own
    assert texts(ask(confined, **by_memory, partition="user=alex")) == own | {ABOVE}
    narrow = api_client(new_key(tenant, "read", "write", partition="user=alex/topic=garden"))
    assert texts(ask(narrow, **by_memory, user_id="alex")) == own
    assert_problem(
        confined.post(CONTEXT, {"partition": "", **by_memory}, format="json"), 403, "partition_forbidden", "partition"
    )


@pytest.mark.parametrize("named", [{}, {"partition": ""}, {"partition": "user=alex"}, {"user_id": "alex"}])
def test_replays_and_differences_of_a_focus_read_the_same_partition(
    api: APIClient, focus: dict[str, Any], named: dict[str, str]
) -> None:
    options = {"query": QUESTION, "focus": {"memory_id": focus["id"]}, **named}
    given = ask(api, **options)
    for mode in ("recorded", "today"):
        again = api.post(f"{CONTEXT}/{given['id']}/replay", {"mode": mode}, format="json").json()
        assert texts(again) == texts(given)
    receipt = api.get(f"{CONTEXT}/{given['id']}").json()
    assert receipt["request"]["partition"] == {"user_id": "user=alex"}.get(
        next(iter(named), ""), named.get("partition", "user=alex/topic=garden")
    )
    api.post("/api/v1/snapshots", {"name": "now"}, format="json")
    for since in ({"context_id": given["id"]}, {"snapshot": "now"}):
        answer = api.post(f"{CONTEXT}/diff", {**options, "since": since}, format="json")
        assert answer.status_code in {200, 404}, answer.content
        if answer.status_code == 200:
            assert answer.json()["removed"] == []


def test_receipt_of_a_focus_stays_unreadable_for_keys_with_less_reach(
    api: APIClient, tenant: Tenant, focus: dict[str, Any]
) -> None:
    given = ask(api, focus={"memory_id": focus["id"]})
    assert "Kim lends a spade." in texts(given)
    confined = api_client(new_key(tenant, "read", partition="user=alex"))
    assert_problem(confined.get(f"{CONTEXT}/{given['id']}"), 404, "not_found")
    listed = api.get("/api/v1/contexts", {"partition": "user=alex"}).json()["results"]
    assert [row["id"] for row in listed] == [given["id"]]
