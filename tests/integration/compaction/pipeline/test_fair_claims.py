"""A tenant with much work does not delay the other tenants."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from compaction import tasks
from compaction.erasure.actions import request_erasure
from compaction.erasure.orchestrator import SLICE, abandoned_erasures, run_erasure
from compaction.models import Erasure, Run
from compaction.pipeline.orchestrator import COMPACTION_LEASE
from compaction.pipeline.scheduling import abandoned_compaction_runs
from context import tasks as context_tasks
from context.evaluation.runs import abandoned_evaluation_runs, next_evaluation_run
from context.models import EvaluationRun
from memories import tasks as memory_tasks
from memories.embeddings import indexer
from memories.embeddings.queries.models import EmbeddingModelQuerySet
from memories.embeddings.reembedding import advance_embedding_model
from memories.models import EmbeddingModel, Tenant
from memories.tenancy.claims import TENANT_CLAIMS_MAX, claim_in_turn, next_waiting
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.context.evaluation.test_evaluation_tasks import UPLOAD
from tests.integration.evaluation_helpers import requested
from tests.sessions import new_compaction, new_session

pytestmark = pytest.mark.django_db
NOW = timezone.now()
LATER = NOW + timedelta(hours=1)


def new_run(tenant: Tenant, minutes_ago: int) -> Run:
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        run: Run = Run.objects.create(
            tenant=tenant,
            kind="compaction",
            session=session,
            compaction=new_compaction(session),
            created_at=NOW - timedelta(minutes=minutes_ago),
        )
    return run


def is_claimed(run: Run) -> bool:
    rows = Run.objects.for_tenant(run.tenant_id)
    with tenant_scope(run.tenant_id):
        return claim_in_turn(rows, run.tenant_id, run.pk, now=NOW, until=NOW + COMPACTION_LEASE)


def test_workers_have_only_so_many_runs_of_a_tenant_and_take_those_of_others(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    runs = [new_run(tenant, 60 - number) for number in range(TENANT_CLAIMS_MAX + 2)]
    assert [is_claimed(run) for run in runs] == [True] * TENANT_CLAIMS_MAX + [False, False]
    assert is_claimed(new_run(other_tenant, 1))
    waiting = next_waiting(Run.objects.for_tenant(tenant.pk), tenant.pk, now=NOW)
    assert waiting == runs[TENANT_CLAIMS_MAX]
    with tenant_scope(tenant.pk):
        Run.objects.for_tenant(tenant.pk).with_id(runs[0].pk).finish("done", NOW)
    assert is_claimed(waiting)


def test_sweep_takes_a_few_runs_of_each_tenant(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compaction.pipeline.scheduling._RUNS_BATCH", 3)
    runs = [new_run(tenant, 60 - number) for number in range(5)]
    other = new_run(other_tenant, 2)
    assert abandoned_compaction_runs(now=NOW) == [*runs[:TENANT_CLAIMS_MAX], other]


def test_ended_run_sends_the_one_that_waited(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = new_run(tenant, 3), new_run(tenant, 2)
    sent: list[Run] = []
    monkeypatch.setattr(tasks, "enqueue_run", sent.append)
    tasks.run_compaction_task.apply((str(tenant.pk), str(first.pk)), throw=True)
    assert sent == [second]


def new_erasure(tenant: Tenant, minutes_ago: int) -> Erasure:
    at = NOW - timedelta(minutes=minutes_ago)
    memory = make_memory(tenant)
    with tenant_scope(tenant.pk):
        return request_erasure(tenant=tenant, memory_id=memory.pk, is_enqueued=False, by=TESTER, now=at)


def test_erasures_of_a_tenant_wait_for_each_other(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compaction.erasure.orchestrator._SWEPT_MAX", 3)
    erasures = [new_erasure(tenant, 60 - number) for number in range(4)]
    other = new_erasure(other_tenant, 2)
    assert abandoned_erasures(now=NOW) == [*erasures[:TENANT_CLAIMS_MAX], other]
    with tenant_scope(tenant.pk):
        for running in erasures[:TENANT_CLAIMS_MAX]:
            Erasure.objects.for_tenant(tenant.pk).claim(running.pk, now=NOW, until=NOW + timedelta(hours=1))
    assert run_erasure(tenant.pk, erasures[2].pk, now=NOW, time_limit=SLICE) == ""
    assert run_erasure(other_tenant.pk, other.pk, now=NOW, time_limit=SLICE) == "done"
    sent: list[Any] = []
    monkeypatch.setattr(tasks, "enqueue_erasure", lambda *ids: sent.append(ids))
    with tenant_scope(tenant.pk):
        Erasure.objects.for_tenant(tenant.pk).with_id(erasures[0].pk).update(state="queued", claimed_until=None)
    tasks.run_erasure_task.apply((str(tenant.pk), str(erasures[0].pk)), throw=True)
    assert sent == [(tenant.pk, erasures[2].pk)]


def test_jobs_of_all_kinds_leave_a_process_to_other_tenants(tenant: Tenant, other_tenant: Tenant) -> None:
    jobs: list[Any] = [new_erasure(tenant, 9), new_erasure(tenant, 8), requested(tenant, **UPLOAD)]
    for job in jobs:
        with tenant_scope(tenant.pk):
            assert claim_in_turn(job._meta.model.objects.for_tenant(tenant.pk), tenant.pk, job.pk, now=NOW, until=LATER)
    waiting = new_run(tenant, 5)
    assert not is_claimed(waiting)
    assert is_claimed(new_run(other_tenant, 1))
    with tenant_scope(tenant.pk):
        Erasure.objects.for_tenant(tenant.pk).with_id(jobs[0].pk).update(state="queued", claimed_until=None)
    assert is_claimed(waiting)


def test_evaluations_of_a_tenant_wait_for_each_other(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context.evaluation.runs._RUNS_BATCH", 2)
    first, second, _ = (requested(tenant, **UPLOAD) for _ in range(3))
    other = requested(other_tenant, **UPLOAD)
    assert abandoned_evaluation_runs(now=timezone.now() + timedelta(minutes=5)) == [first, other]
    sent: list[Any] = []
    monkeypatch.setattr(context_tasks, "enqueue_evaluation", lambda *ids: sent.append(ids))
    context_tasks.run_evaluation_task.apply((str(tenant.pk), str(first.pk)), throw=True)
    assert sent == [(tenant.pk, second.pk)]
    with tenant_scope(tenant.pk):
        EvaluationRun.objects.for_tenant(tenant.pk).update(corpus_kind="file")
    assert next_evaluation_run(tenant.pk, now=NOW) is None, "only its command can run it"


def test_workers_fill_only_so_many_models_of_a_tenant(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        rows: EmbeddingModelQuerySet = EmbeddingModel.objects.for_tenant(tenant.pk)
        for number in range(TENANT_CLAIMS_MAX + 1):
            EmbeddingModel.objects.create(
                tenant=tenant, name=f"model-{number}", dimension=8, state="standby", started_at=NOW
            )
        *claimed, last = rows.order_by("name").filter(name__startswith="model-")
        for model in claimed:
            assert rows.claim(model.pk, uuid4(), 60, others_max=TENANT_CLAIMS_MAX - 1)
    assert not advance_embedding_model(tenant.pk, last.pk, can_continue=lambda: True, clock=timezone.now)
    with tenant_scope(tenant.pk):
        assert rows.get(pk=last.pk).claimed_until is None


def test_vectors_of_a_large_import_let_other_tenants_come_between(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(memory_tasks, "MEMORIES_PER_TASK", 2)
    monkeypatch.setattr(memory_tasks, "ENQUEUED_MEMORIES_MAX", 9)
    monkeypatch.setattr(memory_tasks, "is_local_for", lambda _: False)
    sent: list[Any] = []
    monkeypatch.setattr(memory_tasks.embed_memory, "delay", lambda *ids: sent.append(ids))
    ids = [uuid4() for _ in range(10)]
    with django_capture_on_commit_callbacks(execute=True):
        memory_tasks.enqueue_embedding(tenant.pk, ids)
    assert len(sent) == TENANT_CLAIMS_MAX
    embedded: list[Any] = []
    monkeypatch.setattr(indexer, "index_memories", lambda _, ids: embedded.append(ids))
    while sent:
        with django_capture_on_commit_callbacks(execute=True):
            memory_tasks.embed_memory.apply(sent.pop(), throw=True)
    assert sorted(each for batch in embedded for each in batch) == sorted(ids[:9]), "the sweep embeds the tenth"
    assert max(map(len, embedded)) == 2


def test_sweep_of_pending_memories_takes_tenants_in_turn(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "SWEEP_BATCH", 2)
    oldest, _ = (make_memory(tenant, now=FACTORY_NOW - timedelta(seconds=age)) for age in (2, 1))
    other = make_memory(other_tenant, now=FACTORY_NOW + timedelta(seconds=5))
    pending = indexer._pending_batches(FACTORY_NOW + timedelta(minutes=1), set())
    assert next(pending) == {tenant.pk: [oldest.pk], other_tenant.pk: [other.pk]}
