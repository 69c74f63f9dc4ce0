"""Several operators change golden questions or evaluations at once: each gets a result or a refusal, not an error."""

from functools import partial

import pytest
from django.utils import timezone

from context.evaluation.actions.evaluations import delete_evaluation
from context.evaluation.actions.golden_questions import (
    remove_golden_question,
    restore_golden_question,
    update_golden_question,
)
from context.models import EvaluationRun, GoldenQuestion
from context.profiles.actions.scoring_profiles import publish_scoring_profile
from context.services.profiles.scoring_profiles import ADR_0040
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.concurrency import concurrent_refusal_codes
from tests.factories import TESTER, make_memory, make_tenant
from tests.integration.evaluation_helpers import golden
from tests.integration.scoring_helpers import ARGUMENT, new_version, prove

pytestmark = pytest.mark.django_db(transaction=True)

THREADS, ROUNDS = 6, 4


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return make_tenant()


def standing(tenant: Tenant, text: str) -> list[int]:
    """Return the number of expected memories of each current question with these words."""
    with tenant_scope(tenant.pk):
        rows = GoldenQuestion.objects.for_tenant(tenant.pk).not_removed().filter(text=text)
        return [row.evidence.count() for row in rows]


def test_question_that_many_collect_at_once_is_one_and_wants_all_they_noted(tenant: Tenant) -> None:
    memories = [make_memory(tenant) for _ in range(THREADS)]
    for number in range(ROUNDS):
        text = f"Which one, number {number}?"
        assert (
            concurrent_refusal_codes([partial(golden, tenant, text, memory) for memory in memories]) == [""] * THREADS
        )
        assert standing(tenant, text) == [THREADS]


def test_two_questions_that_become_the_same_at_once_are_one_and_a_refusal(tenant: Tenant) -> None:
    memory = make_memory(tenant)

    def change(question: GoldenQuestion, text: str) -> None:
        with tenant_scope(tenant.pk):
            update_golden_question(
                question=question, text=text, answer="", category="", as_of=None, by=TESTER, now=timezone.now()
            )

    for number in range(ROUNDS):
        questions = [golden(tenant, f"{place} {number}", memory) for place in range(2)]
        assert sorted(concurrent_refusal_codes([partial(change, row, f"Same {number}") for row in questions])) == [
            "",
            "duplicate",
        ]
        assert standing(tenant, f"Same {number}") == [1]


def test_question_that_is_restored_while_it_is_collected_again_is_stored_once(tenant: Tenant) -> None:
    memory = make_memory(tenant)

    def restore(question: GoldenQuestion) -> None:
        with tenant_scope(tenant.pk):
            restore_golden_question(question=question, by=TESTER, now=timezone.now())

    for number in range(ROUNDS):
        question = golden(tenant, f"Back {number}", memory)
        with tenant_scope(tenant.pk):
            remove_golden_question(question=question, by=TESTER, now=timezone.now())
        found = concurrent_refusal_codes([partial(restore, question), partial(golden, tenant, question.text, memory)])
        assert found in (["", ""], ["duplicate", ""])
        assert standing(tenant, question.text) == [1]


def test_evaluation_that_is_deleted_while_a_profile_is_published_by_it_does_one_of_both(tenant: Tenant) -> None:
    def publish(name: str) -> None:
        with tenant_scope(tenant.pk):
            publish_scoring_profile(
                tenant_id=tenant.pk, name=name, version=1, argument=ARGUMENT, by=TESTER, now=timezone.now()
            )

    def delete(run: EvaluationRun) -> None:
        with tenant_scope(tenant.pk):
            delete_evaluation(run=run, by=TESTER, now=timezone.now())

    for number in range(2 * ROUNDS):
        numbers = {**ADR_0040.to_numbers(), "half_life_days": 10.0 + number}
        run = prove(tenant, numbers)
        new_version(tenant, f"profile-{number}", numbers=numbers)
        found = concurrent_refusal_codes([partial(publish, f"profile-{number}"), partial(delete, run)])
        assert found in (["", "proves_a_profile"], ["not_evaluated", ""])
