"""Feedback and outcomes over REST."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from context.feedback.serializers import AnswerUsageOutput, FeedbackOutput, RecordedVotesOutput
from memories.models import Tenant
from tests.integration.rest_helpers import (
    CONTEXT,
    MEMORIES,
    NOWHERE,
    assert_problem,
    every_page,
    post_memory,
    query_count,
)
from tests.users import api_client, new_key

FEEDBACK = "/api/v1/feedback"


@pytest.fixture
def memory(api: APIClient) -> dict[str, Any]:
    return post_memory(api, "Sam rents a turquoise houseboat in Porto.", partition="user=sam")


def score(client: APIClient, memory_id: str) -> float:
    value: float = client.get(f"{MEMORIES}/{memory_id}").json()["usefulness_score"]
    return value


def votes(client: APIClient, memory_id: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(f"{MEMORIES}/{memory_id}/feedback").json()["results"]
    return rows


@pytest.mark.parametrize(
    ("feedback", "weight", "expected"), [("POSITIVE", 1, 2 / 3), ("NEGATIVE", -1, 1 / 3), ("VERY_NEGATIVE", -3, 1 / 5)]
)
def test_vote_moves_usefulness_and_can_be_taken_back(
    api: APIClient, memory: dict[str, Any], feedback: str, weight: float, expected: float
) -> None:
    response = api.post(FEEDBACK, {"memory_id": memory["id"], "feedback": feedback, "reason": "as told"})
    assert response.status_code == 201
    given = response.json()
    assert set(given) == set(RecordedVotesOutput().fields)
    (vote,) = given["results"]
    assert set(vote) == set(FeedbackOutput().fields)
    assert (vote["memory_id"], vote["weight"], vote["kind"]) == (memory["id"], weight, "explicit")
    assert (vote["reason"], vote["by"]["kind"], vote["withdrawn_at"]) == ("as told", "key", None)
    assert given["usefulness_scores"] == [{"memory_id": memory["id"], "usefulness_score": pytest.approx(expected)}]
    assert score(api, memory["id"]) == pytest.approx(expected)
    assert votes(api, memory["id"]) == [vote]
    for _ in range(2):
        assert api.delete(f"{FEEDBACK}/{vote['id']}").status_code == 204
    assert score(api, memory["id"]) == 0.5
    assert votes(api, memory["id"])[0]["withdrawn_at"]


def test_vote_on_a_context_is_one_on_each_of_its_memories(api: APIClient, memory: dict[str, Any]) -> None:
    other = post_memory(api, "Sam owns a boat.", partition="user=sam")
    context = api.post(CONTEXT, {"query": "Sam's boat"}).json()
    vote = {"context_id": context["id"], "feedback": "POSITIVE"}
    given = api.post(FEEDBACK, vote).json()
    assert {row["memory_id"] for row in given["results"]} == {memory["id"], other["id"]}
    assert {row["context_id"] for row in given["results"]} == {context["id"]}
    again = api.post(FEEDBACK, vote)
    assert (again.status_code, again.json()["results"], len(again.json()["repeated"])) == (200, [], 2)
    assert score(api, memory["id"]) == pytest.approx(2 / 3)


BAD_VOTES = [
    ({}, "one_of", ""),
    ({"context_id": str(NOWHERE)}, "one_of", ""),
    ({"feedback": "GREAT"}, "invalid_choice", "feedback"),
    ({"feedback": "positive"}, "invalid_choice", "feedback"),
    ({"feedback": None}, "null", "feedback"),
    ({"reason": "x" * 501}, "too_long", "reason"),
    ({"reason": "a\x00"}, "null_character", "reason"),
    ({"memory_id": "x"}, "not_a_uuid", "memory_id"),
    ({"weight": 5}, "unknown_field", "weight"),
]


def test_bad_vote_is_refused_by_name(api: APIClient, memory: dict[str, Any]) -> None:
    for body, code, field in BAD_VOTES:
        whole = {"memory_id": memory["id"], "feedback": "POSITIVE"} if body else {"feedback": "POSITIVE"}
        assert_problem(api.post(FEEDBACK, {**whole, **body}), 400, code, field)
    assert votes(api, memory["id"]) == []


def test_vote_on_what_is_absent_is_not_found(api: APIClient, memory: dict[str, Any]) -> None:
    for name in ("memory_id", "context_id"):
        assert_problem(api.post(FEEDBACK, {name: str(NOWHERE), "feedback": "POSITIVE"}), 404, "not_found")
    api.delete(f"{MEMORIES}/{memory['id']}")
    assert_problem(api.post(FEEDBACK, {"memory_id": memory["id"], "feedback": "POSITIVE"}), 404, "archived")
    assert_problem(api.delete(f"{FEEDBACK}/{NOWHERE}"), 404, "not_found")
    assert_problem(api.get(f"{MEMORIES}/{NOWHERE}/feedback"), 404, "not_found")
    assert_problem(api.post(f"{CONTEXT}/{NOWHERE}/outcome", {"answer": "x"}), 404, "not_found")


def test_feedback_is_confined_and_takes_the_scope_write(api: APIClient, tenant: Tenant, memory: dict[str, Any]) -> None:
    context = api.post(CONTEXT, {"query": "boat"}).json()
    given = api.post(FEEDBACK, {"memory_id": memory["id"], "feedback": "POSITIVE"}).json()
    vote_url = f"{FEEDBACK}/{given['results'][0]['id']}"
    confined = api_client(new_key(tenant, "read", "write", partition="user=alex"))
    assert_problem(confined.post(FEEDBACK, {"memory_id": memory["id"], "feedback": "NEGATIVE"}), 404, "not_found")
    assert_problem(confined.post(FEEDBACK, {"context_id": context["id"], "feedback": "NEGATIVE"}), 404, "not_found")
    assert_problem(confined.post(f"{CONTEXT}/{context['id']}/outcome", {"answer": "boat"}), 404, "not_found")
    assert_problem(confined.delete(vote_url), 404, "not_found")
    assert_problem(confined.get(f"{MEMORIES}/{memory['id']}/feedback"), 404, "not_found")
    reader = api_client(new_key(tenant, "read"))
    assert_problem(reader.post(FEEDBACK, {"memory_id": memory["id"], "feedback": "NEGATIVE"}), 403, "scope_missing")
    assert_problem(reader.delete(vote_url), 403, "scope_missing")
    assert_problem(reader.post(f"{CONTEXT}/{context['id']}/outcome", {"answer": "boat"}), 403, "scope_missing")
    assert len(votes(reader, memory["id"])) == 1
    assert score(api, memory["id"]) == pytest.approx(2 / 3)


def test_votes_from_before_a_memory_came_within_reach_are_not_shown(
    api: APIClient, tenant: Tenant, memory: dict[str, Any]
) -> None:
    vote = {"memory_id": memory["id"], "feedback": "POSITIVE"}
    api.post(FEEDBACK, {**vote, "reason": "said of Sam"})
    assert api.patch(f"{MEMORIES}/{memory['id']}", {"partition": "user=kim"}, format="json").status_code == 200
    confined = api_client(new_key(tenant, "read", "write", partition="user=kim"))
    assert votes(confined, memory["id"]) == []
    confined.post(FEEDBACK, {**vote, "feedback": "NEGATIVE", "reason": "said of Kim"}, format="json")
    assert [row["reason"] for row in votes(confined, memory["id"])] == ["said of Kim"]
    assert len(votes(api, memory["id"])) == 2


def test_thirty_votes_of_one_key_count_as_one(api: APIClient, memory: dict[str, Any]) -> None:
    body = {"memory_id": memory["id"], "feedback": "POSITIVE"}
    answers = [api.post(FEEDBACK, body) for _ in range(30)]
    assert [answer.status_code for answer in answers] == [201] + [200] * 29
    assert score(api, memory["id"]) == pytest.approx(2 / 3)
    (vote,) = votes(api, memory["id"])
    assert (answers[-1].json()["results"], answers[-1].json()["repeated"]) == ([], [vote])


def test_later_vote_of_a_key_replaces_that_of_the_day_and_returns_it(
    api: APIClient, tenant: Tenant, memory: dict[str, Any]
) -> None:
    body = {"memory_id": memory["id"], "feedback": "POSITIVE"}
    (first,) = api.post(FEEDBACK, body).json()["results"]
    answer = api.post(FEEDBACK, {**body, "feedback": "VERY_NEGATIVE", "reason": "It sank."})
    assert answer.status_code == 200
    given = answer.json()
    assert (given["replaced"], given["repeated"]) == ([first], [])
    assert [(row["id"], row["weight"], row["reason"]) for row in given["results"]] == [(first["id"], -3, "It sank.")]
    assert given["usefulness_scores"] == [{"memory_id": memory["id"], "usefulness_score": pytest.approx(1 / 5)}]
    assert votes(api, memory["id"]) == given["results"]
    for _ in range(3):
        assert api_client(new_key(tenant, "write")).post(FEEDBACK, body).json()["replaced"] == []
    assert score(api, memory["id"]) == pytest.approx(4 / 8)
    assert api.delete(f"{FEEDBACK}/{first['id']}").status_code == 204
    assert score(api, memory["id"]) == pytest.approx(4 / 5)


def test_vote_on_a_context_replaces_the_earlier_ones_on_its_memories(api: APIClient, memory: dict[str, Any]) -> None:
    other = post_memory(api, "Sam owns a boat.", partition="user=sam")
    (first,) = api.post(FEEDBACK, {"memory_id": memory["id"], "feedback": "NEGATIVE"}).json()["results"]
    context = api.post(CONTEXT, {"query": "Sam's boat"}).json()
    answer = api.post(FEEDBACK, {"context_id": context["id"], "feedback": "POSITIVE"})
    assert (answer.status_code, answer.json()["replaced"]) == (201, [first])
    assert len(answer.json()["results"]) == 2
    assert [score(api, row["id"]) for row in (memory, other)] == [pytest.approx(2 / 3)] * 2


def test_repeated_post_is_one_vote_and_votes_are_paged(api: APIClient, tenant: Tenant, memory: dict[str, Any]) -> None:
    body, url = {"memory_id": memory["id"], "feedback": "POSITIVE"}, f"{MEMORIES}/{memory['id']}/feedback"
    first, again = (api.post(FEEDBACK, body, headers={"Idempotency-Key": "v"}) for _ in range(2))
    assert again.json() == first.json()
    few = query_count(api, url)
    for _ in range(4):
        api_client(new_key(tenant, "write")).post(FEEDBACK, body)
    assert query_count(api, url) == few
    assert [len(page) for page in every_page(api, f"{url}?page_size=2")] == [2, 2, 1]


def test_answer_that_uses_a_memory_counts_for_it_once_a_day(api: APIClient, memory: dict[str, Any]) -> None:
    other = post_memory(api, "Alex collects antique typewriters.", partition="user=alex")
    context = api.post(CONTEXT, {"query": "Where does Sam live?"}).json()
    url = f"{CONTEXT}/{context['id']}/outcome"
    response = api.post(url, {"answer": "Sam lives on a turquoise houseboat in Porto."})
    assert response.status_code == 200
    outcome = response.json()
    assert set(outcome) == set(AnswerUsageOutput().fields)
    assert {row["memory_id"]: row["is_used"] for row in outcome["memories"]} == {
        memory["id"]: True, other["id"]: False,
    }  # fmt: skip
    (vote,) = outcome["results"]
    assert (vote["kind"], vote["weight"], vote["memory_id"]) == ("implicit", 0.25, memory["id"])
    assert score(api, memory["id"]) == pytest.approx(1.25 / 2.25)
    assert api.post(url, {"answer": "A turquoise houseboat in Porto."}).json()["results"] == []
    assert score(api, memory["id"]) == pytest.approx(1.25 / 2.25)
    assert api.post(url, {"answer": "No idea."}).json()["results"] == []


BAD_OUTCOMES = [
    ({}, "required", "answer"),
    ({"answer": " "}, "blank", "answer"),
    ({"answer": 7}, "not_text", "answer"),
    ({"answer": "\ud800"}, "lone_surrogate", "answer"),
    ({"answer": "x" * (32 * 1024 + 1)}, "too_long", "answer"),
    ({"answer": "x", "used": []}, "unknown_field", "used"),
]


def test_bad_outcome_is_refused_by_name(api: APIClient, memory: dict[str, Any]) -> None:
    context = api.post(CONTEXT, {"query": "boat"}).json()
    for body, code, field in BAD_OUTCOMES:
        response = api.post(f"{CONTEXT}/{context['id']}/outcome", json.dumps(body), content_type="application/json")
        assert_problem(response, 400, code, field)
    assert votes(api, memory["id"]) == []


def test_vote_of_the_day_is_replaced_only_as_the_client_read_it(api: APIClient, memory: dict[str, Any]) -> None:
    vote = {"memory_id": memory["id"], "feedback": "POSITIVE"}
    for etag in ("*", '"0.5ca1e"'):
        assert_problem(api.post(FEEDBACK, vote, headers={"If-Match": etag}), 412, "stale_version", "If-Match")
    assert votes(api, memory["id"]) == []
    first = api.post(FEEDBACK, vote).json()["results"][0]["id"]
    etag = api.get(f"{FEEDBACK}/{first}")["ETag"]
    changed = {**vote, "feedback": "NEGATIVE"}
    assert api.post(FEEDBACK, changed, headers={"If-Match": etag}).json()["results"][0]["id"] == first
    for late in (vote, changed):
        assert_problem(api.post(FEEDBACK, late, headers={"If-Match": etag}), 412, "stale_version", "If-Match")
    assert votes(api, memory["id"])[0]["weight"] == -1
    assert api.post(FEEDBACK, vote, headers={"If-Match": "*"}).status_code == 200
    # of several votes, each must be named
    other = post_memory(api, "Sam owns a boat.", partition="user=sam")
    context = {"context_id": api.post(CONTEXT, {"query": "Sam's boat"}).json()["id"], "feedback": "POSITIVE"}
    api.post(FEEDBACK, {**vote, "memory_id": other["id"]})
    tags = [api.get(f"{FEEDBACK}/{votes(api, one['id'])[0]['id']}")["ETag"] for one in (memory, other)]
    assert_problem(api.post(FEEDBACK, context, headers={"If-Match": tags[0]}), 412, "stale_version", "If-Match")
    assert len(api.post(FEEDBACK, context, headers={"If-Match": ", ".join(tags)}).json()["results"]) == 2
