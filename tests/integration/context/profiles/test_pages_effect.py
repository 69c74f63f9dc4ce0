"""The effect of unsaved settings on saved questions: before and after, bounded, nothing saved or counted."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from context.models import ScoringProfileVersion
from context.profiles.budget_profiles import current_budget_profile
from context.profiles.scoring_fields import scoring_profile_form_values
from context.services.profiles.scoring_profiles import ADR_0040
from context.workbench.saved_questions import SAVED_QUESTIONS_MAX, SavedQuestion, saved_questions
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.evaluation_helpers import counted_rows, golden
from tests.integration.page_helpers import (
    HTMX,
    client_of,
    make_bakery_memories,
    page,
    store_memories_for_pages,
    text_of,
)
from tests.integration.scoring_helpers import BY_WORDS, new_version
from tests.users import new_operator

QUESTION = "What does ERR_4012 mean?"
NUMBERS = {**ADR_0040.to_numbers(), "weights": BY_WORDS}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def budget_effect(client: Client, tenant: Tenant, headers: Any = None, **typed: Any) -> Any:
    return client.get(f"{page('budget-effect', tenant, 'default')}?{urlencode(typed)}", headers=headers or {})


def scoring_fields(**changes: Any) -> dict[str, Any]:
    fields = {
        name: value
        for name, value in scoring_profile_form_values(NUMBERS).items()
        if value is not None and value is not False
    }
    return fields | {"version": "1"} | changes


def scoring_effect(client: Client, tenant: Tenant, headers: Any = None, **changes: Any) -> Any:
    query = urlencode(scoring_fields(**changes))
    return client.get(f"{page('scoring-effect', tenant, 'own')}?{query}", headers=headers or {})


def test_smaller_budget_loses_evidence_and_shows_it(client: Client, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    golden(tenant, QUESTION, memories[1], memories[2])
    before = counted_rows()
    response = budget_effect(client, tenant, default_tokens=40, include_tenant_memo="on")
    effect = response.context["effect"]
    assert (effect.evidence, effect.included_before, effect.worse) == (2, 2, 1)
    assert effect.included_after < 2
    shown = " ".join(text_of(response).split())
    for words in (
        f"2 → {effect.included_after} of 2",
        "worse",
        "removed</summary>",
        "duration",
        "Nothing is saved or counted",
    ):
        assert words in shown, words
    assert counted_rows() == before
    with tenant_scope(tenant.pk):
        assert current_budget_profile(tenant.pk).version == 0


def test_unchanged_numbers_have_no_effect_and_evaluate_each_question_once(client: Client, tenant: Tenant) -> None:
    golden(tenant, QUESTION, make_bakery_memories(tenant)[1])

    def count(**typed: Any) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert budget_effect(client, tenant, **typed).status_code == 200
        return len(queries)

    same = budget_effect(client, tenant)
    assert same.context["effect"].moved == 0
    assert "the same" in text_of(same)
    assert count() < count(default_tokens=60)


def test_other_weights_bring_other_blocks(client: Client, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    for number in range(12):
        store_memories_for_pages(
            tenant, (f"ERR_4012 was seen on bike {number} of the fleet, {'again ' * 30}.", "agent=service", "fact")
        )
    golden(tenant, QUESTION, memories[4])
    client.post(page("budgets", tenant), {"default_tokens": 200, "edited_from": 0})
    new_version(tenant, "own")
    turned = {f"weight_{part}": "" for part in BY_WORDS} | {"weight_confidence": "1"}
    response = scoring_effect(client, tenant, **turned)
    effect = response.context["effect"]
    assert effect.moved == 1
    assert effect.rows[0].entering
    assert effect.rows[0].leaving
    with tenant_scope(tenant.pk):
        assert ScoringProfileVersion.objects.for_tenant(tenant.pk).count() == 1


def test_effect_comes_as_a_fragment_and_without_scripts_as_part_of_the_page(client: Client, tenant: Tenant) -> None:
    golden(tenant, QUESTION, make_bakery_memories(tenant)[1])
    new_version(tenant, "own")
    for fragment in (
        text_of(scoring_effect(client, tenant, HTMX, pool_size="50")),
        text_of(budget_effect(client, tenant, HTMX, default_tokens=500)),
    ):
        assert "<html" not in fragment
        assert "evidence included" in fragment
    tried = client.post(
        page("scoring-profile", tenant, "own"), scoring_fields(edited_from="1", pool_size="50", **{"try": "1"})
    )
    assert tried.status_code == 200
    assert "evidence included" in text_of(tried)
    with tenant_scope(tenant.pk):
        assert ScoringProfileVersion.objects.for_tenant(tenant.pk).count() == 1


def test_refused_numbers_are_reported_and_not_assembled(client: Client, tenant: Tenant) -> None:
    golden(tenant, QUESTION, make_bakery_memories(tenant)[1])
    new_version(tenant, "own")
    for refused, words in (
        (scoring_effect(client, tenant, weight_relevance="0.9"), "sum to 1.2, not to 1"),
        (scoring_effect(client, tenant, pool_size="many"), "A whole number from 0 to 1,000 candidates."),
        (budget_effect(client, tenant, default_tokens=0), "A whole number from 1 to 2,000,000 tokens."),
    ):
        assert refused.status_code == 422
        assert words in text_of(refused)
        assert "effect" not in refused.context


def test_golden_questions_come_first_and_no_more_than_a_few(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[1]
    for number in range(SAVED_QUESTIONS_MAX + 3):
        golden(tenant, f"Question {number} about ERR_4012?", memory)
    with tenant_scope(tenant.pk):
        found, known = saved_questions(tenant.pk, tenant.name, now=timezone.now())
    assert (len(found), known) == (SAVED_QUESTIONS_MAX, SAVED_QUESTIONS_MAX + 3)
    assert all(each.evidence == [memory.pk] for each in found)
    shown = " ".join(text_of(client.get(page("budgets", tenant))).split())
    assert f"The newest {SAVED_QUESTIONS_MAX} of {SAVED_QUESTIONS_MAX + 3} golden questions" in shown
    assert "shown when a setting changes" in shown


def test_no_further_question_is_evaluated_after_the_time_limit(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = make_bakery_memories(tenant)[1]
    for number in range(3):
        golden(tenant, f"Question {number} about ERR_4012?", memory)
    monkeypatch.setattr("context.workbench.saved_questions.SECONDS_MAX", 0.0)
    shown = budget_effect(client, tenant, default_tokens=60)
    effect, asked = shown.context["effect"], len(shown.context["questions"])
    assert (len(effect.rows), effect.not_assembled) == (1, asked - 1)
    assert f"1 of {asked} questions run before the time limit" in " ".join(text_of(shown).split())


def test_link_to_a_question_of_an_early_year_opens(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    link = SavedQuestion(QUESTION, "", as_of=datetime(1, 1, 1, tzinfo=UTC)).query_string
    assert "as_of=0001-01-01T00%3A00%3A00" in link
    assert client.get(f"{page('context-preview', tenant)}?{link}").status_code == 200


def test_pages_of_a_profile_show_the_questions_without_asking_them(client: Client, tenant: Tenant) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(page("scoring-profile", tenant, "own")).status_code == 200
        return len(queries)

    new_version(tenant, "own")
    memory = make_bakery_memories(tenant)[1]
    golden(tenant, QUESTION, memory)
    few = count()
    for number in range(4):
        golden(tenant, f"Question {number}?", memory)
    assert count() == few
    golden(tenant, QUESTION, memory, as_of=datetime(2026, 1, 2, tzinfo=UTC))
    shown = text_of(client.get(page("scoring-profile", tenant, "own")))
    assert 'as of <time datetime="2026-01-02T00:00:00+00:00"' in shown, "what tells it from the other of these words"


def test_only_a_short_question_is_tried_first(client: Client, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    golden(tenant, QUESTION, memories[0])
    golden(tenant, "Was bedeutet das? " * 300, memories[0])
    opened = client.get(page("budgets", tenant))
    assert opened.status_code == 200
    assert opened.context["trial"]["query"].value() == QUESTION
    refused = client.get(page("budgets", tenant), {"default_tokens": "700", "query": "Was bedeutet das? " * 170})
    assert "Query</a>: Shorten the text to about" in text_of(refused)


def test_strangers_find_nothing_and_viewers_may_look(tenant: Tenant, other_tenant: Tenant, client: Client) -> None:
    new_version(other_tenant, "own")
    assert client.get(page("scoring-effect", tenant, "own")).status_code == 404
    assert client.get(page("scoring-effect", other_tenant, "own")).status_code == 404
    assert client.get(page("budget-effect", tenant, "absent")).status_code == 404
    assert client.get(page("scoring-effect", tenant, "adr-0040") + "?version=9").status_code == 404
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert viewer.get(page("budget-effect", tenant, "default")).status_code == 200
    assert viewer.post(page("budget-effect", tenant, "default")).status_code in (403, 405)
    assert Client().get(page("budget-effect", tenant, "default")).status_code == 302
