"""Every act of the audit log is on the Activity page, with an Undo or with the alternative to it."""

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from compaction.alerts.actions import (
    RuleSetting,
    add_alert_destination,
    remove_alert_destination,
    set_alert_rules,
)
from compaction.erasure.actions import set_retention_policy
from compaction.models import AlertDestination
from compaction.pipeline.actions import save_prompt
from context.evaluation.actions.golden_questions import collect_golden_question
from context.models import BudgetProfile, GoldenQuestion, ScoringProfileVersion
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.actions.budget_profiles import (
    create_budget_profile,
    restore_budget_profile,
    retire_budget_profile,
)
from context.profiles.actions.scoring_profiles import create_scoring_profile, retire_scoring_profile
from memories.models import MemoryLink, PartitionSummary, Snapshot, Tenant, TenantMemo
from memories.partitions.actions import (
    create_snapshot,
    link_memories,
    save_summary,
    set_tenant_memo,
    unlink_memories,
    withdraw_summary,
)
from memories.services.partitions.paths import parse_partition
from memories.services.tenancy.act_labels import ACT_LABELS, UNLISTED, UNLISTED_LABELS
from memories.store.actions.edit import update_memory
from memories.tenancy.actions.api_keys import create_api_key
from memories.tenancy.scopes import tenant_scope
from memory_platform.console.undo import UNDO
from memory_platform.console.undo_rules import NOTES, UNDONE_BY_ADMINS, UNDONE_WHILE_LATEST
from tests.architecture import ROOT
from tests.integration.page_helpers import TESTER, as_stored, client_of, make_bakery_memories, page, text_of
from tests.users import new_operator

_RECORDING = {"record_audit", "audit_rows", "record_shown", "audit_votes", "record_of_account", "_audit_summary"}


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("ada", "admin", tenant))


def by_now() -> dict[str, Any]:
    return {"by": TESTER, "now": timezone.now()}


def newest(client: Client, tenant: Tenant) -> Any:
    return client.get(page("activity", tenant)).context["rows"][0]


def test_every_recorded_verb_is_listed_with_an_undo_or_a_note() -> None:
    verbs = set()
    for app in ("memories", "context", "compaction", "memory_platform"):
        for path in (ROOT / app).rglob("*.py"):
            calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            for call in calls:
                name = getattr(call.func, "id", getattr(call.func, "attr", ""))
                parts = ast.walk(call.args[0]) if name in _RECORDING and call.args else ()
                verbs |= {
                    part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    missing = {verb for verb in verbs if "_" in verb and not verb.endswith("_")} - ACT_LABELS.keys() - {*UNLISTED}
    assert verbs
    assert not missing
    assert UNLISTED_LABELS.keys() == {*UNLISTED}
    assert NOTES.keys() | UNDO.keys() == ACT_LABELS.keys()
    assert not NOTES.keys() & UNDO.keys()
    assert UNDO.keys() >= UNDONE_WHILE_LATEST | UNDONE_BY_ADMINS


def check_undone(client: Client, tenant: Tenant, act: Callable[[], object], state: Callable[[], object]) -> None:
    """Perform an act, and check that its line offers an Undo that restores the state before it."""
    with tenant_scope(tenant.pk):
        before = state()
        act()
        assert state() != before
    row = newest(client, tenant)
    assert row.undo == "possible", row.entry.verb
    text = text_of(client.post(page("activity-undo", tenant, row.entry.pk), follow=True))
    assert "Undone:" in text, row.entry.verb
    with tenant_scope(tenant.pk):
        assert state() == before, row.entry.verb


def test_texts_links_and_snapshots_are_undone(admin: Client, tenant: Tenant) -> None:
    one, other, *_ = make_bakery_memories(tenant)
    summary: dict[str, Any] = {
        "tenant": tenant,
        "partition": parse_partition("agent=oven"),
        "style": "compact",
        "origin": "operator",
    }

    def memo() -> str:
        return getattr(TenantMemo.objects.for_tenant(tenant.pk).current().first(), "content", "")

    def current() -> Any:
        return PartitionSummary.objects.for_tenant(tenant.pk).current()

    def text() -> str:
        return getattr(current().first(), "content", "")

    def links() -> int:
        return MemoryLink.objects.for_tenant(tenant.pk).current().count()

    def unlink() -> None:
        unlink_memories(link=MemoryLink.objects.for_tenant(tenant.pk).current().get(), **by_now())

    for content in ("We open at six.", "We open at seven."):
        check_undone(admin, tenant, partial(perform, tenant, set_tenant_memo, tenant=tenant, content=content), memo)
        perform(tenant, set_tenant_memo, tenant=tenant, content=content)
    for content in ("Ovens are cleaned on Monday.", "Ovens are cleaned on Friday."):
        check_undone(admin, tenant, partial(perform, tenant, save_summary, content=content, **summary), text)
        perform(tenant, save_summary, content=content, **summary)
    check_undone(admin, tenant, lambda: withdraw_summary(summary=current().get(), **by_now()), text)
    check_undone(admin, tenant, lambda: link_memories(source=one, target=other, kind="about", **by_now()), links)
    perform(tenant, link_memories, source=one, target=other, kind="about")
    check_undone(admin, tenant, unlink, links)
    snapshots = Snapshot.objects.for_tenant(tenant.pk)
    check_undone(admin, tenant, lambda: create_snapshot(tenant=tenant, name="May", **by_now()), snapshots.count)
    changes = {"content": "The oven needs twenty minutes."}
    check_undone(
        admin,
        tenant,
        lambda: update_memory(memory=as_stored(one), changes=changes, **by_now()),
        lambda: as_stored(one).content,
    )


def perform(owner: Tenant, action: Callable[..., Any], /, **values: Any) -> None:
    with tenant_scope(owner.pk):
        action(**values, **by_now())


def test_profiles_questions_and_destinations_are_undone(admin: Client, tenant: Tenant) -> None:
    one, *_ = make_bakery_memories(tenant)
    own: dict[str, Any] = {"tenant_id": tenant.pk}

    def budgets() -> list[str]:
        return sorted(BudgetProfile.objects.for_tenant(tenant.pk).active().values_list("name", flat=True))

    def drafts() -> list[Any]:
        rows = ScoringProfileVersion.objects.for_tenant(tenant.pk).exclude(state="retired")
        return list(rows.values_list("name", "state", "recorded_to"))

    def questions() -> int:
        return GoldenQuestion.objects.for_tenant(tenant.pk).not_removed().count()

    def destinations() -> int:
        return AlertDestination.objects.for_tenant(tenant.pk).filter(removed_at=None).count()

    check_undone(admin, tenant, lambda: create_budget_profile(name="short", **own, **by_now()), budgets)
    check_undone(admin, tenant, lambda: restore_budget_profile(name="short", **own, **by_now()), budgets)
    perform(tenant, restore_budget_profile, name="short", **own)
    check_undone(admin, tenant, lambda: retire_budget_profile(name="short", **own, **by_now()), budgets)
    check_undone(admin, tenant, lambda: create_scoring_profile(name="mine", **own, **by_now()), drafts)
    perform(tenant, create_scoring_profile, name="other", **own)
    retired: dict[str, Any] = {"name": "other", "version": 1} | own
    check_undone(admin, tenant, lambda: retire_scoring_profile(**retired, **by_now()), drafts)
    question: dict[str, Any] = {"text": "When do we open?", "memory_ids": [one.pk], "partition": None} | own
    check_undone(admin, tenant, lambda: collect_golden_question(**question, **by_now()), questions)
    address: dict[str, Any] = {
        "kind": "email",
        "address": "ops@bakery.example",
        "sends_closing": True,
        "tenant": tenant,
    }
    check_undone(admin, tenant, lambda: add_alert_destination(**address, **by_now()), destinations)
    perform(tenant, add_alert_destination, **address | {"address": "oven@bakery.example"})

    def remove() -> None:
        row = AlertDestination.objects.for_tenant(tenant.pk).get(removed_at=None)
        remove_alert_destination(destination=row, **by_now())

    check_undone(admin, tenant, remove, destinations)


def test_an_act_followed_by_another_one_is_not_undone(admin: Client, tenant: Tenant) -> None:
    for content in ("We open at six.", "We open at seven."):
        perform(tenant, set_tenant_memo, tenant=tenant, content=content)
    _, first = admin.get(page("activity", tenant), {"group": "texts"}).context["rows"]
    text = text_of(admin.get(page("activity", tenant), {"group": "texts"}))
    assert (first.undo, text.count("Changed since")) == ("", 1)
    assert "Undo the later change first" in text_of(
        admin.post(page("activity-undo", tenant, first.entry.pk), follow=True)
    )


def test_lines_without_undo_show_the_reason(admin: Client, tenant: Tenant) -> None:
    operator = client_of(new_operator("oda", "operator", tenant))
    perform(tenant, create_api_key, tenant=tenant, name="oven", scopes=["read"])
    perform(tenant, add_alert_destination, kind="email", address="o@b.example", sends_closing=True, tenant=tenant)
    assert "Admins can undo" in text_of(operator.get(page("activity", tenant)))
    text = text_of(admin.get(page("activity", tenant)))
    assert "Created an API key" in text
    assert "Revoke it on its page" in text
    assert "Admins can undo" not in text


def test_targets_are_named_in_words_and_paths_may_be_long(admin: Client, tenant: Tenant) -> None:
    long = f"agent={'x' * 120}/user={'y' * 120}"
    perform(tenant, set_retention_policy, tenant=tenant, partition=long, days=30, age_from="archived")
    perform(tenant, assign_budget_profile, tenant_id=tenant.pk, profile_name="default", partition_path=long)
    perform(tenant, set_alert_rules, tenant=tenant, settings={"embedding_backlog": RuleSetting(True, 60)})
    perform(tenant, create_api_key, tenant=tenant, name="oven", scopes=["read"])
    perform(tenant, save_prompt, tenant_id=tenant.pk, text="Be brief.")
    rows = admin.get(page("activity", tenant)).context["rows"]
    prompt, key, rules, assigned, retention, _, created = ([target.text for target in row.targets] for row in rows)
    assert (prompt, key, rules, created) == (["Version 2"], ["oven"], ["Embedding backlog"], ["Acme"])
    assert retention == [f"{long[:89]}…"]
    assert rows[4].changes == ["days after archiving: none → 30"]
    assert assigned == ["default", f"{long[:89]}…"]
    assert rows[3].undo == "possible"
