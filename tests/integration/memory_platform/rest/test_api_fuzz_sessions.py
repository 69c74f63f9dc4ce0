"""Any JSON to the endpoints of sessions and messages gets a success or a problem with a 4xx."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from tests.integration.memory_platform.rest.test_api_fuzz import NUMBERS, TEXTS, VALUES, bodies, check, fuzzed
from tests.integration.session_helpers import MESSAGES, SESSIONS, append, calling, open_session, read

SESSION = {
    "model": TEXTS | st.sampled_from(["gpt-4o", "claude-sonnet-4"]), "max_context_tokens": NUMBERS, "directive": TEXTS,
    "metadata": st.dictionaries(TEXTS, VALUES, max_size=3), "partition": TEXTS, "user_id": TEXTS,
}  # fmt: skip
CALL = st.fixed_dictionaries(
    {"id": TEXTS, "function": st.fixed_dictionaries({"name": TEXTS, "arguments": TEXTS}) | VALUES},
    optional={"type": st.just("function") | VALUES, "index": NUMBERS},
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool", "robot"])},
    optional={
        "content": TEXTS | VALUES, "name": TEXTS, "tool_calls": st.lists(CALL, max_size=3) | VALUES,
        "tool_call_id": TEXTS | st.just("call_1"), "pinned": st.booleans(), "source_id": TEXTS,
        "metadata": st.dictionaries(TEXTS, VALUES, max_size=2), "created_at": st.datetimes().map(str) | TEXTS,
    },
)  # fmt: skip
APPEND = {"messages": st.lists(MESSAGE | VALUES, max_size=4)}
CONTEXT_REQUEST = {
    "max_tokens": st.integers(1, 5000) | NUMBERS, "query": TEXTS, "budget_profile": TEXTS, "packer": TEXTS,
    "ordering": st.sampled_from(["top_down", "stable", ""]), "render": st.sampled_from(["markdown", "xml", "json"]),
    "include_summaries_at": st.lists(NUMBERS, max_size=3), "explain": st.booleans(), "preview": st.booleans(),
}  # fmt: skip


@pytest.mark.parametrize(
    ("url", "fields"),
    [("", SESSION), ("/{id}/messages", APPEND), ("/{id}/context", CONTEXT_REQUEST)],
    ids=["sessions", "messages", "context"],
)
def test_any_body_of_a_post_is_answered_or_refused(api: APIClient, url: str, fields: dict[str, Any]) -> None:
    session = open_session(api, user_id="alex")
    append(api, session, calling("call_1"))

    @fuzzed
    @given(body=bodies(fields))
    def post(body: Any) -> None:
        sent = json.dumps(body).encode()
        before = read(api, session)["message_count"]
        response = api.generic("POST", SESSIONS + url.format(**session), sent, content_type="application/json")
        check(response)
        if response.status_code >= 400:
            assert read(api, session)["message_count"] == before

    post()


@fuzzed
@given(name=st.sampled_from(["q", "state", "role", "after", "cursor", "page_size", "x"]), value=TEXTS)
def test_any_query_of_the_list_of_messages_is_answered_or_refused(api: APIClient, name: str, value: str) -> None:
    session = open_session(api)
    text = value.encode("utf-8", "replace").decode()
    check(api.get(f"{SESSIONS}/{session['id']}/messages", {name: text}))
    check(api.get(SESSIONS, {name: text}))


@fuzzed
@given(body=VALUES)
def test_any_change_of_a_message_is_answered_or_refused(api: APIClient, body: Any) -> None:
    (message,) = append(api, open_session(api), calling("call_1"))
    sent = json.dumps(body).encode()
    check(api.generic("PATCH", f"{MESSAGES}/{message['id']}", sent, content_type="application/json"))
