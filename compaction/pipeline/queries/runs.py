"""QuerySets of runs and of provider breakers."""

from datetime import datetime
from typing import Self
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q

from compaction.sessions.queries import SessionRows
from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.rows import TenantRows

_OPEN_STATES = ("queued", "running")


class RunQuerySet(SessionRows):
    def open(self) -> Self:
        return self.filter(state__in=_OPEN_STATES)

    def still_failed(self) -> Self:
        """Failed runs without a later success for the same session, or partition and style."""
        later = self.model._meta.default_manager.filter(
            tenant_id=OuterRef("tenant_id"), created_at__gt=OuterRef("created_at"), state="done"
        )
        of_session = later.filter(session_id=OuterRef("session_id"))
        of_partition = later.filter(partition_id=OuterRef("partition_id"), style=OuterRef("style"))
        return self.filter(~Exists(of_session), ~Exists(of_partition), state="failed")

    def of_kind(self, kind: str) -> Self:
        return self.filter(kind=kind)

    def of_compaction(self, compaction_id: UUID) -> Self:
        return self.filter(compaction_id=compaction_id)

    def within(self, path: str) -> Self:
        """Runs of sessions or partitions in `path` and below it."""
        if not path:
            return self
        of_session = path_condition("session__partition_path", path, exact=False)
        of_partition = path_condition("partition__path", path, exact=False)
        return self.filter(of_session | of_partition)

    def abandoned(self, now: datetime) -> Self:
        """Open runs without a valid lease: never claimed, or claimed by a dead worker."""
        return self.open().filter(Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)).order_by("created_at")

    def claim(self, run_id: UUID, *, now: datetime, until: datetime) -> int:
        """Claim an open run without a lease by one conditional UPDATE; returns 1 on success, else 0."""
        claimed = {"state": "running", "claimed_until": until, "started_at": now, "error_code": "", "error_detail": ""}
        return self.abandoned(now).order_by().filter(pk=run_id).update(**claimed, attempts=F("attempts") + 1)

    def finish(self, step: str, now: datetime) -> int:
        """Mark as done."""
        return self.update(state="done", step=step, claimed_until=None, finished_at=now)

    def fail(self, code: str, detail: str, now: datetime) -> int:
        """Mark as failed, with a reason that contains no memory text."""
        error = {"error_code": code, "error_detail": detail[:300]}
        return self.update(state="failed", **error, claimed_until=None, finished_at=now)

    def of_partition(self, path: str) -> Self:
        """Runs of the partition itself, not of those below it."""
        return self.filter(partition__path=path)

    def older_than(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)

    def with_lease(self, run_id: UUID, until: datetime) -> Self:
        """The run, if the lease `until` then is still its own."""
        return self.filter(pk=run_id, state="running", claimed_until=until)

    def postpone(self, until: datetime, code: str) -> int:
        """Return a leased run to the queue; it cannot be claimed before `until`."""
        return self.update(state="queued", claimed_until=until, error_code=code)

    def given_back(self) -> int:
        """Return a leased run to the queue without counting the attempt."""
        return self.update(state="queued", claimed_until=None, attempts=F("attempts") - 1)

    def with_targets(self) -> Self:
        return self.select_related("session", "partition", "compaction")

    def with_titled_targets(self) -> Self:
        """With partition and titled session, for lists. One query more."""
        return self.select_related("partition").with_titled_sessions()


class ProviderBreakerQuerySet(TenantRows):
    def of_provider(self, provider: str) -> Self:
        return self.filter(provider=provider)

    def open_at(self, now: datetime) -> Self:
        """Breakers whose provider is off at `now`."""
        return self.filter(open_until__gt=now)

    def failing(self) -> Self:
        return self.filter(Q(failures__gt=0) | Q(open_until__isnull=False))

    def locked(self) -> Self:
        return self.select_for_update()
