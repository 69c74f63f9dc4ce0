"""Claim runs in turn: one tenant cannot occupy all workers (ADR-0127)."""

from datetime import datetime
from uuid import UUID

from compaction.models import Run
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope

#: Runs of one tenant that workers may have at once: half of the processes of a worker.
TENANT_RUNS_MAX = 2


def claim_in_turn(tenant_id: UUID, run_id: UUID, *, now: datetime, until: datetime) -> bool:
    """Claim a run for a worker; False if another one has it or the tenant has as many as it may. Inside a scope.

    The run then stays in the queue. Workers that claim at the same moment wait for each other.
    """
    Tenant.objects.filter(pk=tenant_id).select_for_update(no_key=True).get()
    rows = Run.objects.for_tenant(tenant_id)
    return rows.running_at(now).count() < TENANT_RUNS_MAX and bool(rows.claim(run_id, now=now, until=until))


def next_waiting_run(tenant_id: UUID, *, now: datetime) -> Run | None:
    """Return the tenant's run that has waited longest, for the worker that has just ended one."""
    with tenant_scope(tenant_id):
        run: Run | None = Run.objects.for_tenant(tenant_id).abandoned(now).first()
    return run
