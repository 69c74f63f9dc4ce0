"""What a rendered context leaves behind in this room: steps of an assembly, whose record is the receipt."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from memories.models import Memory, RecalledText
from memories.services.recalled import recalled_hash


def record_recalled(*, tenant_id: UUID, texts: Mapping[UUID, str], now: datetime) -> None:
    """Remember that the texts of these memories (by id) were rendered, so that they are not stored back as new."""
    rows = [
        RecalledText(tenant_id=tenant_id, memory_id=memory_id, recalled_hash=recalled_hash(text), recalled_at=now)
        for memory_id, text in sorted(texts.items())
    ]
    RecalledText.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["memory", "recalled_hash"],
        update_fields=["recalled_at"],
    )


@transaction.atomic
def count_retrieved(*, memory_ids: Iterable[UUID], now: datetime) -> int:
    """Count one retrieval for each memory that was packed; returns how many there were. Two queries."""
    ids = list(Memory.objects.filter(pk__in=list(memory_ids)).locked().values_list("pk", flat=True))
    return Memory.objects.filter(pk__in=ids).update(retrieval_count=F("retrieval_count") + 1, last_retrieved_at=now)
