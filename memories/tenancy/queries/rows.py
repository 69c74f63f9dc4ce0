"""What all querysets of a tenant's rows share."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models import Count, Min, Q

from memories.services.store.moments import PointInTime
from memories.tenancy.queries.backlogs import Backlog, DateBin


class TenantRows(models.QuerySet[Any]):
    """Rows that belong to a tenant; every reading starts from there."""

    def for_tenant(self, tenant_id: UUID) -> Self:
        return self.filter(tenant_id=tenant_id)

    def of_tenants(self, tenant_ids: Iterable[UUID]) -> Self:
        """Rows of several tenants, inside a scope that reads them."""
        return self.filter(tenant_id__in=list(tenant_ids))

    def how_many(self) -> int:
        return self.count()

    def backlogs(self, since: str) -> dict[UUID, Backlog]:
        """By tenant how many rows there are, and the earliest value of the column `since`."""
        rows = self.order_by().values_list("tenant_id").annotate(count=Count("pk"), oldest=Min(since))
        return {tenant_id: Backlog(count, oldest) for tenant_id, count, oldest in rows}

    def binned(self, column: str, *, since: datetime, step: timedelta) -> Any:
        """Rows from `since` on, grouped by the stretch of time that `column` falls into, as `bin`."""
        rows = self.filter(**{f"{column}__gte": since}).order_by()
        return rows.annotate(bin=DateBin(column, since=since, step=step)).values("bin")

    def how_many_by_bin(self, column: str, *, since: datetime, step: timedelta) -> dict[datetime, int]:
        """How many rows fall into each stretch of time that has any."""
        counted = self.binned(column, since=since, step=step).annotate(count=Count("*"))
        return {row["bin"]: row["count"] for row in counted}

    def with_id_between(self, first: UUID, last: UUID) -> Self:
        """Both included: for ids of which only the beginning is known."""
        return self.filter(pk__gte=first, pk__lte=last)

    def page(
        self,
        ordering: str,
        *,
        after: tuple[Any, Any] | None = None,
        is_backward: bool = False,
        count: int,
        tie: str = "pk",
    ) -> Self:
        """`count` rows in the order of one column, ties by `tie` the other way round, from the row `after` on.

        `after` is a row's value and tie. Backward gives the rows before it, the nearest first.
        """
        column, is_down = ordering.removeprefix("-"), ordering.startswith("-") != is_backward
        beyond, beyond_tie = ("lt", "gt") if is_down else ("gt", "lt")
        rows = self
        if after is not None:
            value, row_id = after
            is_tie_beyond = Q(**{f"{column}__{beyond}": value}) | Q(**{f"{tie}__{beyond_tie}": row_id})
            rows = rows.filter(is_tie_beyond, **{f"{column}__{beyond}e": value})
        return rows.order_by(f"-{column}" if is_down else column, tie if is_down else f"-{tie}")[:count]


class VersionedByRecordedTime(TenantRows):
    """Rows that are never changed: a later one takes over at `recorded_to`."""

    def current(self) -> Self:
        return self.filter(recorded_to__isnull=True)

    def at(self, moment: PointInTime) -> Self:
        """The rows that held at `moment`: these have one interval, so both times read the recorded one."""
        return self.recorded_at(moment.at) if moment.reads_history else self.current()

    def recorded_at(self, moment: datetime) -> Self:
        """The rows that were current at `moment`."""
        return self.filter(Q(recorded_to__isnull=True) | Q(recorded_to__gt=moment), recorded_from__lte=moment)
