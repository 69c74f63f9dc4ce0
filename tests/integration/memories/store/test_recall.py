"""The ticks of contexts: each is counted once, by several workers at a time, without waits or losses."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from time import perf_counter
from typing import Any
from uuid import uuid4

import pytest
from celery import current_app
from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from memories import tasks
from memories.models import Memory, RecalledText, RetrievalTick, Tenant
from memories.services.store.content import recalled_hash
from memories.store import recall
from memories.store.actions.edit import update_memory
from memories.store.recall import fold_tenant_retrievals, record_retrieval_tick, update_usefulness_scores
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from tests.concurrency import run_concurrently
from tests.factories import FACTORY_NOW, TESTER, make_memory, make_tenant, reread_memory

pytestmark = pytest.mark.django_db

LATER = FACTORY_NOW + timedelta(hours=5)
THREADS = 8


def leave(tenant: Tenant, memories: Iterable[Memory], at: datetime = FACTORY_NOW, **options: Any) -> None:
    rows = list(memories)
    texts = options.get("texts", {memory.pk: memory.content for memory in rows})
    with tenant_scope(tenant.pk):
        record_retrieval_tick(tenant_id=tenant.pk, texts=texts, ids=[memory.pk for memory in rows], now=at)


def ticks(tenant: Tenant) -> int:
    with tenant_scope(tenant.pk):
        return RetrievalTick.objects.for_tenant(tenant.pk).count()


def recalled(tenant: Tenant) -> dict[str, datetime]:
    with tenant_scope(tenant.pk):
        return dict(RecalledText.objects.for_tenant(tenant.pk).values_list("recalled_hash", "recalled_at"))


def test_context_leaves_one_row_in_one_statement(tenant: Tenant) -> None:
    memories = [make_memory(tenant) for _ in range(30)]
    with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
        record_retrieval_tick(
            tenant_id=tenant.pk,
            texts={memory.pk: memory.content for memory in memories},
            ids=[memory.pk for memory in memories],
            now=FACTORY_NOW,
        )
    assert len(queries) == 1
    assert ticks(tenant) == 1


def test_context_of_nothing_leaves_nothing(tenant: Tenant) -> None:
    leave(tenant, [])
    assert ticks(tenant) == fold_tenant_retrievals(tenant.pk) == 0


def test_folding_counts_retrievals_and_stores_hashes_once(tenant: Tenant) -> None:
    first, second, third = (make_memory(tenant, name) for name in ("first", "second", "third"))
    leave(tenant, [first, second], LATER)
    leave(tenant, [second], FACTORY_NOW)
    assert fold_tenant_retrievals(tenant.pk) == 2
    assert fold_tenant_retrievals(tenant.pk) == ticks(tenant) == 0
    assert [reread_memory(memory).retrieval_count for memory in (first, second, third)] == [1, 2, 0]
    assert [reread_memory(memory).last_retrieved_at for memory in (first, second, third)] == [LATER, LATER, None]
    assert recalled(tenant) == {recalled_hash("first"): LATER, recalled_hash("second"): LATER}
    assert reread_memory(second).version == 1


def test_last_retrieval_never_goes_back(tenant: Tenant) -> None:
    memory = make_memory(tenant)
    for at in (LATER, FACTORY_NOW):
        leave(tenant, [memory], at)
        fold_tenant_retrievals(tenant.pk)
    assert (reread_memory(memory).last_retrieved_at, reread_memory(memory).retrieval_count) == (LATER, 2)


def test_text_that_is_rendered_again_soon_is_not_written_again(tenant: Tenant) -> None:
    memory = make_memory(tenant, "tea")
    times = []
    for minutes in (0, 59, 61):
        leave(tenant, [memory], FACTORY_NOW + timedelta(minutes=minutes))
        fold_tenant_retrievals(tenant.pk)
        times.append((recalled(tenant)[recalled_hash("tea")] - FACTORY_NOW) / timedelta(minutes=1))
    assert times == [0, 0, 61]


def test_texts_are_those_that_were_rendered_and_may_be_absent(tenant: Tenant) -> None:
    whole, cut, silent = (make_memory(tenant, name) for name in ("whole", "cut short", "silent"))
    leave(tenant, [whole, cut, silent], texts={whole.pk: "whole", cut.pk: "cut…"})
    with tenant_scope(tenant.pk):
        update_memory(memory=whole, changes={"content": "another text"}, by=TESTER, now=LATER)
    fold_tenant_retrievals(tenant.pk)
    assert set(recalled(tenant)) == {recalled_hash("whole"), recalled_hash("cut…")}
    assert {reread_memory(memory).retrieval_count for memory in (whole, cut, silent)} == {1}


def test_memory_that_was_erased_since_is_passed_over(tenant: Tenant) -> None:
    stays, goes = make_memory(tenant), make_memory(tenant)
    leave(tenant, [goes, stays])
    with tenant_scope(tenant.pk):
        Memory.objects.filter(pk=goes.pk).delete()
    assert fold_tenant_retrievals(tenant.pk) == 1
    assert reread_memory(stays).retrieval_count == 1


def test_ticks_of_another_tenant_stay_where_they_are(tenant: Tenant, other_tenant: Tenant) -> None:
    mine, theirs = make_memory(tenant), make_memory(other_tenant)
    leave(tenant, [mine])
    leave(other_tenant, [theirs])
    fold_tenant_retrievals(tenant.pk)
    assert (ticks(tenant), ticks(other_tenant)) == (0, 1)
    assert (reread_memory(mine).retrieval_count, reread_memory(theirs).retrieval_count) == (1, 0)


def test_tick_that_names_another_tenants_memory_counts_nothing_there(tenant: Tenant, other_tenant: Tenant) -> None:
    theirs = make_memory(other_tenant)
    leave(tenant, [theirs])
    fold_tenant_retrievals(tenant.pk)
    assert reread_memory(theirs).retrieval_count == 0


def test_more_than_a_batch_is_folded_to_the_end(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "TICKS_PER_FOLD", 3)
    memory = make_memory(tenant)
    for _ in range(10):
        leave(tenant, [memory])
    assert fold_tenant_retrievals(tenant.pk) == 10
    assert reread_memory(memory).retrieval_count == 10


def test_statements_of_a_fold_do_not_grow(tenant: Tenant) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            fold_tenant_retrievals(tenant.pk)
        return len(queries)

    memories = [make_memory(tenant) for _ in range(20)]
    leave(tenant, memories[:1])
    few = count()
    for _ in range(5):
        leave(tenant, memories)
    assert count() == few


def test_beat_folds_the_ticks_of_all_tenants(tenant: Tenant, other_tenant: Tenant) -> None:
    memories = [make_memory(tenant), make_memory(other_tenant)]
    for owner, memory in zip((tenant, other_tenant), memories, strict=True):
        leave(owner, [memory])
    entry = settings.CELERY_BEAT_SCHEDULE["Update retrieval counts"]
    assert entry["schedule"] <= 2
    assert entry["task"] in current_app.tasks
    assert tasks.fold_retrievals_task() == 2
    assert [reread_memory(memory).retrieval_count for memory in memories] == [1, 1]
    assert tasks.fold_retrievals_task() == 0


def test_pairs_of_a_tick_cannot_come_apart(tenant: Tenant) -> None:
    with pytest.raises(IntegrityError, match="retrieval_tick_has_pairs"), tenant_scope(tenant.pk):
        RetrievalTick.objects.create(tenant=tenant, memory_ids=[uuid4()], recalled_hashes=[], at=FACTORY_NOW)


# --- Concurrent workers with their own connections -------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_threads_count_a_locked_memory_and_none_waits() -> None:
    tenant = make_tenant()
    hot = make_memory(tenant)
    with transaction.atomic(), tenant_scope(tenant.pk):
        list(Memory.objects.filter(pk=hot.pk).locked())
        begun = perf_counter()
        run_concurrently(
            [partial(leave, tenant, [hot], FACTORY_NOW + timedelta(minutes=number)) for number in range(THREADS)]
        )
        assert perf_counter() - begun < 20
    assert reread_memory(hot).retrieval_count == 0
    assert fold_tenant_retrievals(tenant.pk) == THREADS
    assert reread_memory(hot).retrieval_count == THREADS
    assert reread_memory(hot).last_retrieved_at == FACTORY_NOW + timedelta(minutes=THREADS - 1)


@pytest.mark.django_db(transaction=True)
def test_folding_and_counting_at_once_loses_and_doubles_nothing() -> None:
    tenant = make_tenant()
    memories = [make_memory(tenant) for _ in range(4)]

    def work(number: int) -> None:
        for turn in range(10):
            leave(tenant, memories if number % 2 else memories[::-1], FACTORY_NOW + timedelta(minutes=turn))
            fold_tenant_retrievals(tenant.pk)

    run_concurrently([partial(work, number) for number in range(THREADS)])
    fold_tenant_retrievals(tenant.pk)
    assert [reread_memory(memory).retrieval_count for memory in memories] == [THREADS * 10] * 4
    assert ticks(tenant) == 0


@pytest.mark.django_db(transaction=True)
def test_fold_that_is_killed_has_counted_nothing() -> None:
    tenant = make_tenant()
    memory = make_memory(tenant)
    leave(tenant, [memory])
    with tenant_scope(tenant.pk):
        assert RetrievalTick.objects.fold(tenant.pk, 10) == 1
        transaction.set_rollback(True)
    assert (reread_memory(memory).retrieval_count, ticks(tenant)) == (0, 1)
    assert fold_tenant_retrievals(tenant.pk) == 1
    assert reread_memory(memory).retrieval_count == 1


@pytest.mark.django_db(transaction=True)
def test_fold_yields_to_another_fold_and_gives_up_on_a_memory_that_is_locked_too_long() -> None:
    tenant = make_tenant()
    memory = make_memory(tenant)
    leave(tenant, [memory])
    with tenant_scope(tenant.pk):
        assert RetrievalTick.objects.fold(tenant.pk, 10) == 1
        assert run_concurrently([partial(fold_tenant_retrievals, tenant.pk)]) == [0]
        transaction.set_rollback(True)
    with tenant_scope(tenant.pk):
        list(Memory.objects.filter(pk=memory.pk).locked())
        with pytest.raises(OperationalError, match="lock timeout"):
            run_concurrently([partial(fold_tenant_retrievals, tenant.pk)])
    assert ticks(tenant) == 1
    assert fold_tenant_retrievals(tenant.pk) == 1


def test_maintenance_may_look_for_ticks_but_not_fold_them(tenant: Tenant) -> None:
    leave(tenant, [make_memory(tenant)])
    with maintenance_scope():
        assert RetrievalTick.objects.tenant_ids() == [tenant.pk]
        assert RetrievalTick.objects.fold(tenant.pk, 10) == 0
    assert ticks(tenant) == 1


# --- Usefulness ------------------------------------------------------------------------------------------------------


def test_usefulness_is_set_for_many_in_two_queries_and_opens_no_version(tenant: Tenant, other_tenant: Tenant) -> None:
    memories = [make_memory(tenant) for _ in range(4)]
    foreign = make_memory(other_tenant)
    scores = {memory.pk: number / 4 for number, memory in enumerate(memories)} | {foreign.pk: 1.0}
    with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
        assert update_usefulness_scores(scores=scores) == 4
    assert len([query for query in queries if "SAVEPOINT" not in query["sql"]]) == 2
    assert [reread_memory(memory).usefulness_score for memory in memories] == [0, 0.25, 0.5, 0.75]
    assert reread_memory(foreign).usefulness_score == 0.5
    assert {reread_memory(memory).version for memory in memories} == {1}


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_usefulness_that_is_no_share_is_refused(tenant: Tenant, score: float) -> None:
    memory = make_memory(tenant)
    with tenant_scope(tenant.pk), pytest.raises(ValueError, match="share"):
        update_usefulness_scores(scores={memory.pk: score})
