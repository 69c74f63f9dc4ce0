"""Taking over what was counted elsewhere: feedback and use that a memory brings along when it is imported."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import Memory
from memories.tenancy.audit import Actor, record_audit


@dataclass(frozen=True)
class MemoryCounters:
    """How useful a memory proved, how often it was packed, and when last."""

    usefulness_score: float
    retrieval_count: int
    last_retrieved_at: datetime | None


@transaction.atomic
def import_counters(*, tenant_id: UUID, counters: Mapping[UUID, MemoryCounters], by: Actor, now: datetime) -> int:
    """Give memories (by id) the counters they bring; how many there were. Opens no version: nobody changed the text."""
    rows = list(Memory.objects.for_tenant(tenant_id).with_ids(counters).locked())
    for row in rows:
        brought = counters[row.pk]
        row.usefulness_score = brought.usefulness_score
        row.retrieval_count = brought.retrieval_count
        row.last_retrieved_at = brought.last_retrieved_at
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
