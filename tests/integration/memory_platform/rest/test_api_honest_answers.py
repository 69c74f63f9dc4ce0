"""Errors and responses state the actual ranges, reasons and counts."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.compaction_helpers import COMPACTIONS, EVENTS, compact, full_session
from tests.integration.rest_helpers import CONTEXT, MEMORIES, SEARCH, assert_problem
from tests.integration.session_helpers import MESSAGES, SESSIONS, append, open_session, read, stored_messages, user
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def the_error(response: Any, code: str, field: str) -> str:
    errors = assert_problem(response, 400, code, field)["errors"]
    return str(next(entry["detail"] for entry in errors if entry["field"] == field))


@pytest.mark.parametrize("tokens", [0, -1, 10**9, 10**12])
def test_error_for_max_tokens_out_of_range_states_the_actual_range(api: APIClient, tokens: int) -> None:
    detail = "The number must be between 1 and 128,000."
    assert the_error(api.post(CONTEXT, {"max_tokens": tokens}), "out_of_range", "max_tokens") == detail
    small = open_session(api, model="gpt-4", max_context_tokens=4_000)
    response = api.post(f"{SESSIONS}/{small['id']}/context", {"max_tokens": tokens})
    assert the_error(response, "out_of_range", "max_tokens") == "The number must be between 1 and 8,192."
    body = {"max_tokens": tokens, "since": {"as_of": "2026-05-01T00:00:00Z"}}
    assert the_error(api.post(f"{CONTEXT}/diff", body), "out_of_range", "max_tokens") == detail


def test_impossible_budget_does_not_compact_first(api: APIClient) -> None:
    session = full_session(api)
    before = read(api, session)
    assert before["pressure"] > 0.8
    assert_problem(api.post(f"{SESSIONS}/{session['id']}/context", {"max_tokens": 10**9}), 400, "out_of_range")
    assert read(api, session) == before


def test_pending_compaction_is_shown_as_pending(admin: APIClient) -> None:
    started = compact(admin, full_session(admin), 202, wait=False)
    url = f"{COMPACTIONS}/{started['compaction_id']}/review"
    for action in ("approve", "reject", "rollback", "regenerate"):
        problem = assert_problem(admin.post(url, {"action": action}), 409, "pending")
        assert "Wait until it has finished" in problem["detail"]
    assert_problem(admin.post(f"{EVENTS}/{started['event_id']}/retry"), 409, "already_running")


def test_too_long_query_is_not_called_stored(api: APIClient) -> None:
    for url in (SEARCH, CONTEXT):
        assert "stored" not in the_error(api.post(url, {"query": "x" * 40_000}), "too_long", "query")


@pytest.mark.parametrize(
    ("filters", "operators"),
    [
        ({"created_at": {"gt": "2026-05-01T00:00:00Z"}}, "gte, lte, in"),
        ({"kind": {}}, "gte, lte, in"),
        ({"pinned": {"gte": True}}, "in"),
        ({"metadata.price": {"gte": 3}}, "in"),
    ],
)
def test_unknown_operator_lists_the_operators(api: APIClient, filters: dict[str, Any], operators: str) -> None:
    (name,) = filters
    detail = the_error(api.post(SEARCH, {"query": "x", "filters": filters}), "unknown_operator", f"filters.{name}")
    assert detail.endswith(f": {operators}.")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("memories", "GET, HEAD, OPTIONS, POST"),
        ("memories/search", "OPTIONS, POST"),
        ("profiles", "GET, HEAD, OPTIONS, POST"),
        ("memo", "GET, HEAD, OPTIONS, PUT"),
    ],
)
def test_options_answers_with_the_methods(api: APIClient, path: str, allowed: str) -> None:
    answer = api.options(f"/api/v1/{path}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert ", ".join(sorted(answer["Allow"].split(", "))) == allowed


def test_options_needs_a_key(db: None) -> None:
    assert_problem(APIClient().options(MEMORIES), 401, "key_missing")


def test_options_describes_the_address_and_no_row(other_tenant: Tenant) -> None:
    stranger = api_client(new_key(other_tenant, "read"))
    assert stranger.options(f"{MEMORIES}/00000000-0000-4000-8000-000000000000").status_code == 204


def test_compacted_message_cannot_be_expanded(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    compact(admin, session)
    gone = next(row for row in stored_messages(tenant, session["id"]) if row.state == "compacted")
    assert_problem(admin.post(f"{MESSAGES}/{gone.pk}/expand"), 409, "compacted")


def test_dry_run_counts_what_leaves(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin, lookups=3)
    for generation in (1, 2):
        shown = {row.pk for row in stored_messages(tenant, session["id"]) if row.state != "compacted"}
        dry = admin.post(f"{SESSIONS}/{session['id']}/compact", {"dry_run": True}).json()
        made = compact(admin, session)["compaction"]
        left = [row for row in stored_messages(tenant, session["id"]) if row.state == "compacted" and row.pk in shown]
        assert made["generation"] == generation
        assert dry["span"]["messages"] == dry["summarised"] == len(left)
        assert dry["span"]["tokens"] == sum(row.tokens for row in left)
        assert dry["summary_budget_tokens"] <= dry["summary_tokens_at_most"]
        assert dry["tokens_before"] - dry["tokens_leaving"] + dry["summary_tokens_at_most"] == dry["tokens_after"]
        assert dry["tokens_before"] - dry["tokens_leaving"] <= made["tokens_after"] <= dry["tokens_after"]
        append(
            admin, session, *[user(f"I sold lamp {each} to Ines in Faro for {each} EUR. " * 8) for each in range(30)]
        )


PLAIN_ERRORS = [
    ("memories", {"messages": []}, "min_length", "messages", "The list must have at least 1 entries."),
    ("memories", {"messages": "x"}, "not_a_list", "messages", "Must be a list."),
    ("memories", {"messages": None}, "null", "messages", "This field cannot be null."),
    ("memories/move", {"ids": [], "to": "a=b"}, "min_length", "ids", "The list must have at least 1 entries."),
    (
        "keys",
        {"name": "agent", "scopes": ["read"] * 9},
        *("max_length", "scopes", "The list must have at most 3 entries."),
    ),
    ("evaluations", {"corpus": "golden", "budgets": 5}, "not_a_list", "budgets", "Must be a list."),
    ("golden-questions", {"text": ""}, "too_short", "text", "At least one character is required."),
]


def test_errors_of_lists_and_lengths_are_in_plain_words(admin: APIClient) -> None:
    for path, body, code, field, detail in PLAIN_ERRORS:
        answer = admin.post(f"/api/v1/{path}", body, format="json")
        assert the_error(answer, code, field) == detail


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_parts_of_a_message_are_stored_as_one_text(api: APIClient) -> None:
    session = open_session(api)
    parts = [{"type": "text", "text": "What is this?"}, IMAGE, {"type": "input_audio", "input_audio": {"data": ""}}]
    body = {"role": "user", "content": parts, "source_id": "turn-1"}
    (made,) = append(api, session, body)
    assert made["content"] == "What is this?\n[image]\n[audio]"
    (again,) = append(api, session, body)
    assert (again["status"], again["id"]) == ("existing", made["id"])
    context = api.post(f"{SESSIONS}/{session['id']}/context", {"preview": True}).json()
    assert context["messages"][-1]["content"] == made["content"]


BAD_PARTS = [
    ([], "blank"),
    (["text"], "not_an_object"),
    ([{"type": "video_url", "video_url": {}}], "unknown_part"),
    ([{"type": ["text"], "text": "x"}], "unknown_part"),
    ([{"type": "text"}], "bad_part"),
    ([{"type": "text", "text": "x", "size": 1}], "bad_part"),
    ([{"type": "text", "text": 1}], "bad_part"),
    ([{"type": "image_url", "image_url": "https://example.com/a.png"}], "bad_part"),
    ([{"type": "text", "text": "a\x00b"}], "null_character"),
    ([{"type": "text", "text": "a\ud800b"}], "lone_surrogate"),
    ([{"type": "text", "text": "x"}] * 501, "too_many"),
    ({"type": "text", "text": "x"}, "not_text"),
]


def test_bad_part_is_named(api: APIClient) -> None:
    url = f"{SESSIONS}/{open_session(api)['id']}/messages"
    for content, code in BAD_PARTS:
        body = json.dumps({"messages": [{"role": "user", "content": content}]})
        answer = api.post(url, data=body, content_type="application/json")
        assert_problem(answer, 400, code, "messages.0.content")


def test_developer_is_a_role(api: APIClient) -> None:
    session = open_session(api)
    (made,) = append(api, session, {"role": "developer", "content": "Answer in Portuguese.\n[developer]"})
    assert made["role"] == "developer"
    url = f"{SESSIONS}/{session['id']}"
    assert [row["role"] for row in api.get(f"{url}/messages?role=developer").json()["results"]] == ["developer"]
    context = api.post(f"{url}/context", {"preview": True}).json()
    assert context["messages"][-1]["role"] == "developer"
    assert context["text"].startswith("[developer]\nAnswer")
    assert "\n\\[developer]" in context["text"]
