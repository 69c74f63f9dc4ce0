"""The pages of scoring profiles: drafts with the sum of their weights, the publishing requirements, roll-back."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from context.evaluation.runs import run_evaluation
from context.models import EvaluationRun, ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.scoring_fields import PART_WORDS, scoring_profile_form_values, weight_views
from context.services.profiles.scoring_profiles import ADR_0040, CONVERSATION_RECALL, PART_NAMES
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import CONTEXT_NOW
from tests.integration.evaluation_helpers import golden, requested
from tests.integration.page_helpers import HTMX, client_of, make_bakery_memories, page, text_of, undo_of
from tests.integration.scoring_helpers import (
    ARGUMENT,
    BY_WORDS,
    REASON,
    finished_evaluation,
    new_version,
    prove,
    published,
)
from tests.users import new_operator

NUMBERS = {**ADR_0040.to_numbers(), "weights": BY_WORDS}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("ada", "admin", tenant))


@pytest.fixture
def viewer(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


def typed(**changes: Any) -> dict[str, Any]:
    """Return what the form sends for these settings."""
    fields = {
        name: value
        for name, value in scoring_profile_form_values(NUMBERS).items()
        if value is not None and value is not False
    }
    return fields | {"edited_from": "1"} | changes


def versions(tenant: Tenant, name: str = "own") -> list[ScoringProfileVersion]:
    with tenant_scope(tenant.pk):
        return list(ScoringProfileVersion.objects.for_tenant(tenant.pk).named(name).versions())


def active_versions(tenant: Tenant) -> list[int]:
    return [row.version for row in versions(tenant) if row.is_active]


def test_every_part_has_a_sentence() -> None:
    assert set(PART_WORDS) == set(PART_NAMES)


def test_list_shows_shipped_and_own_with_state_and_targets(client: Client, tenant: Tenant) -> None:
    published(tenant, "own")
    new_version(tenant, "own", 2)
    new_version(tenant, "idea")
    with tenant_scope(tenant.pk):
        ScoringProfileAssignment.objects.create(
            tenant=tenant,
            profile_name="own",
            partition_path="user=alex",
            recorded_from=versions(tenant)[0].recorded_from,
        )
    shown = text_of(client.get(page("scoring-profiles", tenant)))
    for words in ("adr-0040", "conversation-recall", "published, locked", "published, active", "version 2: draft",
                  "idea", "user=alex", "Built-in", "Create draft"):  # fmt: skip
        assert words in shown, words
    assert 'aria-current="page"' in shown


def test_queries_of_the_list_do_not_grow(client: Client, tenant: Tenant) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(page("scoring-profiles", tenant)).status_code == 200
        return len(queries)

    published(tenant, "own")
    few = count()
    for number in range(4):
        published(tenant, f"p-{number}")
    assert count() == few


def test_queries_of_a_profile_do_not_grow_with_its_versions(client: Client, tenant: Tenant) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(page("scoring-profile", tenant, "own")).status_code == 200
        return len(queries)

    published(tenant, "own")
    few = count()
    for number in range(2, 6):
        published(tenant, "own", number, recorded_to=CONTEXT_NOW)
    assert count() == few


def test_shipped_profile_shows_its_weights_and_cannot_be_edited(client: Client, tenant: Tenant) -> None:
    shown = text_of(client.get(page("scoring-profile", tenant, "conversation-recall")))
    for weight in weight_views(CONVERSATION_RECALL.to_numbers()):
        assert weight.sentence.replace("'", "&#x27;") in shown
    assert "Save as draft" not in shown
    assert "Copy to a draft" in shown
    refused = client.post(page("scoring-profile", tenant, "conversation-recall"), typed())
    assert refused.status_code == 422
    assert "This built-in profile cannot be changed." in text_of(refused)


def test_new_draft_begins_with_the_numbers_of_a_version(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    response = client.post(page("scoring-create", tenant), {"name": "copy", "based_on": "own 1"}, follow=True)
    assert "copy is a draft" in text_of(response)
    (row,) = versions(tenant, "copy")
    assert (row.numbers, row.based_on, row.state, row.created_by) == (NUMBERS, "own 1", "draft", "olga")
    for fields, words in (
        ({"name": "copy"}, "already exists"),
        ({"name": "Copy"}, "lower-case letters"),
        ({"name": "x", "based_on": "nobody"}, "No scoring profile has this name"),
        ({"name": "x", "based_on": "own 9"}, "There is no such version"),
    ):
        refused = client.post(page("scoring-create", tenant), fields)
        assert refused.status_code == 422
        assert words in text_of(refused)


def test_edit_is_a_new_draft_and_shows_what_differs(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    response = client.post(page("scoring-profile", tenant, "own"), typed(pool_size="100"), follow=True)
    assert "Version 2 is a draft" in text_of(response)
    second, first = versions(tenant)
    assert second.numbers == {**NUMBERS, "pool_size": 100}
    assert first.numbers == NUMBERS
    shown = text_of(response)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", shown))
    assert "Pool was as many as the budget needs → becomes 100 candidates" in text
    again = client.post(
        page("scoring-profile", tenant, "own") + "?version=2", typed(pool_size="100", edited_from="2"), follow=True
    )
    assert "No differences" in text_of(again)
    assert len(versions(tenant)) == 2


def test_unchanged_form_changes_no_number(client: Client, tenant: Tenant) -> None:
    thirds = {"relevance": 1 / 3, "recency": 1 / 3, "usefulness": 1 - 2 / 3}
    new_version(tenant, "own", numbers={**NUMBERS, "weights": thirds, "half_life_days_by_kind": {"fact": 3.5}})
    fields = {name: value for name, value in scoring_profile_form_values(versions(tenant)[0].numbers).items() if value}
    response = client.post(page("scoring-profile", tenant, "own"), {**fields, "edited_from": "1"}, follow=True)
    assert "Nothing differs" not in text_of(response) or len(versions(tenant)) == 1
    assert versions(tenant)[0].numbers["weights"] == thirds


REFUSED_NUMBERS = [
    ({"weight_relevance": "0.9"}, "sum to 1.2, not to 1"),
    ({"weight_relevance": "1.7"}, "A number from 0 to 1"),
    ({"weight_relevance": "much"}, "A number is required"),
    ({"half_life_days": "0"}, "A number from 0.01 to 36,500 days."),
    ({"half_life_days_by_kind": "preference 180"}, "Enter kinds and days"),
    ({"half_life_days_by_kind": "preference: -1"}, "A number from 0.01"),
    ({"pool_size": "5"}, "A whole number from 10"),
    ({"relevance": "magic"}, "Select a valid choice"),
]


def test_refused_number_is_shown_at_its_field_and_nothing_is_saved(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    for changes, words in REFUSED_NUMBERS:
        refused = client.post(page("scoring-profile", tenant, "own"), typed(**changes))
        assert refused.status_code == 422
        assert words in text_of(refused)
        assert "Not saved" in text_of(refused)
    assert len(versions(tenant)) == 1


def test_weights_are_summed_up_while_they_are_typed(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    url = page("scoring-profile", tenant, "own")
    live = client.get(url, typed(weight_relevance="0.5"), headers=HTMX)
    assert "<html" not in text_of(live)
    assert "0.2 missing" in text_of(live)
    assert "0.2 too much" in text_of(client.get(url, typed(weight_relevance="0.9"), headers=HTMX))
    assert "complete" in text_of(client.get(url, typed(), headers=HTMX))
    assert len(versions(tenant)) == 1


def test_two_editors_do_not_overwrite_each_other(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    client.post(page("scoring-profile", tenant, "own"), typed(pool_size="100"))
    refused = client.post(page("scoring-profile", tenant, "own"), typed(pool_size="200"))
    assert refused.status_code == 422
    text = text_of(refused)
    assert "was saved in the meantime" in text
    assert 'name="edited_from" value="2"' in text
    assert 'name="pool_size" type="number" step="any" min="0" value="200"' in text, "what was typed is lost"
    assert '<ins class="figures"><span class="visually-hidden">becomes </span>100' in text, (
        "the other draft is not shown"
    )
    again = client.post(page("scoring-profile", tenant, "own"), typed(pool_size="200", edited_from="2"))
    assert again.status_code == 302
    assert {100, 200} <= {row.numbers["pool_size"] for row in versions(tenant)}


TYPED = {**ARGUMENT, "reason": "", "replaces": "0"}


def test_gate_names_what_is_missing_and_publishing_needs_both(admin: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    url = page("scoring-publish", tenant, "own", 1)
    shown = text_of(admin.get(page("scoring-profile", tenant, "own")))
    assert "No finished evaluation of exactly these settings" in shown
    assert "entered when you publish" in shown
    refused = admin.post(url, TYPED)
    assert refused.status_code == 422
    assert "No finished evaluation" in text_of(refused)
    assert ARGUMENT["decision"] in text_of(refused), "what was typed stays"
    prove(tenant, NUMBERS)
    for decision, words in (("", "20 to 4,000 characters"), ("ADR-9999", "At least 20 characters")):
        refused = admin.post(url, {**TYPED, "decision": decision})
        assert refused.status_code == 422
        assert words in refused.context["form"].errors["decision"][0]
    assert active_versions(tenant) == []
    done = admin.post(url, TYPED, follow=True)
    assert "own version 1 is published and active" in text_of(done)
    assert active_versions(tenant) == [1]
    for words in (*ARGUMENT.values(), "evidence at 1,000 tokens +35.0 pp", "adr-0040 version 1", "?with="):
        assert words in text_of(done), words


def test_refusal_names_evaluation_and_argument_together(admin: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    url = page("scoring-publish", tenant, "own", 1)
    asked = text_of(admin.get(url))
    assert "Publish own version 1?" in asked
    assert "evaluation and reason for change missing" in asked
    assert "Run an evaluation with a button above" in asked
    assert 'btn-primary">Publish version 1' not in asked
    draft = text_of(admin.get(page("scoring-profile", tenant, "own")))
    assert "Evaluate and publish" in draft
    assert url not in draft, "publishing is offered once there is an evaluation"
    refused = admin.post(url, {"replaces": "0"})
    assert refused.status_code == 422
    errors = refused.context["form"].errors
    assert "No finished evaluation" in errors["__all__"][0]
    assert set(errors) == {"__all__", "context", "decision", "consequences"}
    assert active_versions(tenant) == []


def test_version_that_is_not_clearly_better_needs_a_reason_that_the_audit_log_shows(
    admin: Client, tenant: Tenant
) -> None:
    new_version(tenant, "own")
    prove(tenant, NUMBERS, shares=[0.2] * 40)
    url = page("scoring-publish", tenant, "own", 1)
    asked = " ".join(text_of(admin.get(url)).split())
    assert "reason for change missing" in asked
    assert "evidence at 1,000 tokens −30.0 pp (−30.0 to −30.0 pp), 40 questions" in asked
    refused = admin.post(url, TYPED)
    assert refused.status_code == 422
    assert "It is worse than adr-0040 version 1" in refused.context["form"].errors["reason"][0]
    assert active_versions(tenant) == []
    done = admin.post(url, {**TYPED, "reason": REASON}, follow=True)
    assert active_versions(tenant) == [1]
    assert REASON in text_of(done)
    assert REASON in text_of(admin.get(page("audit-log", tenant)))


def test_gate_shows_what_was_measured_beside_what_is_in_use(admin: Client, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    golden(tenant, "What does ERR_4012 mean?", memories[1])
    new_version(tenant, "own")
    for profile in ("own@1", "adr-0040"):
        shown = " ".join(text_of(admin.get(page("scoring-publish", tenant, "own", 1))).split())
        assert "evidence at" not in shown
        run = requested(tenant, profile=profile)
        waiting = text_of(admin.get(page("scoring-publish", tenant, "own", 1)))
        assert "One is queued" in waiting
        assert "0 of 0" not in waiting, "the questions are counted when it starts"
        assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == "done"
    assert "adr-0040 version 1 was not evaluated on the same corpus" in shown
    shown = " ".join(text_of(admin.get(page("scoring-publish", tenant, "own", 1))).split())
    for words in (
        "percentage points (pp)",
        "adr-0040 version 1",
        "0.0 pp",
        "golden questions",
        "1 question; at least 30 are required",
    ):
        assert words in shown, words
    requested(tenant, profile="own@1")
    again = text_of(admin.get(page("scoring-publish", tenant, "own", 1)))
    assert "One is queued" in again, "it may have enough questions, although both have one that is too small"


def test_actions_need_confirmation_and_show_what_would_change(admin: Client, tenant: Tenant) -> None:
    published(tenant, "own")
    published(tenant, "own", 2, numbers={**NUMBERS, "pool_size": 50}, recorded_to=CONTEXT_NOW)
    asked = text_of(admin.get(page("scoring-rollback", tenant, "own", 2)))
    assert "Roll forward to own version 2?" in asked
    assert "50 candidates" in asked
    assert "data-confirm-form" in asked
    assert "Requests can no longer name the profile." in text_of(admin.get(page("scoring-retire", tenant, "own", 1)))
    assert active_versions(tenant) == [1]
    for verb in ("publish", "rollback", "retire"):
        assert admin.get(page(f"scoring-{verb}", tenant, "own", 9)).status_code == 404


def test_publishing_has_an_undo_and_a_version_can_be_retired_and_brought_back(admin: Client, tenant: Tenant) -> None:
    published(tenant, "own")
    new_version(tenant, "own", 2)
    published_again = admin.post(
        page("scoring-publish", tenant, "own", 2), {**TYPED, "reason": REASON, "replaces": "1"}, follow=True
    )
    assert active_versions(tenant) == [2]
    undone = admin.post(undo_of(published_again), follow=True)
    assert "own version 1 restored." in text_of(undone)
    assert active_versions(tenant) == [1]
    again = admin.post(page("scoring-rollback", tenant, "own", 2), follow=True)
    assert active_versions(tenant) == [2]
    admin.post(undo_of(again), follow=True)
    retired = admin.post(page("scoring-retire", tenant, "own", 1), follow=True)
    assert active_versions(tenant) == []
    admin.post(undo_of(retired))
    assert active_versions(tenant) == [1]


def test_page_that_was_overtaken_does_not_publish(admin: Client, tenant: Tenant) -> None:
    published(tenant, "own")
    new_version(tenant, "own", 2)
    refused = admin.post(page("scoring-publish", tenant, "own", 2), {**TYPED, "replaces": "0"})
    assert refused.status_code == 422
    assert "version 1 is active" in text_of(refused)


def test_refused_roll_back_and_retirement_show_the_reason(admin: Client, client: Client, tenant: Tenant) -> None:
    published(tenant, "own")
    new_version(tenant, "own", 2)
    assert "was never published" in text_of(admin.post(page("scoring-rollback", tenant, "own", 2), follow=True))
    client.post(page("scoring-assignments", tenant), {"profile_name": "own", "api_key": "", "partition": ""})
    assert "assigned to one target" in text_of(admin.post(page("scoring-retire", tenant, "own", 1), follow=True))
    assert active_versions(tenant) == [1]
    assert "built in" in text_of(admin.post(page("scoring-retire", tenant, "adr-0040", 1), follow=True))


def test_profile_is_assigned_ended_and_assigned_again(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    url = page("scoring-assignments", tenant)
    refused = client.post(url, {"profile_name": "own", "api_key": "", "partition": ""})
    assert refused.status_code == 422
    assert "publish one first" in text_of(refused)
    fields = {"profile_name": "conversation-recall", "api_key": "", "partition": "user=alex", "confirmed": "user=alex"}
    assert "conversation-recall assigned to user=alex." in text_of(client.post(url, fields, follow=True))
    ended = client.post(page("scoring-assignment-end", tenant), {"partition": "user=alex"}, follow=True)
    assert "ended." in text_of(ended)
    assert "conversation-recall assigned to user=alex again." in text_of(client.post(undo_of(ended), follow=True))
    with tenant_scope(tenant.pk):
        assert ScoringProfileAssignment.objects.for_tenant(tenant.pk).current().get().partition_path == "user=alex"
    assert "user=alex" in text_of(client.get(page("scoring-profile", tenant, "conversation-recall")))


def test_two_versions_are_compared_as_page_and_as_fragment(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    url = page("scoring-compare", tenant)
    whole = text_of(client.get(url, {"left": "adr-0040 1", "right": "own 1"}))
    differing, unchanged = whole.split("Unchanged settings")
    assert "Weight of relevance" in differing
    assert "Half-life" in unchanged
    assert "Half-life" not in differing
    assert '?left=adr-0040&amp;right=own%401">Compare on a query' in whole
    fragment = text_of(client.get(url, {"left": "own 1", "right": "own 1"}, headers=HTMX))
    assert "<html" not in fragment
    assert "No differences" in fragment
    assert client.get(url, {"left": "own 7", "right": "own 1"}).status_code == 422


def test_calibrated_profile_shows_its_coefficients(client: Client, tenant: Tenant) -> None:
    numbers = {**NUMBERS, "coefficients": {"relevance": 4.25, "lexical_overlap": -0.5}, "intercept": -3.125}
    new_version(tenant, "own", numbers=numbers, report={"rows": 900, "log_loss": 0.21, "base_log_loss": 0.4})
    shown = text_of(client.get(page("scoring-profile", tenant, "own")))
    for words in ("calibrated", "4.2500", "−0.5000", "−3.1250", "900 held-out candidates", "Keep calibration"):
        assert words in shown, words
    fields = {
        name: value
        for name, value in scoring_profile_form_values(numbers).items()
        if value is not None and value is not False
    }
    url = page("scoring-profile", tenant, "own")
    client.post(url, {**fields, "edited_from": "1", "pool_size": "50"})
    assert versions(tenant)[0].numbers["coefficients"] == numbers["coefficients"]
    client.post(f"{url}?version=2", {**fields, "edited_from": "2", "pool_size": "50", "is_calibrated": ""})
    assert versions(tenant)[0].numbers["coefficients"] is None


def test_viewer_sees_operator_drafts_admin_publishes(viewer: Client, client: Client, tenant: Tenant) -> None:
    published(tenant, "own")
    new_version(tenant, "own", 2)
    shown = text_of(viewer.get(page("scoring-profile", tenant, "own") + "?version=2"))
    for words in ("Save as draft", "Copy to a draft", "Publish version", "Roll back", "Retire version"):
        assert words not in shown
    assert "Only admins can publish" in text_of(client.get(page("scoring-profile", tenant, "own") + "?version=2"))
    to_draft = [
        page("scoring-create", tenant),
        page("scoring-profile", tenant, "own"),
        page("scoring-assignments", tenant),
    ]
    to_publish = [page(f"scoring-{verb}", tenant, "own", 1) for verb in ("publish", "rollback", "retire")]
    for url in (*to_draft, *to_publish):
        assert viewer.post(url, {}).status_code == 403, url
    for url in to_publish:
        assert client.post(url, {}).status_code == 403, url
    assert active_versions(tenant) == [1]


def test_strangers_and_unknown_names_find_nothing(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    published(other_tenant, "own")
    assert client.get(page("scoring-profile", tenant, "own")).status_code == 404
    assert client.get(page("scoring-profile", other_tenant, "own")).status_code == 404
    assert client.get(page("scoring-profile", tenant, "adr-0040") + "?version=9").status_code == 404
    assert client.get(page("scoring-profile", tenant, "adr-0040") + "?version=x").status_code == 404
    assert client.post(page("scoring-profile", tenant, "own"), typed()).status_code == 404


def test_draft_is_evaluated_from_its_page(client: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    new_version(tenant, "own", 2, numbers={**NUMBERS, "pool_size": 50})
    shown = text_of(client.get(page("scoring-profile", tenant, "own") + "?version=1"))
    fields = dict(re.findall(r'type="hidden" name="(profile|packer|budgets)" value="([^"]+)"', shown))
    assert fields["profile"] == "own@1"
    response = client.post(page("evaluations", tenant), {**fields, "corpus": "updated_facts"})
    assert response.status_code == 302
    with tenant_scope(tenant.pk):
        baseline, run = EvaluationRun.objects.for_tenant(tenant.pk).order_by("profile_name")
    assert (baseline.profile_name, baseline.corpus_kind) == ("adr-0040", "updated_facts")
    assert (run.profile_name, run.profile_version, run.profile_numbers) == ("own", 1, NUMBERS)


def test_page_that_watches_an_evaluation_offers_to_publish_when_it_is_done(admin: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    done = finished_evaluation(tenant, NUMBERS, shares=[0.5] * 40, profile_name="own", profile_version=1)
    watched = text_of(admin.get(page("evaluation", tenant, done.pk), headers=HTMX))
    assert page("scoring-publish", tenant, "own", 1) in watched


def test_publish_page_polls_while_an_evaluation_runs(admin: Client, tenant: Tenant) -> None:
    new_version(tenant, "own")
    url = page("scoring-publish", tenant, "own", 1)
    assert "every 2s" not in text_of(admin.get(url))
    requested(tenant, corpus_kind="updated_facts", profile="own@1")
    assert "every 2s" in text_of(admin.get(url))


@pytest.mark.parametrize(("questions", "corpus"), [(29, "updated_facts"), (30, "golden")])
def test_saved_draft_is_evaluated_on_questions_that_suffice(
    questions: int, corpus: str, client: Client, tenant: Tenant
) -> None:
    memory = make_bakery_memories(tenant)[0]
    for number in range(questions):
        golden(tenant, f"Question {number}?", memory)
    new_version(tenant, "own")
    client.post(page("scoring-profile", tenant, "own"), typed(edited_from=1, evaluate=1))
    with tenant_scope(tenant.pk):
        run = EvaluationRun.objects.for_tenant(tenant.pk).get(profile_name="own")
    assert run.corpus_kind == corpus


def test_name_that_is_an_address_of_the_api_is_refused(client: Client, tenant: Tenant) -> None:
    response = client.post(page("scoring-create", tenant), {"name": "assignments"})
    assert response.status_code == 422
    assert response.context["form"].errors["name"] == ["This name is reserved for another address."]
