"""One tenant with many runs does not keep the others waiting."""

from datetime import timedelta

import pytest
from django.utils import timezone

from compaction import tasks
from compaction.models import Run
from compaction.pipeline.claims import TENANT_RUNS_MAX, claim_in_turn, next_waiting_run
from compaction.pipeline.orchestrator import COMPACTION_LEASE
from compaction.pipeline.scheduling import abandoned_compaction_runs
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.sessions import new_compaction, new_session

pytestmark = pytest.mark.django_db
NOW = timezone.now()


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
    with tenant_scope(run.tenant_id):
        return claim_in_turn(run.tenant_id, run.pk, now=NOW, until=NOW + COMPACTION_LEASE)


def test_workers_have_only_so_many_runs_of_a_tenant_and_take_those_of_others(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    runs = [new_run(tenant, 60 - number) for number in range(TENANT_RUNS_MAX + 2)]
    assert [is_claimed(run) for run in runs] == [True] * TENANT_RUNS_MAX + [False, False]
    assert is_claimed(new_run(other_tenant, 1))
    waiting = next_waiting_run(tenant.pk, now=NOW)
    assert waiting == runs[TENANT_RUNS_MAX]
    with tenant_scope(tenant.pk):
        Run.objects.for_tenant(tenant.pk).with_id(runs[0].pk).finish("done", NOW)
    assert is_claimed(waiting)


def test_sweep_takes_a_few_runs_of_each_tenant(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compaction.pipeline.scheduling._RUNS_BATCH", 3)
    runs = [new_run(tenant, 60 - number) for number in range(5)]
    other = new_run(other_tenant, 2)
    assert abandoned_compaction_runs(now=NOW) == [*runs[:TENANT_RUNS_MAX], other]


def test_ended_run_sends_the_one_that_waited(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = new_run(tenant, 3), new_run(tenant, 2)
    sent: list[Run] = []
    monkeypatch.setattr(tasks, "enqueue_run", sent.append)
    tasks.run_compaction_task.apply((str(tenant.pk), str(first.pk)), throw=True)
    assert sent == [second]
