"""Compaction of a session over REST: masking, summary, journal, retention check and roll-back."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from compaction.models import Message
from compaction.pipeline.drafting import JOURNAL_SHARE
from compaction.services.pipeline.masking import PLACEHOLDER
from memories.models import AuditEntry, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.compaction_helpers import (
    COMPACTIONS,
    EVENTS,
    compact,
    conversation,
    full_session,
    live_memories,
    message_texts,
    review,
    set_policy,
    shown,
    stored_compactions,
    tool_lookup_pair,
)
from tests.integration.rest_helpers import NOWHERE, assert_problem
from tests.integration.session_helpers import append, open_session, read, stored_messages, user
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def test_session_shrinks_below_its_target_and_reports_what_is_kept(api: APIClient, tenant: Tenant) -> None:
    session = full_session(api)
    before = read(api, session)
    assert before["pressure"] > 0.7
    answer = compact(api, session)
    assert answer["state"] == "applied"
    made = answer["compaction"]
    after = read(api, session)
    assert after["pressure"] < 0.7
    assert made["tokens_after"] == after["context_tokens"] < made["tokens_before"]
    assert made["generation"] == 1
    assert made["summariser"] == "extractive"
    assert made["retention"]["share"] >= 0.85
    assert made["summary_token_count"] < made["original_token_count"]
    messages = {str(message.pk): message for message in stored_messages(tenant, session["id"])}
    assert made["statements"]
    for statement in made["statements"]:
        assert statement["message_ids"]
        assert all(messages[each].state == "compacted" for each in statement["message_ids"])
    assert set(made["allowed_actions"]) >= {"edit", "rollback"}


def order(number: int) -> dict[str, Any]:
    """A message of one sentence that is certainly worth keeping."""
    place = ("Lisbon", "Porto", "Braga", "Faro", "Evora")[number % 5]
    text = f"Order MV-{2_000 + number} for customer{number}@example.com costs {90 + number} EUR and must reach {place}."
    return user(text, name="Alex")


def test_summary_has_the_specified_format(api: APIClient, tenant: Tenant) -> None:
    set_policy(tenant, summary_share=2 * JOURNAL_SHARE, retention_floor=0.0)  # it says more than the journal stores
    session = open_session(api, max_context_tokens=4_000)
    append(api, session, *map(order, range(100)))
    made = compact(api, session)["compaction"]
    with tenant_scope(tenant.pk):
        message = Message.objects.for_tenant(tenant.pk).get(compaction_id=made["id"])
    assert message.role == "system"
    assert message.sequence is None
    assert message.content == f"[CONTEXT SUMMARY]\n{made['summary']}"
    expected = {
        "type": "compaction",
        "compacted_count": made["compacted_count"],
        "compacted_at": message.created_at.isoformat(),
        "original_token_count": made["original_token_count"],
        "summary_token_count": made["summary_token_count"],
        "prompt_version": 0,
        "model": "",
        "generation": 1,
    }
    assert {name: message.metadata[name] for name in expected} == expected
    (summary,) = live_memories(tenant, "context_synthesis")
    stored = {memory.content for memory in live_memories(tenant, "journal")}
    unstored = [one["text"].partition(": ")[2] for one in made["statements"] if one["text"] not in stored]
    assert summary.kind == "synthesis"
    assert unstored
    assert stored
    assert all(text in summary.content for text in unstored)
    assert not any(text.partition(": ")[2] in summary.content for text in stored), "a sentence is stored twice"
    assert summary.metadata["session_id"] == session["id"]


def test_journal_is_linked_to_its_messages_and_withdrawn_by_rolling_back(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin, user_id="alex")
    before = shown(tenant, session["id"])
    made = compact(admin, session)["compaction"]
    journal = live_memories(tenant, "journal")
    stored = {entry["memory_id"] for entry in made["journal"] if entry["status"] == "stored"}
    assert {str(memory.pk) for memory in journal} == stored
    for memory in journal:
        assert memory.kind == "synthesis"
        assert memory.partition_path == "user=alex"
        assert memory.metadata["session_id"] == session["id"]
        assert memory.metadata["compaction_id"] == made["id"]
        assert memory.metadata["message_ids"]
    back = review(admin, made, "rollback", reason="Too short.")
    assert back["state"] == "rolled_back"
    assert back["decision_reason"] == "Too short."
    assert back["decided_by"]
    assert live_memories(tenant) == []
    assert shown(tenant, session["id"]) == before


def test_masking_alone_is_enough_when_it_reaches_the_target(admin: APIClient, tenant: Tenant) -> None:
    session = open_session(admin, max_context_tokens=8_000)
    for number in range(4):
        append(admin, session, *tool_lookup_pair(number, size=2_400))
    append(admin, session, *conversation(10))
    before = shown(tenant, session["id"])
    assert read(admin, session)["pressure"] > 0.7
    dry = admin.post(f"/api/v1/sessions/{session['id']}/compact", {"dry_run": True}).json()
    assert (dry["masked"], dry["summarised"], dry["span"]) == (4, 0, None)
    made = compact(admin, session)["compaction"]
    assert (made["summary"], made["masked_count"], made["state"]) == (None, 4, "applied")
    masked = [message for message in stored_messages(tenant, session["id"]) if message.state == "masked"]
    assert [message.original_tool for message in masked] == ["find_delivery"] * 4
    assert all(message.masked_at for message in masked)
    assert message_texts(shown(tenant, session["id"])).count(PLACEHOLDER) == 4
    assert live_memories(tenant) == []
    assert read(admin, session)["pressure"] < 0.7
    expanded = admin.post(f"/api/v1/messages/{masked[0].pk}/expand").json()
    assert expanded["content"] == masked[0].content
    review(admin, made, "rollback")
    assert shown(tenant, session["id"]) == before


def test_dry_run_reports_span_and_tokens_and_writes_nothing(api: APIClient, tenant: Tenant) -> None:
    session = full_session(api, lookups=2)
    before = shown(tenant, session["id"])
    response = api.post(f"/api/v1/sessions/{session['id']}/compact", {"dry_run": True})
    assert response.status_code == 200
    dry_run = response.json()
    assert dry_run["span"]["first_sequence"] == 0
    assert dry_run["span"]["messages"] == dry_run["summarised"] > 0
    assert dry_run["tokens_after"] < dry_run["tokens_before"] == before[0][1]
    assert shown(tenant, session["id"]) == before
    assert stored_compactions(tenant) == []


def test_request_returns_an_event_that_shows_its_progress(api: APIClient) -> None:
    session = full_session(api)
    started = compact(api, session, 202, wait=False)
    event = api.get(f"{EVENTS}/{started['event_id']}").json()
    assert (event["state"], event["kind"], event["session_id"]) == ("queued", "compaction", session["id"])
    assert event["compaction_id"] == started["compaction_id"]
    assert api.get(f"{COMPACTIONS}/{started['compaction_id']}").json()["state"] == "pending"
    assert_problem(api.post(f"/api/v1/sessions/{session['id']}/compact", {}), 409, "already_running")


def test_session_without_anything_to_compact_shows_the_reason(api: APIClient) -> None:
    session = open_session(api, max_context_tokens=8_000)
    append(api, session, user("Hello."))
    assert_problem(api.post(f"/api/v1/sessions/{session['id']}/compact", {"wait": True}), 409, "nothing_to_compact")
    dry_run = api.post(f"/api/v1/sessions/{session['id']}/compact", {"dry_run": True}).json()
    assert (dry_run["span"], dry_run["masked"], dry_run["reason"]) == (None, 0, "nothing_outside_window")


def test_later_compaction_takes_earlier_statements_along(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    states = [shown(tenant, session["id"])]
    made: list[dict[str, Any]] = []
    for generation in (1, 2, 3):
        made.append(compact(admin, session)["compaction"])
        assert made[-1]["generation"] == generation
        states.append(shown(tenant, session["id"]))
        append(admin, session, *conversation(20, start=100 * generation))
        states.append(shown(tenant, session["id"]))
    assert any(statement["is_from_earlier"] for statement in made[1]["statements"])
    codes = [{warning["code"] for warning in each["warnings"]} for each in made]
    assert "accuracy_degrades" not in codes[0] | codes[1]
    assert "accuracy_degrades" in codes[2]
    assert made[1]["previous"] == made[0]["id"]
    assert_problem(admin.post(f"{COMPACTIONS}/{made[0]['id']}/review", {"action": "rollback"}), 409, "not_latest")
    assert "rollback" not in admin.get(f"{COMPACTIONS}/{made[0]['id']}").json()["allowed_actions"]
    for each in reversed(made):
        review(admin, each, "rollback")
    assert live_memories(tenant) == []
    assert {message.state for message in stored_messages(tenant, session["id"])} == {"live"}


def test_statement_that_its_messages_do_not_support_is_dropped_and_reported(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    made = compact(admin, session)["compaction"]
    with tenant_scope(tenant.pk):
        row = stored_compactions(tenant)[0]
        row.statements[0]["text"] = "Zebras guard the vault beneath Antarctica."
        row.save()
    append(admin, session, *conversation(20, start=100))
    again = compact(admin, session)["compaction"]
    assert "statements_dropped" in {warning["code"] for warning in again["warnings"]}
    assert "Zebras" not in again["summary"]
    assert made["generation"] == 1


def test_audit_log_names_who_requested_and_who_decided(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin)
    made = compact(admin, session)["compaction"]
    review(admin, made, "rollback")
    with tenant_scope(tenant.pk):
        rows = AuditEntry.objects.for_tenant(tenant.pk).filter(target_ids__contains=[made["id"]])
        kinds = {row.verb: row.actor_kind for row in rows}
        assert kinds == {"request_compaction": "key", "apply_compaction": "system", "roll_back_compaction": "key"}


def test_keys_reach_only_sessions_in_their_partition(api: APIClient, tenant: Tenant) -> None:
    session = full_session(api, user_id="sam")
    made = compact(api, session)
    confined = api_client(new_key(tenant, "read", "write", "admin", partition="user=alex"))
    assert confined.get(COMPACTIONS).json()["results"] == []
    for method, url, body in (
        ("post", f"/api/v1/sessions/{session['id']}/compact", {}),
        ("get", f"/api/v1/sessions/{session['id']}/compactions", {}),
        ("get", f"{COMPACTIONS}/{made['compaction_id']}", {}),
        ("post", f"{COMPACTIONS}/{made['compaction_id']}/review", {"action": "rollback"}),
        ("get", f"{EVENTS}/{made['event_id']}", {}),
        ("post", f"{EVENTS}/{made['event_id']}/retry", {}),
    ):
        assert_problem(getattr(confined, method)(url, body), 404, "not_found")
    own = api_client(new_key(tenant, "read", "write", "admin", partition="user=sam"))
    assert [row["id"] for row in own.get(COMPACTIONS).json()["results"]] == [made["compaction_id"]]
    assert own.get(f"{EVENTS}/{made['event_id']}").json()["partition"] == "user=sam"


def test_review_takes_the_scope_admin_and_its_own_fields(api: APIClient, admin: APIClient) -> None:
    session = full_session(api)
    made = compact(api, session)["compaction"]
    url = f"{COMPACTIONS}/{made['id']}/review"
    assert_problem(api.post(url, {"action": "rollback"}), 403, "scope_missing")
    for body, code, field in (
        ({}, "required", "action"),
        ({"action": "burn"}, "invalid_choice", "action"),
        ({"action": "edit"}, "required", "text"),
        ({"action": "rollback", "text": "x"}, "unexpected", "text"),
        ({"action": "rollback", "why": "x"}, "unknown_field", "why"),
        ({"action": "edit", "text": ""}, "too_short", "text"),
    ):
        assert_problem(admin.post(url, body), 400, code, field)
    assert_problem(admin.post(f"{COMPACTIONS}/{NOWHERE}/review", {"action": "approve"}), 404, "not_found")
    assert_problem(admin.post(url, {"action": "approve"}), 409, "already_decided")


def test_lists_are_filtered_by_state(api: APIClient) -> None:
    session = full_session(api)
    made = compact(api, session)["compaction"]
    for url in (COMPACTIONS, f"/api/v1/sessions/{session['id']}/compactions"):
        assert [row["id"] for row in api.get(url, {"state": "applied"}).json()["results"]] == [made["id"]]
        assert api.get(url, {"state": "proposed"}).json()["results"] == []
        assert_problem(api.get(url, {"state": "burnt"}), 400, "invalid_choice", "state")
