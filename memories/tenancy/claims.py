"""Claim background work in turn: one tenant cannot occupy all workers (ADR-0127)."""

from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models import Tenant
from memories.tenancy.queries.rows import ClaimedRows
from memories.tenancy.scopes import tenant_scope

#: Maximum jobs of one kind and tenant that workers run at the same time: half of a worker's processes.
TENANT_CLAIMS_MAX = 2


def claim_in_turn(
    rows: ClaimedRows, tenant_id: UUID, row_id: UUID, *, now: datetime, until: datetime, most: int = TENANT_CLAIMS_MAX
) -> bool:
    """Claim one of a tenant's rows for a worker; return False if another has it or the tenant is at its limit.

    The row then stays in the queue. Workers that claim at the same moment wait for each other. Call inside a scope.
    """
    lock_claims(tenant_id)
    return rows.running_at(now).count() < most and bool(rows.claim(row_id, now=now, until=until))


def lock_claims(tenant_id: UUID) -> None:
    """Make other workers that claim work of the tenant wait until the transaction ends."""
    Tenant.objects.filter(pk=tenant_id).select_for_update(no_key=True).first()


def next_waiting(rows: ClaimedRows, tenant_id: UUID, *, now: datetime) -> Any:
    """Return the tenant's row that has waited longest, for a worker that has just finished one, or None."""
    with tenant_scope(tenant_id):
        return rows.abandoned(now).first()
