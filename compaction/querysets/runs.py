"""Background work: finding it, claiming it, and the breakers of providers."""

from datetime import datetime
from typing import Self
from uuid import UUID

from django.db.models import F, Q

from memories.querysets import TenantRows
from memories.querysets.conditions import path_condition

OPEN_STATES = ("queued", "running")


class RunQuerySet(TenantRows):
    def with_id(self, run_id: UUID) -> Self:
        return self.filter(pk=run_id)

    def open(self) -> Self:
        return self.filter(state__in=OPEN_STATES)

    def in_state(self, *states: str) -> Self:
        return self.filter(state__in=states)

    def of_kind(self, kind: str) -> Self:
        return self.filter(kind=kind)

    def of_session(self, session_id: UUID) -> Self:
        return self.filter(session_id=session_id)

    def within(self, path: str) -> Self:
        """Runs of sessions or partitions in `path` and below it."""
        if not path:
            return self
        of_session = path_condition("session__partition_path", path, exact=False)
        of_partition = path_condition("partition__path", path, exact=False)
        return self.filter(of_session | of_partition)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "id")

    def abandoned(self, now: datetime) -> Self:
        """Open ones that nobody holds: never claimed, or claimed by a worker that is gone."""
        return self.open().filter(Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)).order_by("created_at")

    def claim(self, run_id: UUID, *, now: datetime, until: datetime) -> int:
        """Take an open run that nobody holds; 1 for who got it, 0 for everybody else. One conditional UPDATE."""
        return (
            self.abandoned(now)
            .order_by()
            .filter(pk=run_id)
            .update(
                state="running",
                claimed_until=until,
                started_at=now,
                attempts=F("attempts") + 1,
                error_code="",
                error_detail="",
            )
        )

    def with_targets(self) -> Self:
        return self.select_related("session", "partition", "compaction")


class ProviderBreakerQuerySet(TenantRows):
    def of_provider(self, provider: str) -> Self:
        return self.filter(provider=provider)

    def locked(self) -> Self:
        return self.select_for_update()
