"""Texts that contexts have rendered."""

from collections.abc import Iterable
from datetime import datetime
from typing import Self
from uuid import UUID

from django.db.models import Max, Min
from django.db.models.functions import Coalesce

from memories.tenancy.queries.rows import TenantRows


class RecalledTextQuerySet(TenantRows):
    def with_hashes(self, hashes: Iterable[str], *, since: datetime) -> Self:
        return self.filter(recalled_hash__in=list(hashes), recalled_at__gte=since)

    def sources(self) -> list[tuple[str, UUID]]:
        """(hash, id of the memory with that text)."""
        return list(self.order_by("memory_id").values_list("recalled_hash", "memory_id"))

    def spans(self, memory_ids: Iterable[UUID]) -> dict[UUID, tuple[datetime, datetime]]:
        """By memory: when its texts were first and last rendered."""
        rows = self.filter(memory_id__in=list(memory_ids)).order_by().values("memory_id")
        spans = rows.annotate(first=Min(Coalesce("first_recalled_at", "recalled_at")), last=Max("recalled_at"))
        return {pk: (first, last) for pk, first, last in spans.values_list("memory_id", "first", "last")}

    def recalled_before(self, moment: datetime) -> Self:
        return self.filter(recalled_at__lt=moment)
