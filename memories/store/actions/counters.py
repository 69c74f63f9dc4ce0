"""Import counters: feedback and retrievals that were counted elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import Memory
from memories.tenancy.audit import Actor, record_audit


@dataclass(frozen=True)
class MemoryCounters:
    """Usefulness, number of retrievals and last retrieval of a memory."""

    usefulness_score: float
    retrieval_count: int
    last_retrieved_at: datetime | None


@transaction.atomic
def import_counters(*, tenant_id: UUID, counters: Mapping[UUID, MemoryCounters], by: Actor, now: datetime) -> int:
    """Set the counters of memories by id, without a new version; return how many memories there were."""
    rows = list(Memory.objects.for_tenant(tenant_id).with_ids(counters).locked())
    for row in rows:
        for name, value in vars(counters[row.pk]).items():
            setattr(row, name, value)
    Memory.objects.bulk_update(rows, ["usefulness_score", "retrieval_count", "last_retrieved_at"])
    record_audit(
        tenant_id=tenant_id,
        by=by,
        verb="adopt_counters",
        target_kind="memory",
        target_ids=[row.pk for row in rows],
        fields=["usefulness_score", "retrieval_count"],
        now=now,
    )
    return len(rows)
