"""The inclusion budget of a question is saved: in the profile, in a new one, or for its partition."""

from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from context.models import BudgetProfile, BudgetProfileAssignment, GoldenQuestion
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import HTMX, client_of, make_bakery_memories, page, text_of, undo_of

INPUTS = {"query": "What does ERR_4012 mean?", "partition": "agent=support", "max_tokens": 669}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def keep(client: Client, tenant: Tenant, **typed: Any) -> Any:
    address = f"{page('budget-keep', tenant)}?{urlencode(INPUTS)}"
    return client.post(address, {"max_tokens": 669, "edited_from": 0, **typed}, follow=True)


def budgets(tenant: Tenant) -> dict[str, int]:
    with tenant_scope(tenant.pk):
        return dict(BudgetProfile.objects.for_tenant(tenant.pk).current().values_list("name", "default_tokens"))


def test_budget_becomes_the_next_version_and_the_workbench_uses_it(client: Client, tenant: Tenant) -> None:
    shown = text_of(client.get(f"{page('budget-keep', tenant)}?{urlencode(INPUTS)}"))
    assert 'value="669"' in shown
    link = unescape(shown.partition('<span id="link" hidden>')[2].partition("<")[0])
    assert link.startswith("http://testserver/t/")
    assert client.get(link).context["form"]["max_tokens"].value() == "669"
    assert "default has a larger budget" in shown
    done = keep(client, tenant, keep_in="profile")
    assert budgets(tenant) == {"default": 669}
    assert "669 tokens saved in default version 1." in text_of(done)
    assert "max_tokens" not in done.redirect_chain[-1][0]
    client.post(undo_of(done))
    assert budgets(tenant) == {"default": BudgetProfile().default_tokens}


def test_smaller_budget_is_first_offered_in_a_new_profile(client: Client, tenant: Tenant) -> None:
    form = client.get(f"{page('budget-keep', tenant)}?{urlencode(INPUTS)}").context["form"]
    done = keep(client, tenant, **{name: form[name].value() for name in ("keep_in", "new_name")})
    assert budgets(tenant) == {"default-669": 669}
    assert "669 tokens saved in default-669 version 1. It has no assignments yet." in text_of(done)


def test_larger_budget_is_kept_without_a_warning(client: Client, tenant: Tenant) -> None:
    address = f"{page('budget-keep', tenant)}?{urlencode(INPUTS | {'max_tokens': 4_001})}"
    assert "has a larger budget" not in text_of(client.get(address))


def test_effect_is_that_of_the_new_budget(client: Client, tenant: Tenant, api: APIClient) -> None:
    make_bakery_memories(tenant)
    shown = text_of(client.get(page("budget-effect", tenant, "default"), {"max_tokens": 30}))
    assert "No queries yet." in shown
    assert "0 questions" not in shown
    for budget in (400, None):
        body = {"query": f"What does ERR_4012 mean at {budget}?"} | ({"max_tokens": budget} if budget else {})
        assert api.post("/api/v1/context", body, format="json").status_code == 200
    shown = text_of(client.get(f"{page('budget-keep', tenant)}?{urlencode(INPUTS | {'max_tokens': 30})}"))
    address = page("budget-effect", tenant, "default")
    assert f'hx-get="{address}" hx-include="#id_max_tokens"' in shown
    assert f'href="{address}?max_tokens=30"' in shown
    response = client.get(address, {"max_tokens": 30})
    effect = response.context["effect"]
    sides = [(row.before.budget.max_tokens, row.after.budget.max_tokens) for row in effect.rows]
    assert sides == [(BudgetProfile().default_tokens, 30)] * 2, "no own budget of a question"
    assert effect.moved == 2
    assert f"{BudgetProfile().default_tokens:,} → 30 tokens" in text_of(response)
    for wrong in ("", "0", "x"):
        refused = client.get(address, {"max_tokens": wrong}, headers=HTMX)
        assert "effect" not in refused.context
        assert "Not run: these settings are invalid: Default budget" in text_of(refused)


def test_budget_is_kept_for_one_partition(client: Client, tenant: Tenant) -> None:
    keep(client, tenant, keep_in="partition", new_name="support-long")
    assert budgets(tenant) == {"support-long": 669}
    with tenant_scope(tenant.pk):
        (row,) = BudgetProfileAssignment.objects.for_tenant(tenant.pk).current()
    assert (row.profile_name, row.partition_path) == ("support-long", "agent=support")


def test_new_profile_needs_a_free_name_and_a_changed_profile_is_not_overwritten(client: Client, tenant: Tenant) -> None:
    assert "budget_profile=long" in keep(client, tenant, keep_in="new", new_name="long").redirect_chain[-1][0]
    for typed in ({"keep_in": "new"}, {"keep_in": "new", "new_name": "long"}, {"keep_in": "profile", "edited_from": 9}):
        assert keep(client, tenant, **typed).status_code == 422
    assert budgets(tenant) == {"long": 669}


def test_budget_is_kept_as_a_golden_question_of_the_memory(client: Client, tenant: Tenant) -> None:
    memory, *_ = make_bakery_memories(tenant)
    address = f"{page('budget-keep', tenant)}?{urlencode(INPUTS | {'partition': ''})}"
    assert "Choose the expected memories" in text_of(client.get(address))
    golden = client.get(f"{address}&memory={memory.pk}").context["golden"]
    assert golden["memory"] == memory
    assert "memory" not in golden["back"]
    assert client.get(f"{address}&memory=x").context["golden"]["memory"] is None
    client.post(page("golden-collect", tenant), golden | {"memory": golden["memory"].pk})
    with tenant_scope(tenant.pk):
        question = GoldenQuestion.objects.for_tenant(tenant.pk).get()
        assert list(question.evidence.values_list("memory_id", flat=True)) == [memory.pk]
    assert (question.text, question.max_tokens) == (INPUTS["query"], 669)
