"""Changed values are undone on the Activity page, and so is the undo; a later change prevents both."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from django.test import Client
from django.utils import timezone

from compaction.alerts.actions import RuleSetting, set_alert_rules
from compaction.erasure.actions import remove_retention_policy, request_erasure, set_retention_policy
from compaction.erasure.orchestrator import run_erasure
from compaction.models import AlertRule, RetentionPolicy
from compaction.review.actions import (
    edit_compaction_summary,
    reject_compaction,
    reopen_compaction,
    strike_journal_entry,
)
from context.evaluation.actions import golden_questions
from context.evaluation.actions.golden_questions import (
    add_golden_memory,
    collect_golden_question,
    remove_golden_memory,
    update_golden_question,
)
from context.feedback.actions import record_feedback
from context.feedback.votes import vote_values
from context.models import Feedback, GoldenQuestion
from memories.hygiene.actions import archive_memories, dismiss_findings, merge_memories
from memories.models import Membership, Memory, MemoryFinding, SavedView, Snapshot, StoredAct, Tenant
from memories.partitions.actions import create_snapshot, delete_snapshot
from memories.search.actions import set_tenant_language
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory
from memories.store.actions.bulk import apply_bulk_action, move_memories
from memories.store.actions.replace import replace_memories
from memories.store.actions.store import store_memories
from memories.tenancy.actions.invitations import create_invitation
from memories.tenancy.actions.operators import add_member, change_role, remove_member
from memories.tenancy.actions.saved_views import change_view, save_view
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from memory_platform.console.act_values import VALUE_KINDS, ValueKind
from memory_platform.web.roles import Role, role_of
from tests.integration.page_helpers import TESTER, as_stored, client_of, make_bakery_memories, page, text_of
from tests.integration.session_scripts import as_decided, compacted, make_long_session, under_review
from tests.users import new_operator


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("ada", "admin", tenant))


class Activity:
    """An admin who undoes the acts of the tests."""

    def __init__(self, client: Client, tenant: Tenant) -> None:
        self.client, self.tenant = client, tenant

    def rows(self) -> list[Any]:
        return list(self.client.get(page("activity", self.tenant)).context["rows"])

    def undo(self, row: Any) -> str:
        return text_of(self.client.post(page("activity-undo", self.tenant, row.entry.pk), follow=True))

    def check(self, state: Callable[[], object], act: Callable[..., object], **values: Any) -> Any:
        """Perform an act, undo it, undo the undo, and return the row of the act."""

        def present() -> object:
            with tenant_scope(self.tenant.pk):
                return state()

        before = present()
        self.perform(act, **values)
        after, name = present(), getattr(act, "__name__", "")
        assert after != before, name
        done = self.rows()[0]
        for expected in (before, after):
            row = self.rows()[0]
            assert row.undo == "possible", (name, row.entry.verb, row.note)
            assert "Undone:" in self.undo(row), (name, row.entry.verb)
            assert present() == expected, (name, row.entry.verb)
        return done

    def perform(self, act: Callable[..., object], **values: Any) -> Any:
        with tenant_scope(self.tenant.pk):
            return act(**{"by": TESTER, "now": timezone.now()} | values)


@pytest.fixture
def activity(admin: Client, tenant: Tenant) -> Activity:
    return Activity(admin, tenant)


def test_members_and_roles(activity: Activity, tenant: Tenant) -> None:
    olga = new_operator("olga", "operator", tenant)

    def member() -> Membership:
        return Membership.objects.for_tenant(tenant.pk).with_roles().get(user=olga)

    def names() -> set[str]:
        return {row.user.username for row in Membership.objects.for_tenant(tenant.pk).with_roles()}

    with tenant_scope(tenant.pk):
        membership = member()
    demoted: dict[str, Any] = {"membership": membership, "role": "viewer", "is_fixed": False}
    row = activity.check(lambda: role_of(member().user), change_role, **demoted)
    assert row.changes == ["role: operator → viewer"]
    activity.check(names, remove_member, membership=membership)
    activity.check(names, add_member, user=new_operator("otto", "viewer"), tenant=tenant)
    operator = client_of(new_operator("oda", "operator", tenant))
    assert operator.post(page("activity-undo", tenant, row.entry.pk)).status_code == 403


def test_a_member_of_other_tenants_is_not_added_back(activity: Activity, tenant: Tenant, other_tenant: Tenant) -> None:
    olga = new_operator("olga", "operator", tenant)
    with tenant_scope(tenant.pk):
        membership = Membership.objects.for_tenant(tenant.pk).get(user=olga)
    activity.perform(remove_member, membership=membership)
    with tenant_scope(other_tenant.pk):
        add_member(user=olga, tenant=other_tenant, by=TESTER, now=timezone.now())
    assert "must be invited" in activity.undo(activity.rows()[0])


def test_settings_and_rules(activity: Activity, tenant: Tenant) -> None:
    def language() -> str:
        return str(Tenant.objects.get(pk=tenant.pk).text_search_config)

    def rules() -> list[Any]:
        return [(rule.kind, rule.is_enabled, rule.threshold) for rule in AlertRule.objects.all_kinds(tenant.pk)]

    def retention() -> list[Any]:
        return list(RetentionPolicy.objects.for_tenant(tenant.pk).values_list("partition_path", "days", "age_from"))

    row = activity.check(language, set_tenant_language, tenant=tenant, language="german")
    assert row.changes == [f"language: {row.changes[0].split()[1]} → german"]
    settings = {"embedding_backlog": RuleSetting(True, 60), "index_backlog": RuleSetting(True, 1)}
    row = activity.check(rules, set_alert_rules, tenant=tenant, settings=settings)
    assert "on: no → yes (2)" in row.changes
    rule: dict[str, Any] = {"tenant": tenant, "partition": "agent=oven", "age_from": "archived"}
    row = activity.check(retention, set_retention_policy, days=30, **rule)
    assert row.changes == ["days after archiving: none → 30"]
    first = activity.rows()[0]
    activity.check(retention, set_retention_policy, days=60, **rule)
    assert "Not undone" in activity.undo(first), "a later change is not overwritten"
    with tenant_scope(tenant.pk):
        policy = RetentionPolicy.objects.for_tenant(tenant.pk).get()
    activity.check(retention, remove_retention_policy, policy=policy)


def test_an_act_without_stored_values_shows_why_it_has_no_undo(activity: Activity, tenant: Tenant) -> None:
    activity.perform(set_tenant_language, tenant=tenant, language="german")
    with tenant_scope(tenant.pk):
        StoredAct.objects.for_tenant(tenant.pk).delete()
    listed = text_of(activity.client.get(page("activity", tenant)))
    assert "Can&#x27;t be undone: its former values are not stored" in listed
    row = activity.rows()[0]
    assert "its former values are not stored" in activity.undo(row)


def test_a_change_after_the_check_is_not_overwritten(
    activity: Activity, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity.perform(set_tenant_language, tenant=tenant, language="german")
    first, kinds = activity.rows()[0], cast(dict[str, ValueKind], VALUE_KINDS)
    activity.perform(set_tenant_language, tenant=tenant, language="french")
    seen = {str(tenant.pk): {"language": "german"}}  # as read before the other request
    monkeypatch.setitem(kinds, "set_language", replace(kinds["set_language"], read=lambda *_: seen))
    assert "This was changed again later." in activity.undo(first)
    with tenant_scope(tenant.pk):
        assert Tenant.objects.get(pk=tenant.pk).text_search_config == "french"


def test_questions_views_snapshots_and_votes(activity: Activity, tenant: Tenant) -> None:
    one, other, *_ = make_bakery_memories(tenant)
    collected = {"tenant_id": tenant.pk, "text": "When do we open?", "memory_ids": [one.pk]}
    question = activity.perform(collect_golden_question, **collected)

    def values() -> Any:
        return GoldenQuestion.objects.for_tenant(tenant.pk).get(pk=question.pk).edited_values()

    def views() -> list[Any]:
        rows = SavedView.objects.for_tenant(tenant.pk).kept()
        return list(rows.values_list("name", "is_shared", "filters"))

    def snapshots() -> list[Any]:
        return list(Snapshot.objects.for_tenant(tenant.pk).values_list("pk", "name"))

    def votes() -> list[Any]:
        rows = Feedback.objects.for_tenant(tenant.pk).standing()
        return [vote_values(row) for row in rows], as_stored(one).usefulness_score

    edited = {"text": "When do we open on Monday?", "answer": "At six", "category": "", "as_of": timezone.now()}
    row = activity.check(values, update_golden_question, question=question, **edited)
    assert "text: When do we open? → When do we open on Monday?" in row.changes
    row = activity.check(values, add_golden_memory, question=question, memory_id=other.pk)
    assert row.changes == ["memories: 1 → 2"]
    me = Actor.operator(new_operator("vera", "operator", tenant).pk, "vera")
    view = {"tenant": tenant, "list_name": "memories", "name": "Pinned", "filters": {"kind": "fact"}, "by": me}
    activity.check(views, save_view, is_shared=True, **view)
    with tenant_scope(tenant.pk):
        stored = SavedView.objects.for_tenant(tenant.pk).kept().get()
    activity.check(views, change_view, view=stored, name="Facts", is_shared=True)
    snapshot = activity.perform(create_snapshot, tenant=tenant, name="May")
    activity.check(snapshots, delete_snapshot, snapshot=snapshot)
    vote: dict[str, Any] = {"tenant_id": tenant.pk, "memory_id": one.pk}
    activity.check(votes, record_feedback, feedback="POSITIVE", **vote)
    row = activity.check(votes, record_feedback, feedback="VERY_NEGATIVE", reason="Wrong", **vote)
    assert "weight: 1.0 → -3.0" in row.changes


def test_a_view_that_is_private_again_is_shared_by_its_owner_alone(activity: Activity, tenant: Tenant) -> None:
    vera = new_operator("vera", "operator", tenant)
    by = Actor.operator(vera.pk, "vera")
    view = {"tenant": tenant, "list_name": "memories", "name": "Pinned", "filters": {"kind": "fact"}, "by": by}
    stored = activity.perform(save_view, is_shared=True, **view)
    activity.perform(change_view, view=stored, name="Mine", is_shared=False, by=by)
    row = activity.rows()[0]
    assert "Only the operator who saved it can undo this." in activity.undo(row)
    assert "Undone:" in Activity(client_of(vera), tenant).undo(row)


def test_evidence_comes_back_to_a_full_question(
    activity: Activity, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden_questions, "EVIDENCE_MEMORIES_MAX", 2)
    ids = [memory.pk for memory in make_bakery_memories(tenant)[:2]]
    collected = {"tenant_id": tenant.pk, "text": "When do we open?", "memory_ids": ids}
    question = activity.perform(collect_golden_question, **collected)

    def evidence() -> list[Any]:
        return sorted(question.evidence.values_list("memory_id", flat=True))

    activity.check(evidence, remove_golden_memory, question=question, memory_id=ids[0])


def test_summaries_and_facts_under_review(activity: Activity, tenant: Tenant) -> None:
    under_review(tenant)
    proposal = compacted(make_long_session(tenant))
    with tenant_scope(tenant.pk):
        text = as_decided(proposal).summary_text

    def state() -> Any:
        row = as_decided(proposal)
        return row.state, row.summary_text, row.statements, [entry["status"] for entry in row.journal]

    shorter = f"{text.rpartition(' ')[0]}."
    row = activity.check(state, edit_compaction_summary, compaction=proposal, text=shorter)
    assert row.changes[0].startswith("summary text: ")
    if as_decided(proposal).journal:
        activity.check(state, strike_journal_entry, compaction=proposal, entry=1)
    activity.perform(reject_compaction, compaction=proposal, reason="Too short")
    activity.check(state, reopen_compaction, compaction=proposal)


def test_undone_acts_on_memories_are_repeated(activity: Activity, tenant: Tenant) -> None:
    one, other, third, fourth, *_ = make_bakery_memories(tenant)
    own: dict[str, Any] = {"tenant_id": tenant.pk}

    def rows() -> list[Any]:
        found = Memory.objects.for_tenant(tenant.pk).order_by("pk")
        return [(row.pk, row.archived_at is None, row.kind, row.pinned, row.partition_path) for row in found]

    def seen(*memories: Memory) -> dict[Any, int]:
        return {memory.pk: as_stored(memory).version for memory in memories}

    row = activity.check(rows, apply_bulk_action, action="kind", kind="episode", seen=seen(one, other), **own)
    labels = [row.label for row in activity.rows()[:3]]
    assert labels == ["Repeated: changed the kind", "Undid: changed the kind", "Changed the kind"]
    assert row.changes
    activity.check(rows, apply_bulk_action, action="archive", seen=seen(one), **own)
    activity.check(rows, apply_bulk_action, action="restore", seen=seen(one), **own)
    activity.check(rows, move_memories, seen=seen(one), to=parse_partition("agent=oven/user=x"), **own)
    activity.check(rows, archive_memories, memory_ids=[one.pk], **own)
    activity.check(rows, merge_memories, groups={other.pk: [third.pk]}, **own)
    activity.check(rows, replace_memories, replaced={other.pk: [fourth.pk]}, **own)
    new = [NewMemory(content=text, partition=parse_partition("agent=oven")) for text in ("Rye is dark.", "Oat is not.")]
    activity.perform(store_memories, tenant=tenant, rows=new)
    assert "2 memories are archived" in activity.undo(activity.rows()[0])


def test_dismissals_are_repeated_and_invitations_revoked(activity: Activity, tenant: Tenant) -> None:
    one, *_ = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        finding = MemoryFinding.objects.create(
            tenant=tenant, kind="unhelpful", memory=one, weight=1, at=timezone.now(), found_at=timezone.now()
        )

    def is_open() -> bool:
        return bool(MemoryFinding.objects.for_tenant(tenant.pk).open().exists())

    activity.check(is_open, dismiss_findings, tenant_id=tenant.pk, finding_ids=[finding.pk])
    activity.perform(create_invitation, tenant=tenant, role=Role.VIEWER, note="Vera", days=7)
    assert "the invitation is revoked" in activity.undo(activity.rows()[0])


def test_values_of_a_stored_act_are_no_memories_for_the_api(activity: Activity, tenant: Tenant) -> None:
    activity.perform(set_tenant_language, tenant=tenant, language="german")
    with tenant_scope(tenant.pk):
        act = StoredAct.objects.for_tenant(tenant.pk).filter(changed__0__field="language").get()
    assert activity.client.post(page("memories-bulk-undo", tenant, act.pk)).status_code in {302, 404}
    with tenant_scope(tenant.pk):
        assert StoredAct.objects.for_tenant(tenant.pk).get(pk=act.pk).undone_at is None


def test_an_erasure_deletes_the_values_that_acts_stored_about_its_partition(activity: Activity, tenant: Tenant) -> None:
    under_review(tenant)
    proposal = compacted(make_long_session(tenant))
    with tenant_scope(tenant.pk):
        text, path = as_decided(proposal).summary_text, proposal.session.partition_path
    activity.perform(edit_compaction_summary, compaction=proposal, text=f"{text.rpartition(' ')[0]}.")
    activity.perform(set_retention_policy, tenant=tenant, partition=path, age_from="archived", days=30)
    activity.perform(set_tenant_language, tenant=tenant, language="german")
    new = NewMemory(content="Rye is dark.", partition=parse_partition(path))
    memory = activity.perform(store_memories, tenant=tenant, rows=[new])[0].memory
    for vote, reason in (("POSITIVE", ""), ("VERY_NEGATIVE", "Wrong")):
        activity.perform(record_feedback, tenant_id=tenant.pk, memory_id=memory.pk, feedback=vote, reason=reason)
    values: dict[str, Any] = {"text": "Which bread is dark?", "as_of": None}
    question = activity.perform(collect_golden_question, tenant_id=tenant.pk, memory_ids=[memory.pk], **values)
    activity.perform(update_golden_question, question=question, answer="Rye", category="", **values)
    now = timezone.now()
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, partition=path, is_enqueued=False, by=TESTER, now=now)
    run_erasure(tenant.pk, erasure.pk, now=now)
    with tenant_scope(tenant.pk):
        kept = {row["field"] for act in StoredAct.objects.for_tenant(tenant.pk) for row in act.changed}
    assert "language" in kept
    assert not kept & {"summary_text", "archived", "weight", "reason", "answer"}
