"""Budget profiles: versions of the settings, who changed them, and what is refused."""

import math
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from context.models import BudgetProfile
from context.profiles.actions.budget_profiles import roll_back_budget_profile, save_budget_profile
from context.profiles.budget_profiles import (
    current_budget_profile,
    draft_budget_profile,
)
from context.profiles.versions import changed_numbers
from memories.models import AuditEntry, Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import CONTEXT_NOW, assemble_test_context, bakery, make_empty_tenant

pytestmark = pytest.mark.django_db

KIM = Actor.operator(7, "Kim")


def save(tenant: Tenant, edited_from: int, **changes: Any) -> BudgetProfile:
    with tenant_scope(tenant.pk):
        return save_budget_profile(
            tenant_id=tenant.pk,
            changes=changes,
            edited_from=edited_from,
            by=KIM,
            now=CONTEXT_NOW + timedelta(hours=edited_from),
        )


def roll_back(tenant: Tenant, version: int, replaces: int) -> BudgetProfile:
    with tenant_scope(tenant.pk):
        return roll_back_budget_profile(
            tenant_id=tenant.pk, version=version, replaces=replaces, by=KIM, now=CONTEXT_NOW + timedelta(hours=9)
        )


def current(tenant: Tenant) -> BudgetProfile:
    with tenant_scope(tenant.pk):
        return current_budget_profile(tenant.pk)


def versions(tenant: Tenant) -> list[BudgetProfile]:
    with tenant_scope(tenant.pk):
        return list(BudgetProfile.objects.for_tenant(tenant.pk).versions())


def test_tenant_without_rows_has_the_defaults_as_version_0() -> None:
    profile = current(make_empty_tenant())
    assert profile.version == 0
    assert profile.tuned_numbers == {
        "default_tokens": 4000,
        "overfetch_ratio": 1.25,
        "minimum_score": 0.0,
        "pinned_share": 0.5,
        "packer": "greedy",
        "ordering": "top_down",
        "include_tenant_memo": True,
        "include_memories_top_k": 5,
        "include_memory_days": False,
        "sections": {},
        "include_summaries_at": [0, 1],
        "summary_style": "compact",
        "include_linked_memories": True,
        "near_duplicate_threshold": 0.97,
        "elastic_fills_budget": True,
        "elastic_target_items": 6,
        "elastic_min_tokens": 20,
        "elastic_max_tokens": 90,
        "receipt_days": 90,
        "receipt_count": 100_000,
        "compaction": {},
    }


def test_saving_opens_a_version_and_closes_the_one_before() -> None:
    tenant = make_empty_tenant()
    save(tenant, 0, default_tokens=2000)
    save(tenant, 1, ordering="u_curve")
    new, old = versions(tenant)
    assert (new.version, new.default_tokens, new.ordering, new.recorded_to) == (2, 2000, "u_curve", None)
    assert (old.version, old.default_tokens, old.ordering) == (1, 2000, "top_down")
    assert old.recorded_to == new.recorded_from == CONTEXT_NOW + timedelta(hours=1)
    assert new.created_by == "Kim"


def test_saving_without_a_difference_makes_no_version() -> None:
    tenant = make_empty_tenant()
    assert save(tenant, 0, default_tokens=4000).version == 0
    assert versions(tenant) == []


def test_audit_names_who_and_which_fields() -> None:
    tenant = make_empty_tenant()
    save(tenant, 0, default_tokens=2000, minimum_score=0.2, packer="greedy")
    with tenant_scope(tenant.pk):
        entry = AuditEntry.objects.for_tenant(tenant.pk).get(verb="save_budget_profile")
    assert entry.fields == ["default_tokens", "minimum_score"]
    assert (entry.actor_kind, entry.actor_label, entry.target_ids) == ("operator", "Kim", ["default 1"])


def test_editor_of_a_version_that_is_no_longer_in_force_gets_a_conflict() -> None:
    tenant = make_empty_tenant()
    save(tenant, 0, default_tokens=2000)
    with pytest.raises(Conflict):
        save(tenant, 0, default_tokens=3000)
    with pytest.raises(Conflict):
        roll_back(tenant, 0, replaces=0)
    assert current(tenant).default_tokens == 2000


def test_version_never_ends_before_it_began_whichever_request_came_first() -> None:
    tenant = make_empty_tenant()
    for version, seconds in enumerate((1, 0)):
        with tenant_scope(tenant.pk):
            save_budget_profile(
                tenant_id=tenant.pk,
                changes={"default_tokens": 100 + version},
                edited_from=version,
                by=KIM,
                now=CONTEXT_NOW + timedelta(seconds=seconds),
            )
    with tenant_scope(tenant.pk):
        first, second = BudgetProfile.objects.for_tenant(tenant.pk).order_by("version")
    assert first.recorded_from == first.recorded_to == second.recorded_from == CONTEXT_NOW + timedelta(seconds=1)
    assert second.recorded_to is None


def test_roll_back_copies_an_older_version_as_a_new_one() -> None:
    tenant = make_empty_tenant()
    save(tenant, 0, default_tokens=2000, ordering="u_curve")
    save(tenant, 1, default_tokens=500)
    restored = roll_back(tenant, 1, replaces=2)
    assert (restored.version, restored.default_tokens, restored.ordering) == (3, 2000, "u_curve")
    assert roll_back(tenant, 0, replaces=3).tuned_numbers == BudgetProfile().tuned_numbers
    with tenant_scope(tenant.pk):
        entries = AuditEntry.objects.for_tenant(tenant.pk).filter(verb="roll_back_budget_profile")
        assert sorted(entry.fields for entry in entries) == [["default_tokens"], ["default_tokens", "ordering"]]


def test_roll_back_to_an_absent_version_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        roll_back(make_empty_tenant(), 4, replaces=0)
    assert refused.value.field == "version"


OUT_OF_BOUNDS: list[tuple[str, Any]] = [
    ("default_tokens", 0),
    ("default_tokens", -5),
    ("default_tokens", 2_000_001),
    ("default_tokens", "many"),
    ("default_tokens", None),
    ("overfetch_ratio", 0.99),
    ("overfetch_ratio", 10.01),
    ("overfetch_ratio", math.nan),
    ("overfetch_ratio", math.inf),
    ("minimum_score", -0.1),
    ("minimum_score", 1.1),
    ("ordering", "random"),
    ("packer", "magic"),
    ("include_memories_top_k", 0),
    ("include_memories_top_k", 201),
    ("include_tenant_memo", "perhaps"),
    ("sections", {"memory": {"tokens": 5}}),
    ("sections", {"memories": {"tokens": -1}}),
    ("sections", {"memories": {"tokens": 1.5}}),
    ("sections", {"memories": {"tokens": True}}),
    ("sections", {"memories": {"share": 1.01}}),
    ("sections", {"memories": {"tokens": 5, "share": 0.5}}),
    ("sections", {"memories": {}}),
    ("sections", {"memories": {"share": 0.6}, "focus": {"share": 0.5}}),
    ("sections", None),
    ("sections", []),
    ("sections", "all"),
    ("include_summaries_at", None),
    ("include_summaries_at", {}),
    ("include_summaries_at", [8]),
    ("include_summaries_at", [-1]),
    ("include_summaries_at", ["root"]),
    ("include_summaries_at", [None]),
    ("summary_style", "poetic"),
    ("summary_style", None),
    ("include_linked_memories", "perhaps"),
    ("include_memory_days", "perhaps"),
    ("elastic_fills_budget", None),
    ("pinned_share", 1.01),
    ("pinned_share", -0.01),
    ("pinned_share", math.nan),
    ("near_duplicate_threshold", 1.01),
    ("near_duplicate_threshold", -0.01),
    ("near_duplicate_threshold", math.nan),
    ("elastic_target_items", 0),
    ("elastic_target_items", 201),
    ("elastic_min_tokens", 0),
    ("elastic_min_tokens", 91),
    ("elastic_max_tokens", 8193),
    ("receipt_days", 0),
    ("receipt_days", 3651),
    ("receipt_count", 0),
    ("receipt_count", 10_000_001),
    ("version", 9),
    ("tenant_id", 9),
]


def test_value_out_of_bounds_is_refused_by_field_and_nothing_is_written() -> None:
    tenant = make_empty_tenant()
    for field, value in OUT_OF_BOUNDS:
        with pytest.raises(InvalidInput) as refused:
            save(tenant, 0, **{field: value})
        assert refused.value.field == field, value
    assert versions(tenant) == []


def test_every_wrong_field_is_named_at_once() -> None:
    tenant = make_empty_tenant()
    with pytest.raises(InvalidInput) as refused:
        save(tenant, 0, default_tokens=0, minimum_score=math.nan, colour="red")
    assert {problem.field for problem in refused.value.problems} == {"default_tokens", "minimum_score", "colour"}


def test_bounds_are_inclusive() -> None:
    tenant = make_empty_tenant()
    saved = save(tenant, 0, default_tokens=1, overfetch_ratio=10.0, minimum_score=1.0, include_memories_top_k=200)
    assert current(tenant) == saved


def test_new_fields_are_stored_as_given_and_levels_in_order() -> None:
    tenant = make_empty_tenant()
    sections = {"tenant_memo": {"tokens": 0}, "memories": {"share": 0.7}, "focus": {"share": 0.3}}
    save(tenant, 0, sections=sections, include_summaries_at=[2, 0, 2], packer="elastic", elastic_max_tokens=120)
    saved = current(tenant)
    assert (saved.sections, saved.include_summaries_at) == (sections, [0, 2])
    assert (saved.packer, saved.elastic_max_tokens) == ("elastic", 120)


def test_draft_is_checked_and_never_saved() -> None:
    tenant = make_empty_tenant()
    base = current(tenant)
    draft = draft_budget_profile(base, {"default_tokens": 300})
    assert draft.pk is None
    assert [number.field for number in changed_numbers(base, draft)] == ["default_tokens"]
    with pytest.raises(InvalidInput):
        draft_budget_profile(base, {"default_tokens": 0})
    assert versions(tenant) == []


def test_profile_in_force_is_the_one_a_context_uses_and_names() -> None:
    tenant = bakery()
    save(tenant, 0, default_tokens=60, include_tenant_memo=False, include_memories_top_k=1)
    context = assemble_test_context(tenant, partition="user=alex")
    assert context.budget.max_tokens == 60
    assert context.budget_profile == {"name": "default", "version": 1}
    assert len(context.blocks) == 1
    assert assemble_test_context(tenant, partition="user=alex", max_tokens=500).budget.max_tokens == 500


def test_profiles_of_another_tenant_are_out_of_sight() -> None:
    save(make_empty_tenant(), 0, default_tokens=77)
    assert current(make_empty_tenant()).version == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("start", [0, 1])
def test_of_two_editors_at_the_same_moment_one_gets_a_conflict(start: int) -> None:
    tenant = make_empty_tenant()
    if start:
        save(tenant, 0, default_tokens=100)
    outcomes: list[object] = []
    gate = threading.Barrier(2)

    def edit(tokens: int) -> None:
        gate.wait()
        try:
            outcomes.append(save(tenant, start, default_tokens=tokens).version)
        except Conflict:
            outcomes.append("conflict")
        finally:
            connection.close()

    editors = [threading.Thread(target=edit, args=[tokens]) for tokens in (200, 300)]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join()
    assert sorted(map(str, outcomes)) == [str(start + 1), "conflict"]
    assert current(tenant).version == start + 1
