"""Sessions over REST: opened, listed, changed, closed, restored, and hidden from other tenants."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import AuditEntry, Tenant
from memories.services.tokens import count_tokens
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import NOWHERE, assert_problem, every_page, query_count
from tests.integration.session_helpers import SESSIONS, append, calling, open_session, read, tool_result_body, user
from tests.users import api_client, new_key

DIRECTIVE = "You plan meetings."


def test_session_is_opened_with_the_defaults_of_its_model(api: APIClient) -> None:
    session = open_session(api, user_id="alex", directive=DIRECTIVE, metadata={"channel": "chat"})
    assert (session["model"], session["max_context_tokens"], session["partition"]) == ("gpt-4o", 128_000, "user=alex")
    assert session["context_tokens"] == count_tokens(DIRECTIVE, "o200k_base")
    directive = session["context_tokens"]
    parts = {"messages": 4, "directive": directive, "summary": 0, "memories": 32_000 - 4_096, "reply": 4_096}
    assert session["pressure_parts"] == parts
    assert session["pressure"] == round((directive + 4 + 32_000) / 128_000, 4)
    assert (session["state"], session["message_count"], session["generation"]) == ("open", 0, 0)
    assert read(api, session) == session


def test_location_names_the_session(api: APIClient) -> None:
    response = api.post(SESSIONS, {})
    assert api.get(response["Location"]).json() == response.json()


BAD_SESSIONS = [
    ({"max_context_tokens": 255}, "out_of_range", "max_context_tokens"),
    ({"max_context_tokens": "9000"}, "not_an_integer", "max_context_tokens"),
    ({"model": ""}, "too_short", "model"),
    ({"model": " "}, "bad_name", "model"),
    ({"directive": "a\x00b"}, "null_character", "directive"),
    ({"directive": "é" * 131_073}, "too_long", "directive"),
    ({"metadata": []}, "not_an_object", "metadata"),
    ({"partition": "user=alex", "user_id": "alex"}, "partition_given_twice", "partition"),
    ({"tenant": "x"}, "unknown_field", "tenant"),
]


def test_what_cannot_be_a_session_is_refused_by_field(api: APIClient) -> None:
    for fields, code, field in BAD_SESSIONS:
        assert_problem(api.post(SESSIONS, fields), 400, code, field)
    assert api.get(SESSIONS).json()["results"] == []


def test_opening_twice_with_one_idempotency_key_opens_once(api: APIClient) -> None:
    once = {"Idempotency-Key": "k"}
    first = api.post(SESSIONS, {"user_id": "alex"}, headers=once)
    assert api.post(SESSIONS, {"user_id": "alex"}, headers=once).json() == first.json()
    assert len(api.get(SESSIONS).json()["results"]) == 1


def test_change_of_the_directive_changes_the_pressure(api: APIClient) -> None:
    session = open_session(api, max_context_tokens=1000)
    append(api, session, user("Hello there"))
    before = read(api, session)["context_tokens"]
    changed = api.patch(f"{SESSIONS}/{session['id']}", {"directive": DIRECTIVE, "metadata": {"a": 1}}).json()
    assert changed["context_tokens"] == before + count_tokens(DIRECTIVE, "o200k_base")
    assert changed["pressure"] == sum(changed["pressure_parts"].values()) / 1000 > 0.25
    assert changed["metadata"] == {"a": 1}


def test_change_of_the_model_counts_every_message_again(api: APIClient) -> None:
    session = open_session(api, directive=DIRECTIVE)
    texts = ["Straße und Übergrößen für Jürgen", "日本語のテキストはトークンが多い"]
    append(api, session, *[user(text) for text in texts], calling("call_1"), tool_result_body("call_1", "größer"))
    url = f"{SESSIONS}/{session['id']}"
    changed = api.patch(url, {"model": "gpt-4"}).json()
    rows = api.get(f"{url}/messages").json()["results"]
    assert [row["tokens"] for row in rows[:2]] == [count_tokens(text, "cl100k_base") for text in texts]
    assert changed["context_tokens"] == count_tokens(DIRECTIVE, "cl100k_base") + sum(row["tokens"] for row in rows)
    assert (
        changed["max_context_tokens"] == 8192
    )  # it was counted for the former model, and is now counted for the new one
    assert api.patch(url, {"max_context_tokens": 4000, "model": "gpt-4o"}).json()["max_context_tokens"] == 4000
    assert api.patch(url, {"max_context_tokens": None}).json()["max_context_tokens"] == 128_000


@pytest.mark.parametrize("changes", [{"partition": "user=sam"}, {"context_tokens": 1}, {"id": str(NOWHERE)}])
def test_what_cannot_change_is_an_unknown_field(api: APIClient, changes: dict[str, Any]) -> None:
    session = open_session(api)
    assert_problem(api.patch(f"{SESSIONS}/{session['id']}", changes), 400, "unknown_field", next(iter(changes)))


def test_closed_session_is_not_found_until_it_is_restored(api: APIClient) -> None:
    session = open_session(api)
    append(api, session, user("Hello"))
    url = f"{SESSIONS}/{session['id']}"
    assert [api.delete(url).status_code for _ in range(2)] == [204, 204]
    assert_problem(api.get(url), 404, "session_closed")
    assert_problem(api.patch(url, {"directive": "x"}), 404, "session_closed")
    assert_problem(api.post(f"{url}/messages", {"messages": [user("x")]}), 404, "session_closed")
    assert len(api.get(f"{url}/messages").json()["results"]) == 1
    assert api.get(SESSIONS).json()["results"] == []
    (closed,) = api.get(SESSIONS, {"state": "closed"}).json()["results"]
    assert (closed["state"], closed["closed_at"] is not None) == ("closed", True)
    assert api.post(f"{url}/restore").json()["state"] == "open"
    assert api.post(f"{url}/restore").status_code == 200
    assert read(api, session)["closed_at"] is None


def test_list_is_filtered_by_place_state_and_pressure(api: APIClient) -> None:
    full = open_session(api, user_id="alex", max_context_tokens=256, directive="word " * 200)
    low = open_session(api, user_id="alex", agent_id="planner")
    sam = open_session(api, user_id="sam")

    def ids(**query: Any) -> set[str]:
        return {row["id"] for row in api.get(SESSIONS, query).json()["results"]}

    assert ids() == {full["id"], low["id"], sam["id"]}
    assert ids(partition="user=alex") == {full["id"], low["id"]}
    assert ids(partition="user=alex", exact="true") == {full["id"]}
    assert ids(agent_id="planner") == {low["id"]}
    assert ids(min_pressure="0.7") == {full["id"]}
    assert ids(min_pressure="0") == {full["id"], low["id"], sam["id"]}
    assert ids(state="all") == ids()
    assert_problem(api.get(SESSIONS, {"min_pressure": "much"}), 400, "not_a_number", "min_pressure")
    assert_problem(api.get(SESSIONS, {"min_pressure": "nan"}), 400, "not_finite", "min_pressure")
    assert_problem(api.get(SESSIONS, {"state": "asleep"}), 400, "invalid_choice", "state")


@pytest.mark.parametrize("ordering", ["-created_at", "created_at", "pressure", "-pressure"])
def test_pages_forth_and_back_show_every_session_once(api: APIClient, ordering: str) -> None:
    for words in (3, 1, 2, 2, 0, 0, 1):
        open_session(api, directive="word " * words)
    whole = api.get(SESSIONS, {"ordering": ordering}).json()["results"]
    pages = every_page(api, f"{SESSIONS}?page_size=3&ordering={ordering}")
    assert [row for page in pages for row in page] == whole
    assert [len(page) for page in pages] == [3, 3, 1]


def test_query_count_of_the_list_does_not_grow(api: APIClient) -> None:
    open_session(api)
    few = query_count(api, SESSIONS)
    for _ in range(5):
        open_session(api, user_id="alex")
    assert query_count(api, SESSIONS) == few


def test_key_with_a_partition_reaches_only_what_lies_within(api: APIClient, tenant: Tenant) -> None:
    own, foreign = open_session(api, user_id="alex"), open_session(api, user_id="sam")
    (message,) = append(api, foreign, user("secret"))
    confined = api_client(new_key(tenant, "read", "write", partition="user=alex"))
    url = f"{SESSIONS}/{foreign['id']}"
    assert [row["id"] for row in confined.get(SESSIONS).json()["results"]] == [own["id"]]
    for response in (
        confined.get(url),
        confined.patch(url, {"directive": "x"}),
        confined.delete(url),
        confined.post(f"{url}/restore"),
        confined.get(f"{url}/messages"),
        confined.post(f"{url}/messages", {"messages": [user("x")]}),
        confined.get(f"/api/v1/messages/{message['id']}"),
        confined.patch(f"/api/v1/messages/{message['id']}", {"pinned": True}),
        confined.post(f"/api/v1/messages/{message['id']}/expand"),
    ):
        assert_problem(response, 404, "not_found")
        assert "secret" not in response.content.decode()
    assert_problem(confined.post(SESSIONS, {"user_id": "sam"}), 403, "partition_forbidden")
    assert_problem(confined.get(SESSIONS, {"partition": "user=sam"}), 403, "partition_forbidden")
    assert open_session(confined)["partition"] == "user=alex"


def test_reading_key_reads_and_writes_nothing(api: APIClient, tenant: Tenant) -> None:
    session = open_session(api)
    (message,) = append(api, session, user("Hello"))
    reader = api_client(new_key(tenant, "read"))
    url = f"{SESSIONS}/{session['id']}"
    assert reader.get(url).status_code == reader.get(f"{url}/messages").status_code == 200
    for response in (
        reader.post(SESSIONS, {}),
        reader.patch(url, {}),
        reader.delete(url),
        reader.post(f"{url}/messages", {"messages": [user("x")]}),
        reader.post(f"/api/v1/messages/{message['id']}/expand"),
    ):
        assert_problem(response, 403, "scope_missing")


def test_every_verb_leaves_an_audit_row_without_text(api: APIClient, tenant: Tenant) -> None:
    session = open_session(api, directive="secret directive")
    url = f"{SESSIONS}/{session['id']}"
    append(api, session, user("secret text"))
    api.patch(url, {"directive": "another secret"})
    api.delete(url)
    api.post(f"{url}/restore")
    with tenant_scope(tenant.pk):
        rows = [row for row in AuditEntry.objects.order_by("at") if row.target_kind in {"session", "message"}]
    verbs = ["create_session", "append_messages", "update_session", "close_session", "restore_session"]
    assert [row.verb for row in rows] == verbs
    assert rows[2].fields == ["directive"]
    assert "secret" not in str([vars(row) for row in rows])
