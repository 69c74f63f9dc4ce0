"""Sweeps end when their time is up, lose nothing, and continue in their next run (ADR-0245)."""

import ast
import logging
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from celery import Celery
from django.core.cache import cache

from memories.models import (
    AuditCheck,
    IdempotencyRecord,
    PartitionCountChange,
    RetrievalTick,
    Tenant,
    UnsealedAuditEntry,
)
from memories.partitions import maintenance
from memories.services.time_limits import TimeIsUpError, in_time, work_until
from memories.store import recall
from memories.tenancy import audit_chain
from memories.tenancy.audit import record_audit
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn
from memory_platform import celery
from memory_platform.celery import TimedTask, app
from tests.architecture import ROOT
from tests.factories import FACTORY_NOW, TESTER, make_key, make_memory, make_tenant

pytestmark = pytest.mark.django_db
LATER = FACTORY_NOW + timedelta(days=2)
#: Loops over all tenants in which each tenant needs one short query, or which get few tenants.
SHORT_LOOPS = {"delete_audit_log"}


def over_after(checks: int) -> Callable[[], bool]:
    """A time limit that is reached after this many checks."""
    numbers = count()
    return lambda: next(numbers) >= checks


def test_run_after_an_interrupted_one_begins_with_the_tenants_that_were_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ids = [UUID(int=number) for number in range(4)]
    with work_until(over_after(2)):
        assert list(tenants_in_turn("test", ids)) == ids[:2]
    assert caplog.messages == ["The sweep test ran out of time; its next run begins with 2 tenants."]
    with work_until(over_after(3)):
        assert list(tenants_in_turn("test", ids)) == [*ids[2:], ids[0]]
    assert list(tenants_in_turn("test", ids)) == [*ids[1:], ids[0]]
    assert list(tenants_in_turn("test", ids)) == ids


def test_task_ends_before_its_process_would_be_killed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(celery, "LOOP_SHARE", 0.01)

    def endless() -> None:
        for _ in in_time(count()):
            pass

    own = Celery("test", set_as_current=False, task_cls=TimedTask)
    with caplog.at_level(logging.WARNING):
        assert own.task(name="endless", time_limit=1)(endless)() is None
    assert caplog.messages == ["endless ran out of time; the next run continues."]


def test_every_task_has_a_time_limit_for_its_loops() -> None:
    own = [task for name, task in app.tasks.items() if not name.startswith("celery.")]
    assert own
    assert all(isinstance(task, TimedTask) for task in own)


def leave_ticks(tenant: Tenant, number: int) -> None:
    memory = make_memory(tenant)
    for _ in range(number):
        with tenant_scope(tenant.pk):
            recall.record_retrieval_tick(tenant_id=tenant.pk, texts={}, ids=[memory.pk], now=FACTORY_NOW)


def leave_answers(tenant: Tenant, number: int) -> None:
    key, _ = make_key(tenant)
    rows = [
        IdempotencyRecord(tenant_id=tenant.pk, api_key=key, idempotency_key=str(n), created_at=FACTORY_NOW)
        for n in range(number)
    ]
    with tenant_scope(tenant.pk):
        IdempotencyRecord.objects.bulk_create(rows)


def leave_audit_entries(tenant: Tenant, number: int) -> None:
    with tenant_scope(tenant.pk):
        for n in range(number):
            record_audit("act", "memory", [n], tenant_id=tenant.pk, by=TESTER, now=FACTORY_NOW)


def leave_memories(tenant: Tenant, number: int) -> None:
    for _ in range(number):
        make_memory(tenant)


SWEEPS: dict[str, tuple[Any, str, Callable[[Tenant, int], None], Any, Callable[[], object]]] = {
    "retrievals": (recall, "TICKS_PER_FOLD", leave_ticks, RetrievalTick, recall.fold_retrievals_of_tenants),
    "partition counts": (
        *(maintenance, "FOLD_BATCH", leave_memories),
        *(PartitionCountChange, maintenance.fold_partition_counts),
    ),
    "expired records": (
        *(recall, "FORGET_BATCH", leave_answers),
        *(IdempotencyRecord, lambda: recall.delete_expired_records(now=LATER)),
    ),
    "audit seals": (
        *(audit_chain, "SEALED_BATCH", leave_audit_entries),
        *(UnsealedAuditEntry, lambda: audit_chain.seal_audit_entries(now=LATER)),
    ),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_sweep_ends_between_batches_and_its_next_run_does_the_rest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, batch, leave, model, sweep = SWEEPS[name]
    tenant = make_tenant()
    leave(tenant, 5)
    monkeypatch.setattr(module, batch, 2)

    def left() -> int:
        with tenant_scope(tenant.pk):
            return int(model.objects.filter(tenant_id=tenant.pk).count())

    before = left()
    with pytest.raises(TimeIsUpError), work_until(over_after(2)):  # a tenant and a batch
        sweep()
    assert left() == before - 2
    sweep()
    assert left() == 0


def test_check_of_a_long_audit_log_continues_where_its_time_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()
    leave_audit_entries(tenant, 7)
    audit_chain.seal_audit_entries(now=LATER)
    monkeypatch.setattr(audit_chain, "CHECKED_BATCH", 3)
    read: list[UUID] = []
    monkeypatch.setattr(audit_chain, "lock_audit_seals", read.append)
    with pytest.raises(TimeIsUpError), work_until(over_after(3)):  # a tenant and two batches
        audit_chain.check_audit_logs(now=LATER)
    with maintenance_scope():
        assert not AuditCheck.objects.exists()
    assert audit_chain.check_audit_logs(now=LATER) == 0
    assert len(read) == 3
    with tenant_scope(tenant.pk):
        check = AuditCheck.objects.get()
    assert (check.last_number, check.whole_checked_at) == (8, LATER)
    assert cache.get(f"audit-check.whole.{tenant.pk}") is None


def test_complete_check_does_not_continue_from_an_interrupted_hourly_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()
    leave_audit_entries(tenant, 5)
    audit_chain.seal_audit_entries(now=LATER)
    audit_chain.check_audit_logs(now=LATER)
    leave_audit_entries(tenant, 7)
    audit_chain.seal_audit_entries(now=LATER)
    monkeypatch.setattr(audit_chain, "CHECKED_BATCH", 3)
    with pytest.raises(TimeIsUpError), work_until(over_after(3)):  # a tenant and two batches
        audit_chain.check_audit_logs(now=LATER + timedelta(hours=1))
    read: list[UUID] = []
    monkeypatch.setattr(audit_chain, "lock_audit_seals", read.append)
    assert audit_chain.check_audit_logs(now=LATER + audit_chain.WHOLE_CHECK_INTERVAL) == 0
    assert len(read) == 5  # 13 entries, three at a time


def test_loops_over_tenants_take_turns() -> None:
    """A loop over all tenants without a time limit would never reach the last ones."""
    files = [path for app_name in ("memories", "context", "compaction") for path in (ROOT / app_name).rglob("*.py")]
    found = {
        function.name
        for path in files
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for loop in ast.walk(function)
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name) and loop.iter.id == "tenant_ids"
    }
    assert found == SHORT_LOOPS
