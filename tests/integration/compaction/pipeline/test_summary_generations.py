"""One live summary per session, retention over all generations, and later reviews, over HTTP."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from memories.hygiene.actions import undo_hygiene
from memories.models import AuditEntry, Memory, Tenant
from memories.services.store.content import content_hash
from memories.store.actions.bulk import apply_bulk_action
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope
from tests.integration.compaction_helpers import (
    COMPACTIONS,
    compact,
    conversation,
    full_session,
    live_memories,
    review,
    set_policy,
    shown,
    stored_compactions,
    tool_lookup_pair,
)
from tests.integration.rest_helpers import MEMORIES, SEARCH, assert_problem
from tests.integration.session_helpers import append, open_session, stored_session
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

ARCHIVED = f"{MEMORIES}?archived=true&page_size=500"


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def session(admin: APIClient) -> dict[str, Any]:
    return full_session(admin, pairs=20, window=2_000, user_id="alex")


@pytest.fixture
def long_session(admin: APIClient) -> dict[str, Any]:
    """A session with so many facts that its summaries lose some."""
    return full_session(admin, user_id="alex")


@pytest.fixture
def without_journal(tenant: Tenant) -> None:
    """The memory of a summary omits what the journal stores; without a journal, it is the whole summary."""
    set_policy(tenant, has_journal=False, retention_floor=0.0)


def compacted_again(client: Any, session: dict[str, Any], start: int, pairs: int = 15) -> dict[str, Any]:
    append(client, session, *conversation(pairs, start=start))
    made: dict[str, Any] = compact(client, session)["compaction"]
    assert made["state"] == "applied", made["retention"]
    return made


def summaries(client: Any) -> list[str]:
    rows = client.get(f"{MEMORIES}?page_size=500").json()["results"]
    return [row["content"] for row in rows if row["metadata"].get("type") == "context_synthesis"]


def facts(compaction: dict[str, Any], *names: str) -> set[tuple[str, str]]:
    return {(fact["class"], fact["text"]) for name in names or ("kept", "missing") for fact in compaction[name]}


# --- One summary at a time -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_journal")
def test_each_summary_withdraws_the_one_before(admin: APIClient, session: dict[str, Any]) -> None:
    made = [compact(admin, session)["compaction"]]
    made += [compacted_again(admin, session, start) for start in (100, 200)]
    assert [one["generation"] for one in made] == [1, 2, 3]
    assert summaries(admin) == [made[-1]["summary"]]
    archived = [row["content"] for row in admin.get(ARCHIVED).json()["results"]]
    assert {one["summary"] for one in made[:-1]} <= set(archived)
    found = admin.post(SEARCH, {"query": made[0]["summary"][:200], "top_k": 200}).json()["results"]
    assert made[0]["summary"] not in [row["content"] for row in found]


def test_roll_back_restores_exactly_the_summary_before(
    admin: APIClient, tenant: Tenant, session: dict[str, Any]
) -> None:
    made, states = [], []
    for start in (0, 100, 200):
        append(admin, session, *conversation(15, start=start))
        states.append((set(shown(tenant, session["id"])[1:]), summaries(admin), len(live_memories(tenant))))
        made.append(compact(admin, session)["compaction"])
    for one, (before, live, count) in zip(reversed(made), reversed(states), strict=True):
        review(admin, one, "rollback")
        assert before <= set(shown(tenant, session["id"]))
        assert (summaries(admin), len(live_memories(tenant))) == (live, count)


@pytest.mark.usefixtures("without_journal")
def test_edited_summary_keeps_what_its_roll_back_restores(
    admin: APIClient, tenant: Tenant, session: dict[str, Any]
) -> None:
    first = compact(admin, session)["compaction"]
    second = compacted_again(admin, session, 100)
    review(admin, second, "edit", text="Alex sold things in May 2026.")
    assert summaries(admin) == ["Alex sold things in May 2026."]
    review(admin, second, "rollback")
    assert summaries(admin) == [first["summary"]]
    review(admin, first, "edit", text="Alex sold the tent.")
    third = compacted_again(admin, session, 300)
    assert summaries(admin) == [third["summary"]]
    review(admin, third, "rollback")
    assert summaries(admin) == ["Alex sold the tent."]


@pytest.mark.usefixtures("without_journal")
def test_summary_that_a_person_archived_stays_archived(admin: APIClient, session: dict[str, Any]) -> None:
    compact(admin, session)
    (row,) = [
        one for one in admin.get(f"{MEMORIES}?page_size=500").json()["results"] if one["metadata"].get("generation")
    ]
    admin.delete(f"{MEMORIES}/{row['id']}")
    second = compacted_again(admin, session, 100)
    review(admin, second, "rollback")
    assert summaries(admin) == []


@pytest.mark.usefixtures("without_journal")
def test_text_that_was_stored_again_meanwhile_is_no_obstacle(
    admin: APIClient, tenant: Tenant, session: dict[str, Any]
) -> None:
    first = compact(admin, session)["compaction"]
    second = compacted_again(admin, session, 100)
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).archived()
        old = rows.with_content_hashes([content_hash(first["summary"])]).get()
    own = {"content": first["summary"], "user_id": "alex", "source_id": old.source_id}
    assert admin.post(MEMORIES, own).status_code == 201
    review(admin, second, "rollback")
    assert summaries(admin) == []
    assert first["summary"] in [memory.content for memory in live_memories(tenant)]


@pytest.mark.usefixtures("without_journal")
def test_summaries_of_other_sessions_and_memories_that_look_like_one_stay(
    admin: APIClient, session: dict[str, Any]
) -> None:
    other = full_session(admin, user_id="sam")
    kept = [compact(admin, other)["compaction"]["summary"], "Alex lives in Tavira."]
    look_alike = {"metadata": {"type": "context_synthesis", "session_id": session["id"]}, "session": session["id"]}
    assert admin.post(MEMORIES, {"content": kept[1], **look_alike}).status_code == 201
    compact(admin, session)
    second = compacted_again(admin, session, 100)
    assert set(summaries(admin)) == {*kept, second["summary"]}


def test_proposal_withdraws_nothing_before_it_is_approved(
    admin: APIClient, tenant: Tenant, session: dict[str, Any]
) -> None:
    set_policy(tenant, has_journal=False, retention_floor=0.0)
    first = compact(admin, session)["compaction"]
    set_policy(tenant, has_journal=False, decision="review")
    append(admin, session, *conversation(30, start=100))
    second = compact(admin, session)["compaction"]
    assert (second["state"], summaries(admin)) == ("proposed", [first["summary"]])
    assert review(admin, second, "approve")["state"] == "applied"
    assert summaries(admin) == [second["summary"]]


@pytest.mark.usefixtures("without_journal")
def test_no_restore_adds_a_second_live_summary(
    admin: APIClient, client: Client, tenant: Tenant, session: dict[str, Any]
) -> None:
    first = compact(admin, session)["compaction"]
    second = compacted_again(admin, session, 100)
    with tenant_scope(tenant.pk):
        (old,) = Memory.objects.for_tenant(tenant.pk).archived().session_summaries([session["id"]])
        (live,) = Memory.objects.for_tenant(tenant.pk).unarchived().session_summaries([session["id"]])
    refusal = f"Memory {live.pk} is the live summary of the same session."
    assert refusal in assert_problem(admin.post(f"{MEMORIES}/{old.pk}/restore"), 409, "live_summary")["detail"]
    client.force_login(User.objects.create_superuser("root"))
    selected = {"action": "restore_selected", "_selected_action": [str(old.pk)]}
    answer = client.post(reverse("admin:memories_memory_changelist"), selected, follow=True)
    assert refusal in answer.content.decode()
    bulk: dict[str, Any] = {"tenant_id": tenant.pk, "by": Actor.system("tests"), "now": timezone.now()}
    with pytest.raises(Conflict, match="1 of a session with another live summary"), tenant_scope(tenant.pk):
        apply_bulk_action(action="restore", seen={old.pk: old.version}, **bulk)
    assert summaries(admin) == [second["summary"]]
    with tenant_scope(tenant.pk):
        archived = apply_bulk_action(action="archive", seen={live.pk: live.version}, **bulk)
    assert admin.post(f"{MEMORIES}/{old.pk}/restore").status_code == 200
    with pytest.raises(Conflict, match=f"Memory {old.pk}"), tenant_scope(tenant.pk):
        undo_hygiene(act_id=archived.act.pk, **bulk)
    assert summaries(admin) == [first["summary"]]
    assert admin.delete(f"{MEMORIES}/{old.pk}").status_code == 204
    with tenant_scope(tenant.pk):
        restored = apply_bulk_action(action="restore", seen={old.pk: old.version + 1, live.pk: live.version}, **bulk)
    assert (restored.count, restored.left, summaries(admin)) == (1, {"live_summary": 1}, [second["summary"]])


# --- Retention over all generations ----------------------------------------------------------------------------------


def test_retention_counts_the_facts_of_all_generations(admin: APIClient, long_session: dict[str, Any]) -> None:
    made = [compact(admin, long_session)["compaction"]]
    for start in (100, 200):
        made.append(compacted_again(admin, long_session, start, pairs=30))
        before, now = made[-2:]
        assert facts(before) < facts(now)
        assert now["retention"]["kept"] == len(now["kept"])
        assert now["retention"]["missing"] == len(now["missing"])
        assert 0 < now["retention"]["share"] <= 1
        assert facts(before, "missing") & facts(now, "missing") or not before["missing"]


def test_fact_counts_as_kept_while_a_journal_memory_of_an_earlier_generation_lives(
    admin: APIClient, tenant: Tenant, session: dict[str, Any]
) -> None:
    first = compact(admin, session)["compaction"]
    set_policy(tenant, summary_share=0.02, retention_floor=0.0)
    second = compacted_again(admin, session, 100)
    journal = [one for one in first["journal"] if one["status"] == "stored"]
    only_there = {
        fact
        for fact in facts(first, "kept") & facts(second, "kept")
        if any(fact[1] in one["text"] for one in journal) and fact[1] not in second["summary"]
    }
    assert only_there
    review(admin, second, "rollback")
    set_policy(tenant, has_journal=False, retention_floor=0.0, summary_share=0.02)
    for one in journal:
        admin.delete(f"{MEMORIES}/{one['memory_id']}")
    again = compact(admin, session)["compaction"]
    assert only_there & facts(again, "missing")


def test_facts_lost_from_an_earlier_generation_can_be_appended(
    admin: APIClient, tenant: Tenant, long_session: dict[str, Any]
) -> None:
    set_policy(tenant, has_journal=False, retention_floor=0.0)
    first = compact(admin, long_session)["compaction"]
    set_policy(tenant, has_journal=False, retention_floor=0.0, summary_share=0.02)
    second = compacted_again(admin, long_session, 100, pairs=30)
    lost = sorted(text for kind, text in facts(first, "kept") & facts(second, "missing") if kind == "identifier")
    assert lost
    edited = review(admin, second, "append_missing", facts=lost[:1])
    assert lost[0] in edited["summary"]
    assert len(edited["missing"]) < len(second["missing"])
    assert lost[0] in {text for _, text in facts(edited, "kept")}


def test_low_retention_of_earlier_generations_waits_for_review(
    admin: APIClient, tenant: Tenant, long_session: dict[str, Any]
) -> None:
    set_policy(tenant, has_journal=False, retention_floor=0.0, summary_share=0.05)
    first = compact(admin, long_session)["compaction"]
    assert first["retention"]["share"] < 0.85
    set_policy(tenant, has_journal=True, retention_floor=1.0)
    append(admin, long_session, *conversation(30, start=100))
    second = compact(admin, long_session)["compaction"]
    assert second["state"] == "proposed"
    assert facts(first, "missing") & facts(second, "missing")
    lost_before = {text for kind, text in facts(first, "missing") if kind == "identifier"}
    assert lost_before
    again = {lost for lost in lost_before if lost in second["summary"]}
    assert len(again) < len(lost_before) / 2, "what a person let go stays lost, but beside a fact that is lost only now"


# --- Reviewed later --------------------------------------------------------------------------------------------------


def test_applied_summary_is_marked_as_reviewed_once(admin: APIClient, tenant: Tenant, session: dict[str, Any]) -> None:
    made = compact(admin, session)["compaction"]
    before = (shown(tenant, session["id"]), summaries(admin))
    assert (made["decided_at"], made["allowed_actions"][-1]) == (None, "mark_reviewed")
    reviewed = review(admin, made, "mark_reviewed", reason="Read it.", edit_version=0)
    assert (reviewed["state"], reviewed["decision_reason"]) == ("applied", "Read it.")
    assert reviewed["decided_at"]
    assert reviewed["decided_by"].startswith("an agent")
    assert set(reviewed["allowed_actions"]) >= {"edit", "rollback"}
    assert "mark_reviewed" not in reviewed["allowed_actions"]
    assert (shown(tenant, session["id"]), summaries(admin)) == before
    url = f"{COMPACTIONS}/{made['id']}/review"
    assert_problem(admin.post(url, {"action": "mark_reviewed"}), 409, "already_decided")
    with tenant_scope(tenant.pk):
        entries = AuditEntry.objects.for_tenant(tenant.pk).of_verbs(["mark_compaction_reviewed"])
        assert [entry.target_ids for entry in entries] == [[made["id"]]]
    review(admin, made, "edit", text="Alex sold the tent.")
    assert review(admin, made, "rollback")["state"] == "rolled_back"
    assert stored_session(tenant, session["id"]).current is None


def test_superseded_generation_can_still_be_marked_as_reviewed(admin: APIClient, session: dict[str, Any]) -> None:
    first = compact(admin, session)["compaction"]
    compacted_again(admin, session, 100)
    assert review(admin, first, "mark_reviewed")["state"] == "applied"


def test_mark_that_is_not_valid_is_refused(admin: APIClient, session: dict[str, Any]) -> None:
    made = compact(admin, session)["compaction"]
    url = f"{COMPACTIONS}/{made['id']}/review"
    for fields, status, code, field in (
        ({"text": "x"}, 400, "unexpected", "text"),
        ({"facts": []}, 400, "unexpected", "facts"),
        ({"reason": 5}, 400, "not_text", "reason"),
        ({"reason": "x" * 501}, 400, "too_long", "reason"),
        ({"edit_version": "0"}, 400, "not_an_integer", "edit_version"),
        ({"edit_version": 7}, 409, "edited_meanwhile", None),
        ({"colour": "red"}, 400, "unknown_field", "colour"),
    ):
        assert_problem(admin.post(url, {"action": "mark_reviewed", **fields}), status, code, field)
    assert admin.get(f"{COMPACTIONS}/{made['id']}").json()["decided_at"] is None


def test_only_an_applied_summary_is_marked_as_reviewed(admin: APIClient, tenant: Tenant) -> None:
    masked = open_session(admin, max_context_tokens=8_000)
    for number in range(4):
        append(admin, masked, *tool_lookup_pair(number, size=2_400))
    append(admin, masked, *conversation(10))
    made = compact(admin, masked)["compaction"]
    assert (made["summary"], "mark_reviewed" in made["allowed_actions"]) == (None, False)
    url = f"{COMPACTIONS}/{made['id']}/review"
    assert_problem(admin.post(url, {"action": "mark_reviewed"}), 409, "no_summary")
    set_policy(tenant, decision="review")
    proposed = compact(admin, full_session(admin))["compaction"]
    url = f"{COMPACTIONS}/{proposed['id']}/review"
    assert_problem(admin.post(url, {"action": "mark_reviewed"}), 409, "already_decided")
    review(admin, proposed, "approve")
    assert_problem(admin.post(url, {"action": "mark_reviewed"}), 409, "already_decided")
    assert {row.state for row in stored_compactions(tenant)} == {"applied"}


def test_key_without_the_scope_or_of_another_tenant_marks_nothing(
    admin: APIClient, api: APIClient, other_tenant: Tenant, session: dict[str, Any]
) -> None:
    made = compact(admin, session)["compaction"]
    url = f"{COMPACTIONS}/{made['id']}/review"
    assert_problem(api.post(url, {"action": "mark_reviewed"}), 403, "scope_missing")
    stranger = api_client(new_key(other_tenant, "read", "write", "admin"))
    assert_problem(stranger.post(url, {"action": "mark_reviewed"}), 404, "not_found")
