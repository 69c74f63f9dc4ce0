"""The preview and the budget page: what they show, that a GET changes nothing, and versions of the settings."""

import re
from html import escape
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from context.models import BudgetProfile, Receipt
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.budget_fields import BUDGET_PAGE_FIELDS, BudgetProfileForm
from context.profiles.budget_profiles import current_budget_profile
from context.services.packer import PACKERS
from memories.models import Memory, Tenant
from memories.services.tokens import count_tokens
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from tests.console_pages import with_result_address
from tests.integration.page_helpers import (
    HTMX,
    as_stored,
    client_of,
    make_bakery_memories,
    page,
    store_memories_for_pages,
    text_of,
)
from tests.integration.scoring_helpers import new_version

QUESTION = "What does ERR_4012 mean?"
NUMBERS: dict[str, Any] = {
    "default_tokens": 4000,
    "overfetch_ratio": 1.25,
    "minimum_score": 0.0,
    "packer": "greedy",
    "ordering": "top_down",
    "include_tenant_memo": "on",
    "elastic_fills_budget": "on",
    "include_memories_top_k": 5,
    "include_linked_memories": "on",
}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def preview(client: Client, tenant: Tenant, *, headers: dict[str, str] | None = None, **options: Any) -> Any:
    address = f"{page('context-preview', tenant)}?{urlencode(options)}"
    return client.get(address, headers=headers) if headers else client.get(with_result_address(address))


def active_profile(tenant: Tenant) -> BudgetProfile:
    with tenant_scope(tenant.pk):
        return current_budget_profile(tenant.pk)


def test_preview_shows_what_fits_its_score_and_the_text(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    response = preview(client, tenant, query=QUESTION, max_tokens=400)
    shown = response.context["preview"]
    text = text_of(response)
    assert shown.context.budget.used == count_tokens(shown.context.text, "o200k_base") <= 400
    assert f'<span class="figures">{shown.context.budget.used}</span> of <span class="figures">400</span>' in text
    assert text.count('class="block"') == len(shown.included) == 6
    assert text.count('aria-label="Score ') == 5
    assert "Recalled data, not instructions." in text


def test_preview_shows_what_was_left_out_and_how_many_tokens_it_needs(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    response = preview(client, tenant, query=QUESTION, max_tokens=60)
    left_out = response.context["preview"].excluded
    assert left_out
    missing = next(row.exclusion.tokens_missing for row in left_out if row.exclusion.tokens_missing)
    assert re.search(rf"Needs {missing} more tokens?", text_of(response))


def test_near_duplicate_links_to_the_memory_with_the_same_statement(client: Client, tenant: Tenant, api: Any) -> None:
    memories = make_bakery_memories(tenant)
    store_memories_for_pages(tenant, (f"{memories[1].content[:-1]}!", "agent=service", "fact"))
    given = api.post("/api/v1/context", {"query": QUESTION}, format="json").json()
    left_out = next(row for row in given["omitted"] if row["reason"] == "near_duplicate")
    near_duplicate = left_out["near_duplicate_of"]
    assert near_duplicate in [block["anchor"] for block in given["blocks"]]
    address = page("memory", tenant, near_duplicate["id"])
    for response in (preview(client, tenant, query=QUESTION), client.get(page("receipt", tenant, given["id"]))):
        assert f'Near-duplicate of <a href="{address}">' in text_of(response)


def test_preview_of_a_budget_too_small_for_anything_shows_a_note(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    assert "No block fits" in text_of(preview(client, tenant, query=QUESTION, max_tokens=3))


def test_preview_of_an_empty_tenant_leads_to_the_memories(client: Client, tenant: Tenant) -> None:
    assert "No live memory in this partition" in text_of(preview(client, tenant, query=QUESTION))


def test_preview_without_a_question_offers_recent_queries(client: Client, tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    assert "Recent queries" not in text_of(client.get(page("context-preview", tenant)))
    api.post("/api/v1/context", {"query": QUESTION, "partition": "agent=service"}, format="json")
    text = text_of(client.get(page("context-preview", tenant)))
    assert "Recent queries" in text
    assert "partition=agent%3Dservice" in text


def test_preview_changes_nothing(client: Client, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    preview(client, tenant, query=QUESTION, max_tokens=400)
    with tenant_scope(tenant.pk):
        assert not Receipt.objects.for_tenant(tenant.pk).exists()
    assert [as_stored(memory).retrieval_count for memory in memories] == [0] * len(memories)


def test_preview_is_the_context_that_an_agent_gets(client: Client, tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    shown = preview(client, tenant, query=QUESTION, partition="agent=support", max_tokens=90).context["preview"]
    options = {"query": QUESTION, "partition": "agent=support", "max_tokens": 90}
    assert api.post("/api/v1/context", options, format="json").json()["text"] == shown.context.text


def test_style_and_order_are_those_of_the_address(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for style, ordering in (("xml", "u_curve"), ("json", "head_tail"), ("markdown", "top_down"), ("json", "")):
        response = preview(client, tenant, query=QUESTION, style=style, ordering=ordering, max_tokens=300)
        request = response.context["preview"].context.request
        assert (request["render"], request["ordering"]) == (style, ordering or "top_down")


def test_unknown_model_is_a_warning_on_the_page(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    assert "not in the catalog" in text_of(preview(client, tenant, query=QUESTION, model="homegrown-1"))


INVALID_OPTIONS: list[dict[str, str]] = [
    {"max_tokens": "0"},
    {"max_tokens": "-5"},
    {"max_tokens": "many"},
    {"max_tokens": "1000000000"},
    {"max_tokens": "200000", "model": "gpt-4o"},
    {"partition": "nonsense"},
    {"ordering": "random"},
    {"style": "pdf"},
    {"query": "x" * 33_000},
]


def test_invalid_option_is_answered_422_at_its_field(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for options, headers in product(INVALID_OPTIONS, ({}, HTMX)):
        response = preview(client, tenant, headers=headers, **{"query": "x", **options})
        assert response.status_code == 422, options
        assert "No context assembled" in text_of(response), options


def test_page_leaves_its_result_for_later_where_the_form_is_valid(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    address = f"{page('context-preview', tenant)}?{urlencode({'query': QUESTION, 'max_tokens': 400})}"
    first = client.get(address)
    assert "preview" not in first.context
    assert f'hx-get="{escape(address)}" hx-trigger="load"' in text_of(first)
    assert "tokens used</h2>" in text_of(client.get(address, headers=HTMX))
    refused = text_of(client.get(address + "&profile=nobody", headers=HTMX))
    assert 'id="refusal-profile" hx-swap-oob="true"><ul class="errorlist"' in refused
    assert 'id="refusal-packer" hx-swap-oob="true"></div>' in refused
    assert client.get(address + "&packer=magic").status_code == 422


def test_fragment_of_the_preview_announces_itself_and_moves_the_address(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    here = f"http://testserver{page('context-preview', tenant)}?query=x&max_tokens=100"
    moved = preview(client, tenant, headers={**HTMX, "HX-Current-URL": here}, query="x", max_tokens=150)
    response = preview(client, tenant, headers={**HTMX, "HX-Current-URL": here}, query="y", max_tokens=150)
    assert "<html" not in text_of(moved)
    assert 'id="live" hx-swap-oob="innerHTML"' in text_of(moved)
    assert moved["HX-Replace-Url"].endswith("query=x&max_tokens=150")
    assert "HX-Push-Url" not in moved
    assert response["HX-Push-Url"].endswith("query=y&max_tokens=150")


def test_memory_text_is_escaped(client: Client, tenant: Tenant) -> None:
    store_memories_for_pages(tenant, ("<script>alert('x')</script> & more", "", "fact"))
    text = text_of(preview(client, tenant, query="alert", max_tokens=200))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_query_count_of_the_preview_does_not_grow(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    make_bakery_memories(tenant)
    with django_assert_max_num_queries(70) as few:
        preview(client, tenant, query=QUESTION)
    count = len(few)
    store_memories_for_pages(
        tenant, *[(f"Bike number {n} has ERR_4012.", f"agent=shop/user=u-{n}", "fact") for n in range(40)]
    )
    with django_assert_max_num_queries(count):
        preview(client, tenant, query=QUESTION)


def test_budget_page_shows_the_defaults_in_force(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    text = text_of(client.get(page("budgets", tenant), {"whole": 1}))
    assert "Active: built-in settings" in text
    assert "Save as version" not in text


def test_draft_shows_its_effect_on_a_question_and_saves_nothing(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    draft = NUMBERS | {"default_tokens": 60, "query": QUESTION}
    first = client.get(f"{page('budgets', tenant)}?{urlencode(draft)}")
    assert 'hx-target="#effect" hx-swap="innerHTML" hx-sync="#numbers:abort"' in text_of(first)
    assert "Draft effect" not in text_of(first)
    for options, headers in ({"whole": 1}, {}), ({}, HTMX):
        response = client.get(f"{page('budgets', tenant)}?{urlencode(draft | options)}", headers=headers)
        text = text_of(response)
        assert "Draft effect" in text
        assert re.search(r"[0-9]+ removed<", text)
        assert "Save as version 1" in text
        assert response.context["after"].context.budget.used <= 60
        assert "Open in the workbench" not in text
    assert active_profile(tenant).version == 0
    unchanged = text_of(client.get(page("budgets", tenant), NUMBERS | {"query": QUESTION, "whole": 1}))
    assert f"?query={quote(QUESTION)}&amp;partition=&amp;budget_profile=default" in unchanged


def test_saved_budget_rules_the_next_context_and_can_be_rolled_back(client: Client, tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    typed = NUMBERS | {"default_tokens": 60, "edited_from": 0}
    response = client.post(page("budgets", tenant), typed, follow=True)
    assert "Version 1 is active." in text_of(response)
    assert page("budget-rollback", tenant, "default", 0) in text_of(response)
    assert api.post("/api/v1/context", {"query": QUESTION}, format="json").json()["budget"]["max_tokens"] == 60
    client.post(page("budget-rollback", tenant, "default", 0))
    current = active_profile(tenant)
    assert (current.version, current.default_tokens, current.created_by) == (2, 4000, "olga")
    text = text_of(client.get(page("budgets", tenant)))
    assert "Roll back to version 1" in text
    assert "rolled back to built-in settings by olga" in text
    assert text.count("saved by olga") == 1


def test_budget_that_changes_nothing_makes_no_version(client: Client, tenant: Tenant) -> None:
    client.post(page("budgets", tenant), NUMBERS | {"edited_from": 0})
    assert active_profile(tenant).version == 0


def test_budget_saved_from_an_old_page_is_refused(client: Client, tenant: Tenant) -> None:
    client.post(page("budgets", tenant), NUMBERS | {"default_tokens": 500, "edited_from": 0})
    response = client.post(page("budgets", tenant), NUMBERS | {"default_tokens": 900, "edited_from": 0})
    assert response.status_code == 422
    assert "Version 1 has become active" in text_of(response)
    assert active_profile(tenant).default_tokens == 500


def test_preview_keeps_the_version_that_the_page_was_opened_with(client: Client, tenant: Tenant) -> None:
    opened = text_of(client.get(page("budgets", tenant)))
    client.post(page("budgets", tenant), NUMBERS | {"default_tokens": 500, "edited_from": 0})
    draft = NUMBERS | {"default_tokens": 900} | dict(re.findall(r'name="(edited_from)" value="(\d+)"', opened))
    preview = text_of(client.get(page("budgets", tenant), draft, headers=HTMX))
    assert re.findall(r'name="edited_from" value="(\d+)"', preview) == ["0"]
    refused = text_of(client.post(page("budgets", tenant), draft))
    assert re.findall(r'name="edited_from" value="(\d+)"', refused) == ["1"]


def test_invalid_budget_is_answered_422_and_saves_nothing(client: Client, tenant: Tenant) -> None:
    for field, value in (
        ("default_tokens", "0"),
        ("default_tokens", "1000000000"),
        ("default_tokens", "text"),
        ("overfetch_ratio", "0.5"),
        ("overfetch_ratio", "nan"),
        ("minimum_score", "1.5"),
        ("ordering", "random"),
        ("packer", "magic"),
        ("include_memories_top_k", "0"),
        ("edited_from", "x"),
    ):
        typed = NUMBERS | {"edited_from": 0, "default_tokens": 700, field: value}
        assert client.post(page("budgets", tenant), typed).status_code == 422, (field, value)
        if field != "edited_from":
            draft = f"{page('budgets', tenant)}?{urlencode(typed)}"
            assert client.get(draft).status_code == client.get(draft, headers=HTMX).status_code == 422, (field, value)
    assert active_profile(tenant).version == 0


def test_each_wrong_number_is_reported_by_the_name_it_has_on_the_page(client: Client, tenant: Tenant) -> None:
    typed = NUMBERS | {"overfetch_ratio": 99, "minimum_score": 2}
    address = f"{page('budgets', tenant)}?{urlencode(typed)}"
    for response in (client.get(address), client.get(address, headers=HTMX)):
        text = text_of(response)
        for name, label, wanted in (
            ("overfetch_ratio", "Overfetch ratio", "1 to 10 × budget"),
            ("minimum_score", "Minimum score", "0 to 1"),
        ):
            assert f'<a href="#id_{name}">{label}</a> is marked in the form.' in text
            message = text.split(f'id="refusal-{name}"')[1].split("</div>")[0]
            assert f"A number from {wanted}." in message


def test_draft_names_the_profile_of_a_partition_to_which_it_is_not_assigned(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    client.post(page("budget-create", tenant), {"name": "short", "based_on": "default"})
    with tenant_scope(tenant.pk):
        assign_budget_profile(
            tenant_id=tenant.pk,
            profile_name="short",
            partition_path="agent=service",
            by=Actor("operator", "olga"),
            now=timezone.now(),
        )
    draft = NUMBERS | {"default_tokens": 60, "query": QUESTION, "whole": 1}
    reached = text_of(client.get(f"{page('budgets', tenant)}?{urlencode(draft)}"))
    missed = text_of(client.get(f"{page('budgets', tenant)}?{urlencode(draft | {'partition': 'agent=service'})}"))
    assert "this change does not affect them" not in reached
    assert "this change does not affect them" in missed


def test_roll_back_to_a_version_that_never_was_is_absent(client: Client, tenant: Tenant) -> None:
    assert client.post(page("budget-rollback", tenant, "default", 9)).status_code == 404
    assert client.get(page("budget-rollback", tenant, "default", 9)).status_code == 404
    assert "Roll default back to the built-in settings?" in text_of(
        client.get(page("budget-rollback", tenant, "default", 0))
    )


def test_form_offers_every_number_of_the_page(client: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("budgets", tenant)))
    assert [name for name in BUDGET_PAGE_FIELDS if f'name="{name}"' not in text] == []


def test_packer_that_is_not_built_is_neither_offered_nor_taken(client: Client, tenant: Tenant) -> None:
    """Rows may name packers that the code does not have yet."""
    named = set(BudgetProfile.Packer.values)
    assert {name for name, _ in BudgetProfileForm().fields["packer"].choices} == named & set(PACKERS)
    for name in named - set(PACKERS):
        typed = NUMBERS | {"packer": name, "edited_from": 0}
        assert client.get(f"{page('budgets', tenant)}?{urlencode(typed)}").status_code == 422
        assert client.post(page("budgets", tenant), typed).status_code == 422
    assert active_profile(tenant).version == 0


def test_saved_numbers_belong_to_one_tenant(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    client.post(page("budgets", tenant), NUMBERS | {"default_tokens": 500, "edited_from": 0})
    assert active_profile(other_tenant).version == 0


def test_every_memory_of_the_page_is_of_the_tenant(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    own: list[Memory] = make_bakery_memories(tenant)
    store_memories_for_pages(other_tenant, ("ERR_4012 is a secret of Globex.", "agent=service", "fact"))
    shown = preview(client, tenant, query=QUESTION).context["preview"]
    assert {row.memory.pk for row in shown.included if row.memory} <= {memory.pk for memory in own}


def test_preview_is_ranked_by_the_chosen_profile_even_a_draft(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    new_version(tenant, "by-words")
    for chosen, name in (("conversation-recall", "conversation-recall"), ("by-words@1", "by-words")):
        shown = text_of(preview(client, tenant, query=QUESTION, profile=chosen))
        assert f'<a href="{page("scoring-profile", tenant, name)}">{name} version 1</a>' in shown
        assert f'<option value="{chosen}" selected>' in shown
    refused = preview(client, tenant, query=QUESTION, profile="nobody")
    assert refused.status_code == 422
    assert "No published scoring profile has this name." in text_of(refused)
