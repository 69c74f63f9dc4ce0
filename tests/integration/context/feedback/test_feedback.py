"""Votes on memories: given, repeated, withdrawn, and derived from a model's answer."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.feedback import outcomes
from context.feedback.actions import record_feedback, withdraw_feedback
from context.feedback.outcomes import AnswerUsage, record_answer_usage
from context.feedback.votes import RecordedVotes
from context.models import Feedback
from memories.embeddings.providers import EmbeddingError
from memories.models import AuditEntry, Memory, Tenant
from memories.store.actions.edit import MemoryCounters, archive_memory, import_counters, update_memory
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import operator_read_scope, tenant_scope
from tests.concurrency import concurrent_refusal_codes
from tests.factories import make_memory, reread_memory
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    assemble_test_context,
    bakery,
    make_empty_tenant,
    new_row,
    store,
    warning_codes,
)

pytestmark = pytest.mark.django_db

KIM = Actor.operator(7, "Kim")
AGENT = Actor("key", "abc", "support agent (abc)")
OTHER_AGENT = Actor("key", "def", "shop agent (def)")
DAY = timedelta(days=1)
SOURDOUGH = "On Saturday he bakes sourdough."


def vote(
    tenant: Tenant, feedback: str = "POSITIVE", *, by: Actor = AGENT, now: Any = CONTEXT_NOW, **target: Any
) -> RecordedVotes:
    with tenant_scope(tenant.pk):
        return record_feedback(tenant_id=tenant.pk, feedback=feedback, by=by, now=now, **target)


def take_back(
    tenant: Tenant, feedback_id: UUID, *, by: Actor = KIM, now: Any = CONTEXT_NOW, reach: str = ""
) -> Feedback:
    with tenant_scope(tenant.pk):
        return withdraw_feedback(tenant_id=tenant.pk, feedback_id=feedback_id, reach=reach, by=by, now=now)


def answered(tenant: Tenant, receipt_id: Any, answer: str, *, now: Any = CONTEXT_NOW, reach: str = "") -> AnswerUsage:
    return record_answer_usage(
        tenant_id=tenant.pk, receipt_id=receipt_id, answer=answer, reach=reach, by=AGENT, now=now
    )


def score(memory: Memory) -> float:
    return reread_memory(memory).usefulness_score


def votes(tenant: Tenant) -> Sequence[Feedback]:
    with tenant_scope(tenant.pk):
        return list(Feedback.objects.for_tenant(tenant.pk).newest_first())


def bread_of(tenant: Tenant) -> Memory:
    with tenant_scope(tenant.pk):
        row: Memory = Memory.objects.for_tenant(tenant.pk).get(content__startswith="Alex bakes")
        return row


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["POSITIVE"], 2 / 3),
        (["NEGATIVE"], 1 / 3),
        (["VERY_NEGATIVE"], 1 / 5),
        (["POSITIVE", "NEGATIVE"], 1 / 2),
        (["POSITIVE", "POSITIVE", "POSITIVE", "VERY_NEGATIVE"], 4 / 8),
    ],
)
def test_votes_of_agents_add_up(given: list[str], expected: float) -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    for number, feedback in enumerate(given):
        result = vote(tenant, feedback, memory_id=memory.pk, by=Actor("key", f"k{number}", "an agent"))
    assert score(memory) == pytest.approx(expected)
    assert result.scores == {memory.pk: pytest.approx(expected)}
    assert len(votes(tenant)) == len(given)


def test_vote_is_kept_with_who_when_and_why() -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    vote(tenant, "NEGATIVE", memory_id=memory.pk, reason="  Out of date. ", by=KIM)
    (row,) = votes(tenant)
    assert (row.kind, row.weight, row.reason, row.at, row.receipt_id) == (
        "explicit",
        -1,
        "Out of date.",
        CONTEXT_NOW,
        None,
    )
    assert (row.actor_kind, row.actor_id, row.actor_label) == ("operator", "7", "Kim")
    assert row.score_before == 0.5
    with tenant_scope(tenant.pk):
        entry = AuditEntry.objects.for_tenant(tenant.pk).get(verb="give_feedback")
    assert (entry.actor_label, entry.target_ids, entry.fields) == ("Kim", [str(memory.pk)], ["usefulness_score"])


def test_vote_on_a_context_counts_for_every_memory_in_it_and_for_no_memo() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "Alex", partition="user=alex")
    result = vote(tenant, receipt_id=context.id)
    packed = {UUID(block.anchor.id) for block in context.blocks if block.anchor.type == "memory"}
    assert {row.memory_id for row in result.votes} == packed
    assert len(packed) > 2
    assert {row.receipt_id for row in votes(tenant)} == {context.id}
    with tenant_scope(tenant.pk):
        changed = Memory.objects.for_tenant(tenant.pk).exclude(usefulness_score=0.5)
        assert {row.pk for row in changed} == packed


def test_number_of_queries_does_not_grow_with_the_memories() -> None:
    counts = []
    for size in (2, 30):
        tenant = make_empty_tenant()
        store(tenant, [new_row(f"Alex owns bicycle number {n}.", "user=alex") for n in range(size)], is_embedded=False)
        context = assemble_test_context(tenant, "bicycle", max_tokens=2000)
        with CaptureQueriesContext(connection) as queries:
            assert len(vote(tenant, receipt_id=context.id).votes) == size
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_same_vote_on_a_context_counts_once_a_day() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "sourdough")
    first = vote(tenant, receipt_id=context.id)
    again = vote(tenant, receipt_id=context.id, now=CONTEXT_NOW + timedelta(hours=1))
    assert not again.votes
    assert {row.pk for row in again.repeated} == {row.pk for row in first.votes}
    assert vote(tenant, receipt_id=context.id, by=KIM).votes
    assert vote(tenant, "NEGATIVE", receipt_id=context.id).votes
    assert vote(tenant, receipt_id=context.id, now=CONTEXT_NOW + DAY).votes


@pytest.mark.parametrize("by", [KIM, AGENT], ids=["person", "key"])
def test_actor_has_one_vote_on_a_memory_a_day(by: Actor) -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    for now in (CONTEXT_NOW, CONTEXT_NOW, CONTEXT_NOW + DAY):
        vote(tenant, memory_id=memory.pk, by=by, now=now)
    assert len(votes(tenant)) == 2


def test_days_of_votes_are_those_of_utc() -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    midnight = datetime(2026, 6, 2, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    for now in (midnight, midnight - timedelta(hours=5), midnight + timedelta(hours=2)):
        vote(tenant, memory_id=memory.pk, now=now)
    assert sorted(row.on_day.day for row in votes(tenant)) == [1, 2]


def test_later_vote_of_the_day_replaces_the_earlier_one_wherever_it_was_given() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "sourdough bread")
    bread = bread_of(tenant)
    (first,) = vote(tenant, "POSITIVE", memory_id=bread.pk, reason="as told").votes
    second = vote(tenant, "NEGATIVE", receipt_id=context.id, now=CONTEXT_NOW + timedelta(hours=1))
    (replaced,) = second.replaced
    assert (replaced.pk, replaced.weight, replaced.reason, replaced.receipt_id) == (first.pk, 1, "as told", None)
    assert bread.pk in second.scores
    row = next(row for row in votes(tenant) if row.memory_id == bread.pk)
    assert (row.pk, row.weight, row.reason, row.receipt_id) == (first.pk, -1, "", context.id)
    assert (row.at, row.score_before) == (CONTEXT_NOW + timedelta(hours=1), 0.5)
    assert score(bread) == pytest.approx(1 / 3)
    take_back(tenant, first.pk)
    assert score(bread) == 0.5
    assert vote(tenant, "POSITIVE", memory_id=bread.pk).has_new
    assert score(bread) == pytest.approx(2 / 3)


@pytest.mark.django_db(transaction=True)
def test_concurrent_votes_of_one_key_leave_one_and_those_of_many_all_count() -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    keys = [AGENT] * 6 + [Actor("key", f"k{number}", "an agent") for number in range(3)]
    assert set(concurrent_refusal_codes([partial(vote, tenant, memory_id=memory.pk, by=key) for key in keys])) == {""}
    assert len(votes(tenant)) == 4
    assert score(memory) == pytest.approx(5 / 6)


def test_vote_taken_back_stays_in_the_history_and_counts_no_more() -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    vote(tenant, "VERY_NEGATIVE", memory_id=memory.pk)
    wrong = votes(tenant)[0]
    vote(tenant, "POSITIVE", memory_id=memory.pk, by=OTHER_AGENT)
    taken = take_back(tenant, wrong.pk, now=CONTEXT_NOW + DAY)
    assert (taken.withdrawn_at, taken.withdrawn_by) == (CONTEXT_NOW + DAY, "Kim")
    assert score(memory) == pytest.approx(2 / 3)
    again = take_back(tenant, wrong.pk, by=AGENT, now=CONTEXT_NOW + 2 * DAY)
    assert (again.withdrawn_at, again.withdrawn_by) == (CONTEXT_NOW + DAY, "Kim")
    assert len(votes(tenant)) == 2
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).filter(verb="withdraw_feedback").count() == 1


def test_memory_without_votes_keeps_what_it_brought_and_returns_to_it() -> None:
    tenant = make_empty_tenant()
    memory, other = make_memory(tenant), make_memory(tenant)
    with tenant_scope(tenant.pk):
        brought = MemoryCounters(usefulness_score=0.9, retrieval_count=4, last_retrieved_at=None)
        import_counters(tenant_id=tenant.pk, counters={memory.pk: brought, other.pk: brought}, by=KIM, now=CONTEXT_NOW)
    for minutes, (feedback, by) in enumerate((("NEGATIVE", AGENT), ("POSITIVE", OTHER_AGENT))):
        vote(tenant, feedback, memory_id=memory.pk, by=by, now=CONTEXT_NOW + timedelta(minutes=minutes))
    assert (score(memory), score(other)) == (0.5, 0.9)
    for row in votes(tenant):
        take_back(tenant, row.pk)
    assert score(memory) == 0.9


def test_late_vote_does_not_change_the_score_to_which_a_memory_returns() -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    for minutes, feedback, by in ((2, "VERY_NEGATIVE", AGENT), (1, "POSITIVE", OTHER_AGENT)):
        vote(tenant, feedback, memory_id=memory.pk, by=by, now=CONTEXT_NOW + timedelta(minutes=minutes))
    for row in votes(tenant):
        take_back(tenant, row.pk)
    assert score(memory) == 0.5


def test_vote_survives_an_edit_and_opens_no_version() -> None:
    tenant = make_empty_tenant()
    memory = make_memory(tenant)
    vote(tenant, memory_id=memory.pk)
    assert reread_memory(memory).version == 1
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "something else"}, by=KIM, now=CONTEXT_NOW + DAY)
    vote(tenant, memory_id=memory.pk, now=CONTEXT_NOW + DAY)
    assert score(memory) == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("options", "field", "code"),
    [
        ({}, "memory_id", "not_found"),
        ({"memory_id": uuid4()}, "memory_id", "not_found"),
        ({"receipt_id": uuid4()}, "", "not_found"),
    ],
)
def test_what_cannot_be_judged_is_refused(options: dict[str, Any], field: str, code: str) -> None:
    tenant = make_empty_tenant()
    with pytest.raises(NotFound) as refused:
        vote(tenant, **{"feedback": "POSITIVE", **options})
    assert (refused.value.field, refused.value.code) == (field, code)
    assert votes(tenant) == []


def test_archived_memory_is_not_judged_and_skipped_in_a_context() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "sourdough bread")
    bread = bread_of(tenant)
    with tenant_scope(tenant.pk):
        archive_memory(memory=bread, by=KIM, now=CONTEXT_NOW)
    with pytest.raises(NotFound) as refused:
        vote(tenant, memory_id=bread.pk)
    assert refused.value.code == "archived"
    assert vote(tenant, receipt_id=context.id).skipped == [bread.pk]
    outcome = answered(tenant, context.id, SOURDOUGH)
    assert outcome.used == outcome.skipped == [bread.pk]
    assert score(bread) == 0.5


def test_erased_memory_is_skipped() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "sourdough bread")
    bread = bread_of(tenant)
    with tenant_scope(tenant.pk):
        Memory.objects.for_tenant(tenant.pk).with_id(bread.pk).delete()
    assert vote(tenant, receipt_id=context.id).skipped == [bread.pk]
    assert answered(tenant, context.id, SOURDOUGH).used == []


def test_reach_of_a_key_confines_what_it_judges() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "sourdough bread", partition="user=alex")
    memory = bread_of(tenant)
    (given,) = vote(tenant, memory_id=memory.pk, reach="user=alex").votes
    for target in ({"memory_id": memory.pk}, {"receipt_id": context.id}):
        with pytest.raises(NotFound):
            vote(tenant, reach="user=sam", **target)
    with pytest.raises(NotFound):
        answered(tenant, context.id, SOURDOUGH, reach="user=sam")
    with pytest.raises(NotFound):
        take_back(tenant, given.pk, reach="user=sam")
    assert take_back(tenant, given.pk, reach="user=alex").withdrawn_at
    with pytest.raises(NotFound):
        take_back(tenant, uuid4())


def test_votes_of_another_tenant_are_out_of_sight() -> None:
    tenant, other = make_empty_tenant(), make_empty_tenant()
    memory = make_memory(tenant)
    vote(tenant, memory_id=memory.pk)
    with pytest.raises(NotFound):
        vote(other, memory_id=memory.pk)
    with pytest.raises(NotFound):
        take_back(other, votes(tenant)[0].pk)
    with operator_read_scope([other.pk]):
        assert not Feedback.objects.exists()
    with tenant_scope(other.pk):
        assert not Feedback.objects.exists()


def test_answer_that_uses_a_memory_counts_a_quarter() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    outcome = answered(tenant, context.id, SOURDOUGH)
    bread = bread_of(tenant)
    assert outcome.used == [bread.pk]
    assert (score(bread), codes_of(outcome)) == (pytest.approx(1.25 / 2.25), [])
    (row,) = votes(tenant)
    assert (row.kind, row.weight, row.receipt_id, row.actor_label) == ("implicit", 0.25, context.id, AGENT.label)
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).filter(verb="record_outcome").count() == 1


def codes_of(outcome: AnswerUsage) -> list[str]:
    return [notice.code for notice in outcome.warnings]


def test_answer_in_other_words_is_recognised_by_its_meaning() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    outcome = answered(tenant, context.id, "No idea. Alex bakes bread on Saturday mornings!")
    assert outcome.overlaps[bread_of(tenant).pk].similarity > 0.6


@pytest.mark.parametrize("answer", ["I do not know.", "…", "42", "???"])
def test_answer_that_uses_nothing_leaves_no_trace(answer: str) -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    assert answered(tenant, context.id, answer).used == []
    assert votes(tenant) == []


def test_memory_is_implied_at_most_once_a_day_by_whatever_context() -> None:
    tenant = bakery()
    contexts = [assemble_test_context(tenant, query) for query in ("What does Alex do?", "sourdough")]
    for context in (contexts[0], contexts[0], contexts[1]):
        answered(tenant, context.id, SOURDOUGH)
    answered(tenant, contexts[0].id, SOURDOUGH, now=CONTEXT_NOW + DAY)
    assert [row.on_day for row in votes(tenant)] == [(CONTEXT_NOW + DAY).date(), CONTEXT_NOW.date()]
    assert score(bread_of(tenant)) == pytest.approx(1.5 / 2.5)


def test_implied_vote_that_was_taken_back_is_not_given_again_that_day() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    answered(tenant, context.id, SOURDOUGH)
    take_back(tenant, votes(tenant)[0].pk)
    answered(tenant, context.id, SOURDOUGH)
    assert len(votes(tenant)) == 1
    assert score(bread_of(tenant)) == 0.5


def test_answer_adds_no_vote_for_a_memory_with_a_vote_in_the_same_context() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    given = vote(tenant, "NEGATIVE", receipt_id=context.id)
    outcome = answered(tenant, context.id, SOURDOUGH)
    assert not outcome.votes
    assert score(bread_of(tenant)) == pytest.approx(1 / 3)
    for row in given.votes:
        take_back(tenant, row.pk)
    assert answered(tenant, context.id, SOURDOUGH).votes


def test_memory_edited_since_is_compared_as_it_was_shown() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    bread = bread_of(tenant)
    with tenant_scope(tenant.pk):
        update_memory(memory=bread, changes={"content": "Nothing of the kind."}, by=KIM, now=CONTEXT_NOW)
    assert answered(tenant, context.id, SOURDOUGH).used == [bread.pk]


def test_outcome_of_an_absent_context_is_refused() -> None:
    with pytest.raises(NotFound):
        answered(make_empty_tenant(), uuid4(), "An answer.")


def test_without_an_embedder_words_decide_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")

    def away(_: UUID) -> Any:
        raise EmbeddingError("The provider does not answer.", is_permanent=False)

    monkeypatch.setattr(outcomes, "embedder_of", away)
    outcome = answered(tenant, context.id, SOURDOUGH)
    assert codes_of(outcome) == ["embedder_unavailable"]
    assert outcome.used == [bread_of(tenant).pk]
    assert all(overlap.similarity is None for overlap in outcome.overlaps.values())


def test_sentences_are_embedded_outside_of_any_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    depths = []
    embedder = outcomes.embedder_of(tenant.pk)

    class Watching:
        name, batch_size = embedder.name, embedder.batch_size

        def embed(self, texts: Sequence[str]) -> Any:
            depths.append(len(connection.savepoint_ids))
            return embedder.embed(texts)

    monkeypatch.setattr(outcomes, "embedder_of", lambda _: Watching())
    outside = len(connection.savepoint_ids)
    answered(tenant, context.id, SOURDOUGH)
    assert depths == [outside]


def test_answer_of_any_length_and_script_is_taken() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    assert answered(tenant, context.id, "Ein Satz. " * 20_000).used == []
    assert answered(tenant, context.id, "東京。" * 300 + SOURDOUGH).used == [bread_of(tenant).pk]


@pytest.mark.django_db(transaction=True)
def test_votes_at_the_same_moment_are_all_counted() -> None:
    tenant = make_empty_tenant()
    memories = [make_memory(tenant) for _ in range(3)]

    def work(number: int) -> None:
        for memory in memories if number % 2 else memories[::-1]:
            vote(tenant, memory_id=memory.pk, by=Actor("key", str(number), "an agent"))

    assert concurrent_refusal_codes([partial(work, number) for number in range(6)]) == [""] * 6
    assert [score(memory) for memory in memories] == [pytest.approx(7 / 8)] * 3


@pytest.mark.django_db(transaction=True)
def test_outcomes_at_the_same_moment_count_a_memory_once() -> None:
    tenant = bakery()
    context = assemble_test_context(tenant, "What does Alex do?")
    assert warning_codes(context) == []
    assert concurrent_refusal_codes([partial(answered, tenant, context.id, SOURDOUGH)] * 4) == [""] * 4
    assert len(votes(tenant)) == 1
