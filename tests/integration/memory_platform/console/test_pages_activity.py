"""The Activity page: every act with its changes, and its undo after the message has disappeared."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from compaction.review.actions import approve_compaction
from context.models import BudgetProfileAssignment
from context.profiles.actions.assignments import BUDGET_ASSIGNMENTS
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.profiles.actions.scoring_profiles import create_scoring_profile, edit_scoring_profile
from context.profiles.budget_profiles import current_budget_profile
from memories.hygiene.actions import merge_memories
from memories.models import AuditEntry, Tenant
from memories.store.actions.bulk import apply_bulk_action
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.scopes import tenant_scope
from memory_platform.console.activity import list_acts
from tests.factories import make_memory
from tests.integration.page_helpers import HTMX, TESTER, as_stored, client_of, make_bakery_memories, page, text_of
from tests.integration.session_scripts import as_decided, compacted, make_long_session, under_review
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def rows_of(client: Client, tenant: Tenant, **query: str) -> list[Any]:
    return list(client.get(page("activity", tenant), query).context["rows"])


def undo(client: Client, tenant: Tenant, row: Any) -> str:
    """Undo an act, which adds at most one line, and return the page."""
    before = len(rows_of(client, tenant))
    text = text_of(client.post(page("activity-undo", tenant, row.entry.pk), follow=True))
    assert len(rows_of(client, tenant)) == before + ("Not undone" not in text)
    return text


def by_now() -> dict[str, Any]:
    return {"by": TESTER, "now": timezone.now()}


def test_acts_on_memories_are_listed_with_their_changes_and_undone(client: Client, tenant: Tenant) -> None:
    assert "Try a longer time" in text_of(client.get(page("activity", tenant), {"group": "memories"}))
    one, other, third, fourth, _ = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        archive_memory(memory=fourth, **by_now())
        seen = {one.pk: one.version, other.pk: other.version}
        apply_bulk_action(tenant_id=tenant.pk, action="kind", kind="episode", seen=seen, **by_now())
        merge_memories(tenant_id=tenant.pk, groups={one.pk: [third.pk]}, **by_now())
    merged, changed, archived, *_ = rows_of(client, tenant, group="memories")
    assert [merged.label, changed.label, archived.label] == ["Merged memories", "Changed the kind", "Archived a memory"]
    assert merged.changes == ["1 merged into 1"], "the archived memory of a merge is no act of its own"
    assert sorted(changed.changes) == ["kind: fact → episode", "kind: procedure → episode"]
    assert archived.targets[0].text == fourth.content
    (memo,) = rows_of(client, tenant, group="texts")
    assert memo.targets[0].text == "Tenant memo"
    assert "restored to their former state" in undo(client, tenant, merged)
    assert "restored to their former state" in undo(client, tenant, changed)
    assert "live again" in undo(client, tenant, archived)
    assert [as_stored(row).archived_at for row in (third, fourth)] == [None, None]
    assert [as_stored(row).kind for row in (one, other)] == ["procedure", "fact"]
    assert "Not undone" in undo(client, tenant, merged)
    rows = rows_of(client, tenant, group="memories")
    assert [row.changes for row in rows if row.label == "Undid: merged memories"] == [[]]
    states = {row.label: row.undo for row in rows}
    assert states["Merged memories"] == states["Changed the kind"] == states["Archived a memory"] == "undone"


def test_created_tenant_is_named(client: Client, tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        record_audit("create_tenant", "tenant", [tenant.pk], tenant_id=tenant.pk, fields=["name"], **by_now())
    row = next(row for row in rows_of(client, tenant) if row.label == "Created the tenant")
    assert [target.text for target in row.targets] == [tenant.name]


def test_archiving_is_not_undone_after_a_later_act_archived_the_memory(client: Client, tenant: Tenant) -> None:
    one, other, *_ = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        archive_memory(memory=one, **by_now())
    archived = rows_of(client, tenant, group="memories")[0]
    with tenant_scope(tenant.pk):
        restore_memory(memory=one, **by_now())
        merge_memories(tenant_id=tenant.pk, groups={other.pk: [one.pk]}, **by_now())
    assert "The memory was archived again later" in undo(client, tenant, archived)
    assert as_stored(one).archived_at is not None
    assert [row.undo for row in rows_of(client, tenant, group="memories")][:3] == ["possible", "undone", "undone"]


def test_acts_on_profiles_are_undone_while_they_are_in_use(client: Client, tenant: Tenant) -> None:
    def assigned() -> list[tuple[str, str]]:
        with tenant_scope(tenant.pk):
            rows = BudgetProfileAssignment.objects.for_tenant(tenant.pk).active()
            return list(rows.values_list("profile_name", "partition_path"))

    def tokens(name: str) -> int:
        with tenant_scope(tenant.pk):
            return current_budget_profile(tenant.pk, name).default_tokens

    with tenant_scope(tenant.pk):
        for name in ("short", "long"):
            create_budget_profile(tenant_id=tenant.pk, name=name, **by_now())
        changes = {"default_tokens": 321}
        save_budget_profile(tenant_id=tenant.pk, name="long", changes=changes, edited_from=1, **by_now())
        for name in ("short", "long"):
            BUDGET_ASSIGNMENTS.assign(tenant_id=tenant.pk, profile_name=name, partition_path="user=a", **by_now())
    before = tokens("long")
    to_long, to_short, saved, *_ = rows_of(client, tenant, group="profiles")
    assert (to_long.undo, to_short.undo, saved.undo) == ("possible", "", "possible")
    undo(client, tenant, to_long)
    assert assigned() == [("short", "user=a")]
    undo(client, tenant, rows_of(client, tenant, group="profiles")[0])
    assert assigned() == [("long", "user=a")], "an undo is an act"
    with tenant_scope(tenant.pk):
        BUDGET_ASSIGNMENTS.unassign(tenant_id=tenant.pk, partition_path="user=a", **by_now())
    undo(client, tenant, rows_of(client, tenant, group="profiles")[0])
    assert assigned() == [("long", "user=a")]
    assert "version 1 are active again" in undo(client, tenant, saved)
    assert (before, tokens("long")) == (321, tokens("short"))


def test_approval_is_undone_from_the_list(client: Client, tenant: Tenant) -> None:
    under_review(tenant)
    proposal = compacted(make_long_session(tenant))
    with tenant_scope(tenant.pk):
        approve_compaction(compaction=proposal, **by_now())
    (approved,) = [row for row in rows_of(client, tenant, group="compactions") if row.undo]
    assert "waits for review again" in undo(client, tenant, approved)
    assert as_decided(proposal).state == "proposed"
    reopened, *others = rows_of(client, tenant, group="compactions")
    assert not [row for row in (reopened, *others) if row.undo]
    assert reopened.note == "Open its review"
    assert str(proposal.pk) in reopened.note_url


def test_acts_are_narrowed_and_undone_by_those_who_may(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    one, *_ = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        archive_memory(memory=one, **by_now())
    row = rows_of(client, tenant, group="memories")[0]
    assert rows_of(client, tenant, by="operator") == []
    assert rows_of(client, tenant, by="system") == rows_of(client, tenant)
    assert client.get(page("activity", tenant), {"by": "nobody"}, headers=HTMX).status_code == 422
    assert client.post(page("activity-undo", tenant, uuid4())).status_code == 404
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert viewer.post(page("activity-undo", tenant, row.entry.pk)).status_code == 403
    assert "</form></td>" not in text_of(viewer.get(page("activity", tenant)))
    stranger = client_of(new_operator("sven", "operator", other_tenant))
    assert stranger.post(page("activity-undo", tenant, row.entry.pk)).status_code == 404
    assert stranger.post(page("activity-undo", other_tenant, row.entry.pk)).status_code == 404
    assert as_stored(one).archived_at is not None


def test_acts_are_found_by_kind_person_time_and_words_of_what_they_changed(client: Client, tenant: Tenant) -> None:
    one, other, *_ = make_bakery_memories(tenant)
    wanda = new_operator("wanda", "operator", tenant)
    long_ago = timezone.now() - timedelta(days=60)
    with tenant_scope(tenant.pk):
        create_budget_profile(tenant_id=tenant.pk, name="short", by=TESTER, now=long_ago)
        changes: dict[str, Any] = {"confidence": 0.25, "content": "Bread is baked at noon."}
        update_memory(memory=one, changes=changes, by=Actor.operator(wanda.pk, "wanda"), now=timezone.now())
        archive_memory(memory=other, **by_now())
    text = text_of(client.get(page("activity", tenant)))
    assert '<option value="wanda">' in text
    assert '<optgroup label="Memories">' in text

    def labels(**query: str) -> list[str]:
        return [row.label for row in rows_of(client, tenant, **query)]

    (edited,) = rows_of(client, tenant, person="wanda")
    assert edited.label == "Changed a memory"
    assert f"confidence: {one.confidence} → 0.25" in edited.changes
    assert f"content: {one.content[:59]}" in "".join(edited.changes)
    assert labels(person="sven") == []
    assert labels(kind="archive_memory") == ["Archived a memory"]
    assert labels(q="Bread is baked at noon") == ["Changed a memory", "Stored memories"]
    assert labels(q="short") == ["Created a budget profile"]
    assert labels(q=str(other.pk))[0] == "Archived a memory"
    assert "Created a budget profile" not in labels(range="30d")
    assert labels(before=f"{long_ago:%Y-%m-%dT23:59}") == ["Created a budget profile"]
    assert labels(q="zeppelin") == []
    assert client.get(page("activity", tenant), {"kind": "nothing"}, headers=HTMX).status_code == 422


def test_a_user_name_finds_no_other_object_with_the_number_of_that_user(client: Client, tenant: Tenant) -> None:
    wanda = new_operator("wanda", "operator", tenant)
    with tenant_scope(tenant.pk):
        record_audit("save_prompt", "prompt", [wanda.pk], tenant_id=tenant.pk, **by_now())
        assert [entry.verb for entry in list_acts(tenant.pk, text="wanda")] == ["add_member"]


def test_activity_and_audit_log_name_actors_alike(tenant: Tenant) -> None:
    client = client_of(new_operator("admin", "admin", tenant))
    actors = [Actor.system("sweep"), Actor.system(""), Actor("key", "k-1", "crawler"), Actor.operator(7, "wanda")]
    with tenant_scope(tenant.pk):
        for actor in actors:
            record_audit("save_prompt", "prompt", [1], tenant_id=tenant.pk, by=actor, now=timezone.now())
    for name in ("activity", "audit-log"):
        text = text_of(client.get(page(name, tenant)))
        assert 'sweep</span> <span class="kind">system</span>' in text
        assert 'crawler</span> <span class="kind">API key</span>' in text
        for label in ("the system", "wanda"):
            assert re.search(rf"{label}</span>\s*</td>", text)


def test_only_the_newest_acts_about_a_text_are_listed(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = make_memory(tenant, "Bread is baked at noon.")
    with tenant_scope(tenant.pk):
        for confidence in (0.25, 0.5, 0.75):
            update_memory(memory=memory, changes={"confidence": confidence}, **by_now())
    monkeypatch.setattr("memories.tenancy.queries.audit.ABOUT_TEXT_MAX", 2)
    for text in ("noon", str(memory.pk)[:10]):
        assert [change for row in rows_of(client, tenant, q=text) for change in row.changes] == [
            "confidence: 0.5 → 0.75",
            "confidence: 0.25 → 0.5",
        ]


def test_profiles_show_former_and_new_numbers(client: Client, tenant: Tenant) -> None:
    own: dict[str, Any] = {"tenant_id": tenant.pk, "name": "short"}
    with tenant_scope(tenant.pk):
        tokens = create_budget_profile(**own, **by_now()).default_tokens
        save_budget_profile(changes={"default_tokens": 321}, edited_from=1, **own, **by_now())
        create_scoring_profile(tenant_id=tenant.pk, name="mine", **by_now())
        edited = {"changes": {"mmr_diversity": 0.3}, "edited_from": 1, "name": "mine"}
        edit_scoring_profile(tenant_id=tenant.pk, **edited, **by_now())
    scoring, _, budget, _ = rows_of(client, tenant, group="profiles")
    assert f"{tokens} → 321" in budget.changes[0]
    assert "→ 0.3" in scoring.changes[0]
    assert scoring.undo == budget.undo == "possible"


def test_acts_and_targets_are_found_by_indexes_in_a_log_of_agent_traffic(tenant: Tenant) -> None:
    def indexes_of(rows: Any) -> set[str]:
        return set(re.findall(r"(?:using|Index Scan on) (audit_\w+)", rows.explain()))

    row = {"at": timezone.now(), "actor_kind": "key", "verb": "store_memory", "target_kind": "memory"}
    with tenant_scope(tenant.pk), connection.cursor() as cursor:
        entries = AuditEntry.objects.for_tenant(tenant.pk)
        AuditEntry.objects.bulk_create([AuditEntry(tenant=tenant, target_ids=[n], **row) for n in range(2_000)])
        # Equal numbers of each kind of actor: only then is the index by kind cheaper for all of them.
        acts = [row | {"verb": "merge_memories", "actor_kind": kind} for kind in ("operator", "system", "key")] * 300
        AuditEntry.objects.bulk_create([AuditEntry(tenant=tenant, target_ids=[n], **act) for n, act in enumerate(acts)])
        cursor.execute("ANALYZE memories_auditentry")
        assert indexes_of(list_acts(tenant.pk).page("-at", count=51)) == {"audit_listed_newest"}
        for by in ("operator", "system", "key"):
            assert indexes_of(list_acts(tenant.pk, by=by).page("-at", count=51)) == {"audit_listed_of_kind"}
        assert {"audit_about_one", "audit_about_several"} <= indexes_of(entries.about("7").newest_first())


def test_targets_of_different_kinds_with_one_id_keep_their_own_names(
    client: Client, tenant: Tenant, operator: User
) -> None:
    with tenant_scope(tenant.pk):
        for verb, kind in (("add_member", "user"), ("save_prompt", "prompt")):
            record_audit(verb, kind, [operator.pk], tenant_id=tenant.pk, **by_now())
    texts = {row.label: row.targets[0].text for row in rows_of(client, tenant)}
    assert texts["Added a member"] == operator.username
    assert texts["Saved the prompt"] == f"Version {operator.pk}"
