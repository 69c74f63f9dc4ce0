"""The compaction policy on the budget page: entered with units, stored only where it differs, compared in words."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from context.models import BudgetProfile
from context.profiles.budget_fields import BudgetProfileForm, budget_profile_form_values
from context.profiles.budget_profiles import current_budget_profile
from context.profiles.policy_fields import GROUPS, PREFIX, policy_form_values, policy_value_text
from context.services.profiles.compaction_policy import DEFAULT_POLICY, POLICY_FIELDS
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import client_of, page, text_of


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def active_profile(tenant: Tenant) -> BudgetProfile:
    with tenant_scope(tenant.pk):
        return current_budget_profile(tenant.pk)


def test_every_number_has_a_field_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(POLICY_FIELDS)


def test_form_gives_back_the_policy_it_was_filled_with() -> None:
    chosen = {"target": 0.33, "sleep_threshold": 0.615, "has_masking": False, "decision": "review", "idle_minutes": 3}
    form = BudgetProfileForm(budget_profile_form_values(BudgetProfile(compaction=chosen)))
    assert form.is_valid(), form.errors
    assert form.changes()["compaction"] == chosen


def test_numbers_are_shown_with_their_units(client: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("budgets", tenant)))
    assert "Compaction" in text
    for name in POLICY_FIELDS:
        assert f'name="{PREFIX}{name}"' in text
    assert "% of the window" in text


def test_only_what_differs_from_the_defaults_is_stored(client: Client, tenant: Tenant) -> None:
    typed = policy_form_values(DEFAULT_POLICY) | {"compaction_target": "40", "compaction_decision": "review"}
    response = client.post(
        page("budgets", tenant), {"edited_from": "0", "default_tokens": "4000", **typed}, follow=True
    )
    assert "Version 1 is active." in text_of(response)
    assert active_profile(tenant).compaction == {"target": 0.4, "decision": "review"}
    assert "becomes </span>40 % of the window" in text_of(response)
    client.post(page("budgets", tenant), {"edited_from": "1", "default_tokens": "500"})
    assert active_profile(tenant).compaction == {"target": 0.4, "decision": "review"}


OUT_OF_BOUNDS = [
    ("target", "96"),
    ("target", "70"),
    ("emergency_threshold", "60"),
    ("preserve_messages", "0"),
    ("mask_over_bytes", "x"),
    ("decision", "maybe"),
    ("has_masking", "perhaps"),
    ("compaction_model", "x" * 201),
]


def test_number_out_of_bounds_is_answered_422_at_its_field(client: Client, tenant: Tenant) -> None:
    for field, value in OUT_OF_BOUNDS:
        typed = {"edited_from": "0", "default_tokens": "4000", f"compaction_{field}": value}
        response = client.post(page("budgets", tenant), typed)
        assert response.status_code == 422
        assert f"compaction_{field}" in response.context["form"].errors
        assert 'id="tab-sessions" checked' in text_of(response)
    assert active_profile(tenant).version == 0


def test_two_versions_are_compared_in_words(client: Client, tenant: Tenant) -> None:
    client.post(page("budgets", tenant), {"edited_from": "0", "default_tokens": "4000", "compaction_target": "40"})
    text = text_of(client.get(page("budget-compare", tenant) + "?left=default+0&right=default+1"))
    assert "Target" in text
    assert "40 % of the window" in text
    assert "50 % of the window" in text


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("target", 0.5, "50 % of the window"),
        ("mask_over_bytes", 4096, "4,096 bytes"),
        ("has_masking", False, "off"),
        ("decision", "review", "waits for review"),
        ("compaction_model", "", "the session's own"),
    ],
)
def test_number_reads_with_its_unit(name: str, value: object, words: str) -> None:
    assert policy_value_text(name, value) == words


def test_form_shows_whole_numbers_without_a_point_as_the_versions_do() -> None:
    values = budget_profile_form_values(BudgetProfile(minimum_score=0.0, near_duplicate_threshold=0.95))
    assert (str(values["minimum_score"]), str(values["near_duplicate_threshold"])) == ("0", "0.95")
