"""Messages over REST: appended in order and unchanged, linked by call ids, searched, pinned, expanded."""

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import AuditEntry, Tenant
from memories.services.tokens import count_tokens
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import assert_problem, every_page
from tests.integration.session_helpers import (
    MESSAGES,
    SESSIONS,
    append,
    assistant,
    calling,
    open_session,
    put_in_state,
    read,
    tool_result_body,
    user,
)

LONG = "measured 20 °C\n" * 60


@pytest.fixture
def session(api: APIClient) -> dict[str, Any]:
    return open_session(api, user_id="alex", max_context_tokens=4000)


def post(api: APIClient, session: dict[str, Any], *messages: Any) -> Any:
    return api.post(f"{SESSIONS}/{session['id']}/messages", {"messages": list(messages)})


def listed(api: APIClient, session: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = api.get(f"{SESSIONS}/{session['id']}/messages", query).json()["results"]
    return rows


def test_messages_are_in_their_order_with_their_tokens(api: APIClient, session: dict[str, Any]) -> None:
    calls = calling("call_1", "call_2")
    response = post(
        api, session, user("How warm is it?", name="Alex"), calls, tool_result_body("call_2", LONG, name="search")
    )
    assert response.status_code == 201
    answer = response.json()
    rows = answer["results"]
    assert [(row["sequence"], row["role"], row["status"]) for row in rows] == [
        (0, "user", "created"),
        (1, "assistant", "created"),
        (2, "tool", "created"),
    ]
    texts = ["Alex\nHow warm is it?", json.dumps(calls["tool_calls"]), f"search\n{LONG}"]
    assert [row["tokens"] for row in rows] == [count_tokens(text, "o200k_base") for text in texts]
    assert rows[1]["tool_calls"] == calls["tool_calls"]
    assert answer["context_tokens"] == sum(row["tokens"] for row in rows)
    parts = read(api, session)["pressure_parts"]
    assert parts["messages"] >= answer["context_tokens"] + 4 * len(rows)
    assert answer["pressure"] == round(sum(parts.values()) / 4000, 4) == read(api, session)["pressure"]
    assert [row | {"status": "created"} for row in listed(api, session)] == rows
    append(api, session, tool_result_body("call_1"))
    assert [row["sequence"] for row in listed(api, session)] == [0, 1, 2, 3]
    assert read(api, session)["message_count"] == 4


def test_time_of_a_message_is_the_callers(api: APIClient, session: dict[str, Any]) -> None:
    (row,) = append(api, session, user("Hi", created_at="2026-05-08T15:56:00+02:00"))
    assert row["created_at"] == "2026-05-08T13:56:00Z"
    assert read(api, session)["last_message_at"] == row["recorded_at"]


BAD_MESSAGES: list[tuple[Any, str, str]] = [
    ({"role": "robot", "content": "x"}, "invalid_choice", "role"),
    ({"content": "x"}, "required", "role"),
    (user(""), "blank", "content"),
    ({"role": "user"}, "blank", "content"),
    (user(7), "not_text", "content"),
    (user("a\x00b"), "null_character", "content"),
    (user("é" * 131_073), "too_long", "content"),
    (user("x", created_at="2026-05-08T13:56:00"), "no_offset", "created_at"),
    (user("x", created_at="9990-05-08T13:56:00Z"), "too_far_ahead", "created_at"),
    (user("x", weight=1), "unknown_field", "weight"),
    (user("x", name="a\nb"), "bad_characters", "name"),
    (user("x", metadata={"a": "\x00"}), "null_character", "metadata"),
    (user("x", pinned=1), "not_a_boolean", "pinned"),
    (user("x", tool_calls=calling("c")["tool_calls"]), "only_the_assistant_calls", "tool_calls"),
    (user("x", tool_call_id="c"), "only_a_tool_answers", "tool_call_id"),
    ({"role": "tool", "content": "x"}, "required", "tool_call_id"),
    (tool_result_body("call_9"), "unknown_tool_call", "tool_call_id"),
    (assistant("", tool_calls=[]), "blank", "content"),
    (assistant("", tool_calls={}), "not_a_list", "tool_calls"),
    (assistant("", tool_calls=[{}]), "not_an_object", "tool_calls.0.function"),
    (
        assistant("", tool_calls=[{"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}]),
        "not_text",
        "tool_calls.0.function.arguments",
    ),
    (
        assistant("", tool_calls=[{"id": "", "type": "function", "function": {"name": "f", "arguments": ""}}]),
        "bad_text",
        "tool_calls.0.id",
    ),
    (
        assistant("", tool_calls=[{"id": "c", "type": "magic", "function": {"name": "f", "arguments": ""}}]),
        "invalid_choice",
        "tool_calls.0.type",
    ),
    (calling("c", "c"), "call_id_taken", "tool_calls.1.id"),
    (calling("c", arguments="\x00"), "null_character", "tool_calls.0.function.arguments"),
    ("hello", "not_an_object", ""),
]


def test_one_bad_message_keeps_all_out_and_is_named_by_its_place(api: APIClient, session: dict[str, Any]) -> None:
    append(api, session, user("before"))
    for message, code, field in BAD_MESSAGES:
        response = post(api, session, user("good"), message, user("good too"))
        assert_problem(response, 400, code, f"messages.1.{field}".rstrip("."))
    assert [row["content"] for row in listed(api, session)] == ["before"]
    assert read(api, session)["message_count"] == 1


@pytest.mark.parametrize("surrogate", [b'"\\ud800"', b'"a\\udfffb"'])
def test_lone_surrogate_is_refused(api: APIClient, session: dict[str, Any], surrogate: bytes) -> None:
    body = b'{"messages": [{"role": "user", "content": %b}]}' % surrogate
    response = api.post(f"{SESSIONS}/{session['id']}/messages", body, content_type="application/json")
    assert_problem(response, 400, "lone_surrogate", "messages.0.content")


@pytest.mark.parametrize("count", [0, 501])
def test_number_of_messages_is_bounded(api: APIClient, session: dict[str, Any], count: int) -> None:
    assert_problem(post(api, session, *[user("x")] * count), 400, "bad_length", "messages")


def test_five_hundred_messages_are_appended_in_a_constant_number_of_queries(
    api: APIClient, session: dict[str, Any], django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(25):
        rows = append(api, session, *[user(f"line {number}", source_id=f"s{number}") for number in range(500)])
    assert [row["sequence"] for row in rows] == list(range(500))


def test_result_answers_a_call_once_at_any_position(api: APIClient, session: dict[str, Any]) -> None:
    append(api, session, calling("call_1"))
    rows = append(api, session, tool_result_body("call_1"), calling("call_2"), tool_result_body("call_2"))
    assert [row["tool_call_id"] for row in rows] == ["call_1", "", "call_2"]
    again = post(api, session, user("x"), tool_result_body("call_1"))
    assert_problem(again, 400, "call_already_answered", "messages.1.tool_call_id")
    twice = post(api, session, calling("call_3"), tool_result_body("call_3"), tool_result_body("call_3"))
    assert_problem(twice, 400, "call_already_answered", "messages.2.tool_call_id")
    late = post(api, session, tool_result_body("call_4"), calling("call_4"))
    assert_problem(late, 400, "unknown_tool_call", "messages.0.tool_call_id")
    assert_problem(post(api, session, calling("call_1")), 400, "call_id_taken", "messages.0.tool_calls.0.id")


def test_calls_of_another_session_are_none_of_this_one(api: APIClient, session: dict[str, Any]) -> None:
    other = open_session(api)
    append(api, other, calling("call_1"))
    assert_problem(post(api, session, tool_result_body("call_1")), 400, "unknown_tool_call", "messages.0.tool_call_id")
    append(api, session, calling("call_1"))


def test_known_source_is_answered_unchanged(api: APIClient, session: dict[str, Any]) -> None:
    rows = [
        user("one", source_id="a"),
        calling("call_1") | {"source_id": "b"},
        tool_result_body("call_1", source_id="c"),
    ]
    first = append(api, session, *rows)
    before = read(api, session)
    response = post(api, session, *rows)
    assert response.status_code == 200
    again = response.json()["results"]
    assert again == [row | {"status": "existing"} for row in first]
    assert read(api, session) == before
    more = append(api, session, *rows, user("new", source_id="d"))
    assert [(row["sequence"], row["status"]) for row in more[-2:]] == [(2, "existing"), (3, "created")]


def test_repetition_inside_one_append_is_stored_once(api: APIClient, session: dict[str, Any]) -> None:
    rows = append(api, session, user("one", source_id="a"), user("two"), user("one", source_id="a"))
    assert [(row["sequence"], row["status"]) for row in rows] == [(0, "created"), (1, "created"), (0, "existing")]


def test_known_source_with_other_content_is_a_conflict(api: APIClient, session: dict[str, Any]) -> None:
    append(api, session, user("one", source_id="a"))
    response = post(api, session, user("new"), user("two", source_id="a"))
    assert_problem(response, 409, "source_id_taken", "messages.1.source_id")
    response = post(api, session, user("new", source_id="b"), user("newer", source_id="b"))
    assert_problem(response, 409, "source_id_taken", "messages.1.source_id")
    assert [row["content"] for row in listed(api, session)] == ["one"]


def test_append_with_one_idempotency_key_happens_once(api: APIClient, session: dict[str, Any]) -> None:
    url, once = f"{SESSIONS}/{session['id']}/messages", {"Idempotency-Key": "k"}
    first = api.post(url, {"messages": [user("x")]}, headers=once)
    assert api.post(url, {"messages": [user("x")]}, headers=once).json() == first.json()
    assert len(listed(api, session)) == 1


def test_list_filters_and_searches(api: APIClient, session: dict[str, Any], tenant: Tenant) -> None:
    rows = append(
        api, session, user("I baked two breads"), calling("c1"), tool_result_body("c1", "rye flour"), assistant("Good")
    )
    put_in_state(tenant, [rows[2]["id"]], "masked")
    put_in_state(tenant, [rows[0]["id"]], "compacted")

    def found(**query: Any) -> list[int]:
        return [row["sequence"] for row in listed(api, session, **query)]

    assert found() == [0, 1, 2, 3]
    assert found(q="bread") == [0]
    assert found(q="flour rye") == [2]
    assert found(q="-- ' | &") == []
    assert found(state="masked") == [2]
    assert found(role="assistant") == [1, 3]
    assert found(after="1") == [2, 3]
    assert found(after="1", role="tool", state="live") == []
    assert_problem(api.get(f"{SESSIONS}/{session['id']}/messages", {"role": "robot"}), 400, "invalid_choice", "role")
    masked = listed(api, session, state="masked")[0]
    assert (masked["content"], masked["archived_at"] is not None) == ("rye flour", True)


def test_pages_of_messages_show_each_once(api: APIClient, session: dict[str, Any]) -> None:
    append(api, session, *[user(f"line {number}") for number in range(7)])
    pages = every_page(api, f"{SESSIONS}/{session['id']}/messages?page_size=3")
    assert [[row["sequence"] for row in page] for page in pages] == [[0, 1, 2], [3, 4, 5], [6]]


def test_message_is_pinned_and_let_go(api: APIClient, session: dict[str, Any], tenant: Tenant) -> None:
    (row,) = append(api, session, user("Never call after six."))
    url = f"{MESSAGES}/{row['id']}"
    assert api.patch(url, {"pinned": True}).json()["pinned"] is True
    assert api.get(url).json()["pinned"] is True
    assert api.patch(url, {"pinned": False}).json()["pinned"] is False
    assert_problem(api.patch(url, {}), 400, "required", "pinned")
    assert_problem(api.patch(url, {"pinned": True, "content": "x"}), 400, "unknown_field", "content")
    put_in_state(tenant, [row["id"]], "compacted")
    assert_problem(api.patch(url, {"pinned": True}), 409, "compacted")
    with tenant_scope(tenant.pk):
        verbs = [entry.verb for entry in AuditEntry.objects.order_by("at") if entry.target_kind == "message"]
    assert verbs == ["append_messages", "pin_message", "read_text", "unpin_message"]


def test_masked_message_is_expanded_to_its_original(api: APIClient, session: dict[str, Any], tenant: Tenant) -> None:
    row = append(api, session, calling("c1"), tool_result_body("c1", LONG, name="thermometer"))[1]
    before = read(api, session)
    put_in_state(tenant, [row["id"]], "masked")
    masked = api.get(f"{MESSAGES}/{row['id']}").json()
    assert (masked["state"], masked["original_tool"], masked["content"]) == ("masked", "thermometer", LONG)
    assert masked["shown_tokens"] < masked["tokens"]
    assert read(api, session)["context_tokens"] < before["context_tokens"]
    expanded = api.post(f"{MESSAGES}/{row['id']}/expand").json()
    assert {**expanded, "status": "created"} == row
    assert read(api, session) == before
    assert api.post(f"{MESSAGES}/{row['id']}/expand").json() == expanded


def test_compacted_message_is_not_expanded_and_keeps_its_original(
    api: APIClient, session: dict[str, Any], tenant: Tenant
) -> None:
    (row,) = append(api, session, user("long ago"))
    put_in_state(tenant, [row["id"]], "compacted")
    assert_problem(api.post(f"{MESSAGES}/{row['id']}/expand"), 409, "compacted")
    original = api.get(f"{MESSAGES}/{row['id']}").json()
    assert (original["content"], original["state"], original["shown_tokens"]) == ("long ago", "compacted", 0)


def test_messages_of_a_closed_session_do_not_change(api: APIClient, session: dict[str, Any]) -> None:
    (row,) = append(api, session, user("x"))
    api.delete(f"{SESSIONS}/{session['id']}")
    assert_problem(api.patch(f"{MESSAGES}/{row['id']}", {"pinned": True}), 409, "session_closed")
    assert_problem(api.post(f"{MESSAGES}/{row['id']}/expand"), 409, "session_closed")
    assert api.get(f"{MESSAGES}/{row['id']}").status_code == 200
