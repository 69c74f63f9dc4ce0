"""Blocks with their times, and the day before each memory in the text."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from context.services.rendering import RENDER_STYLES
from memories.services.tokens import count_tokens
from tests.integration.rest_helpers import CONTEXT, MEMORIES, assert_problem, post_memory
from tests.parsed_contexts import parse_context, parse_dated_context
from tests.users import api_client

QUESTION = "Where does Sam live?"
DAYS = {"Sam lives in Lisbon.": "2026-04-12", "Sam keeps 2026-01-01: the day of the move.": "2026-05-02"}


@pytest.fixture
def dated(api: APIClient) -> APIClient:
    """Two memories of known days."""
    post_memory(api, "Sam lives in Lisbon.", created_at="2026-04-12T23:30:00+00:00", partition="user=sam")
    post_memory(
        api,
        "Sam keeps 2026-01-01: the day of the move.",
        created_at="2026-05-01T23:30:00-02:00",
        partition="user=sam",
        pinned=True,
    )
    return api


def ask(client: APIClient, **options: Any) -> dict[str, Any]:
    response = client.post(CONTEXT, {"query": QUESTION, **options}, format="json")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_blocks_of_memories_have_their_time_and_valid_interval(dated: APIClient) -> None:
    blocks = {block["text"]: block for block in ask(dated)["blocks"]}
    lisbon = blocks["Sam lives in Lisbon."]
    assert lisbon["created_at"] == lisbon["valid_from"] == "2026-04-12T23:30:00Z"
    assert lisbon["valid_to"] is None
    assert blocks["Sam keeps 2026-01-01: the day of the move."]["created_at"] == "2026-05-02T01:30:00Z"


def test_edited_memory_gives_the_interval_of_its_version_and_a_receipt_what_was_known_then(dated: APIClient) -> None:
    first = ask(dated)
    [row] = [block for block in first["blocks"] if block["text"] == "Sam lives in Lisbon."]
    edited = dated.patch(f"{MEMORIES}/{row['anchor']['id']}", {"content": "Sam lives in Porto."}, format="json")
    assert edited.status_code == 200, edited.content
    history = dated.get(f"{MEMORIES}/{row['anchor']['id']}/history").json()["results"]
    [ended] = [version for version in history if version["version"] == 1]
    then = [block for block in ask(dated, as_of="2026-06-01T00:00:00Z")["blocks"] if "Lisbon" in block["text"]]
    assert [(block["valid_from"], block["valid_to"]) for block in then] == [(row["valid_from"], ended["valid_to"])]
    assert ended["valid_to"] is not None
    read = dated.get(f"{CONTEXT}/{first['id']}").json()
    assert read["is_verified"]
    assert read["blocks"] == first["blocks"]


def test_memo_and_summaries_have_the_time_they_were_written(dated: APIClient, admin_key: str) -> None:
    written = api_client(admin_key).put("/api/v1/memo", {"content": "You help Sam."}, format="json")
    assert written.status_code in {200, 201}, written.content
    answer = ask(dated, include_memory_days=True)
    memo = answer["blocks"][0]
    assert (memo["kind"], memo["valid_from"], memo["valid_to"]) == ("tenant_memo", None, None)
    assert memo["created_at"] is not None
    assert "\n# You help Sam.\n" in answer["text"]
    assert ask(dated)["blocks"][0] == memo | {"position": 0}


def test_days_precede_memories_within_the_exact_budget(dated: APIClient) -> None:
    for number in range(12):
        post_memory(dated, f"Sam lived in town {number} for {number + 2} years.", created_at="2025-12-24T12:00:00Z")
    for render in RENDER_STYLES:
        for packer in ["greedy", "elastic", "optimal"]:
            for max_tokens in (90, 150, 400):
                answer = ask(dated, include_memory_days=True, packer=packer, render=render, max_tokens=max_tokens)
                assert answer["budget"]["used"] == count_tokens(answer["text"], "o200k_base") <= max_tokens
                blocks = [(block["kind"], block["text"], block["created_at"][:10]) for block in answer["blocks"]]
                assert parse_dated_context(answer["text"], render) == blocks
                assert blocks
            assert {text: day for _, text, day in blocks}.items() >= DAYS.items()
            dropped = [row for row in answer["omitted"] if row["reason"] == "over_budget"]
            assert answer["budget"]["used"] > 250 or not dropped


def test_profile_decides_whether_days_are_given_and_a_request_may_differ(dated: APIClient, admin_key: str) -> None:
    admin = api_client(admin_key)
    made = admin.post("/api/v1/budget-profiles", {"name": "dated", "include_memory_days": True}, format="json")
    assert made.status_code == 201, made.content
    assert made.json()["include_memory_days"] is True
    assert admin.get("/api/v1/budget-profiles/default").json()["include_memory_days"] is False
    plain, with_days = ask(dated), ask(dated, budget_profile="dated")
    assert "\n- Sam lives in Lisbon.\n" in plain["text"]
    assert "\n- 2026-04-12: Sam lives in Lisbon.\n" in with_days["text"]
    assert [block["text"] for block in with_days["blocks"]] == [block["text"] for block in plain["blocks"]]
    assert ask(dated, budget_profile="dated", include_memory_days=False)["text"] == plain["text"]
    compared = dated.post(f"{CONTEXT}/diff", {"query": QUESTION, "profiles": ["default", "dated"]}, format="json")
    assert compared.json()["added"] == compared.json()["removed"] == []
    assert_problem(
        dated.post(CONTEXT, {"include_memory_days": "yes"}, format="json"), 400, "not_a_boolean", "include_memory_days"
    )


def test_replayed_context_has_the_days_it_was_given_with(dated: APIClient, admin_key: str) -> None:
    admin = api_client(admin_key)
    created = admin.post(
        "/api/v1/budget-profiles", {"name": "dated", "include_memory_days": True}, format="json"
    ).json()
    by_profile, by_request = ask(dated, budget_profile="dated"), ask(dated, include_memory_days=True)
    changed = admin.put(
        "/api/v1/budget-profiles/dated",
        {"include_memory_days": False},
        format="json",
        headers={"If-Match": f'"{created["version"]}"'},
    )
    assert changed.status_code == 200, changed.content
    for given in (by_profile, by_request):
        again = dated.post(f"{CONTEXT}/{given['id']}/replay", {"mode": "recorded"}, format="json").json()
        assert again["is_verified"]
        assert again["text"] == given["text"]
    today = dated.post(f"{CONTEXT}/{by_profile['id']}/replay", {"mode": "today"}, format="json").json()
    assert parse_context(today["text"])
    kept = dated.post(f"{CONTEXT}/{by_request['id']}/replay", {"mode": "today"}, format="json").json()
    assert kept["text"] == by_request["text"]


def test_memory_sent_back_with_its_day_is_still_recognised_as_recalled(dated: APIClient) -> None:
    ask(dated, include_memory_days=True, partition="user=sam")
    again = dated.post(MEMORIES, {"content": "Sam lives in Lisbon.", "partition": "user=sam/topic=home"}, format="json")
    assert (again.status_code, again.json()["reason"]) == (200, "recalled")


def test_replacement_that_was_recorded_later_is_not_known_to_an_earlier_context(dated: APIClient) -> None:
    before = ask(dated, partition="user=sam")
    (lisbon,) = [block for block in before["blocks"] if "Lisbon" in block["text"]]
    fields = {"created_at": "2026-05-03T00:00:00Z", "partition": "user=sam", "supersedes": [lisbon["anchor"]["id"]]}
    post_memory(dated, "Sam lives in Porto.", **fields)
    stored = dated.get(f"{CONTEXT}/{before['id']}").json()
    again = dated.post(f"{CONTEXT}/{before['id']}/replay", {"mode": "recorded"}).json()
    for answer in (stored, again):
        assert answer["text"] == before["text"]
        assert {block["valid_to"] for block in answer["blocks"]} == {None}
    then = ask(dated, partition="user=sam", as_of="2026-05-02T12:00:00Z")["blocks"]
    assert [block["valid_to"] for block in then if "Lisbon" in block["text"]] == ["2026-05-03T00:00:00Z"]
    assert not [block for block in ask(dated, partition="user=sam")["blocks"] if "Lisbon" in block["text"]]
