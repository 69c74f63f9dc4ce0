"""The base querysets of all rows of tenants, with backlogs and time bins."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models import Count, DateTimeField, DurationField, F, Func, Min, Q, Value, Window
from django.db.models.functions import RowNumber

from memories.services.store.moments import PointInTime
from memories.tenancy.queries.methods import rows_by, rows_ordered_by, rows_where
from memories.tenancy.queries.prepared import send_prepared

#: The maximum length of the stored reason for a failure.
ERROR_DETAIL_CHARACTERS_MAX = 300
_KINDS = {"DateTimeField": datetime, "FloatField": float, "CharField": str, "UUIDField": UUID}


@dataclass(frozen=True)
class Backlog:
    """The number of waiting rows and the time of the oldest; `is_more` if counting stopped."""

    count: int = 0
    oldest: datetime | None = None
    is_more: bool = False


class DateBin(Func):
    """The start of a row's time bin; bins are `step` long and the first starts at `since`."""

    function = "date_bin"
    output_field = DateTimeField()

    def __init__(self, column: str, *, since: datetime, step: timedelta) -> None:
        super().__init__(Value(step, DurationField()), F(column), Value(since, DateTimeField()))


@cache
def _columns_of(model: type[models.Model], without: frozenset[str]) -> tuple[str, list[str]]:
    """Return the columns of a model's rows for a SELECT, and its attributes, in the same order."""
    fields = [field for field in model._meta.concrete_fields if field.name not in without]
    return ", ".join(str(field.column) for field in fields), [field.attname for field in fields]


class TenantRows(models.QuerySet[Any]):
    """Rows of tenants; every query starts with `for_tenant` or `of_tenants`."""

    #: Rows with ids from the first to the last, when only a prefix of an id is known.
    with_id_between = rows_by("pk__gte", "pk__lte")

    def kind_of(self, column: str) -> type:
        """Return the type of a column's values: `datetime`, `float`, `int`, `str` or `UUID`."""
        annotation, meta = self.query.annotations.get(column), self.model._meta
        field = annotation.output_field if annotation else meta.pk if column == "pk" else meta.get_field(column)
        return _KINDS.get(field.get_internal_type(), int)

    def send_select(
        self, condition: str, values: Mapping[str, Any], *, without: frozenset[str] = frozenset()
    ) -> Callable[[], list[Any]]:
        """Send a prepared SELECT of the rows that meet a condition written by hand; return what reads the rows.

        For paths where compiling the query takes longer than the query (ADR-0170). Fields `without` are deferred.
        """
        model: type[models.Model] = self.model
        columns, names = _columns_of(model, without)
        sent = send_prepared(f"SELECT {columns} FROM {model._meta.db_table} WHERE {condition}", values)  # noqa: S608 - our own names
        return lambda: [model.from_db(self.db, names, row) for row in sent.rows()]

    def with_id(self, row_id: Any) -> Self:
        return self.filter(pk=row_id)

    def with_ids(self, row_ids: Iterable[Any]) -> Self:
        return self.filter(pk__in=list(row_ids))

    def for_tenant(self, tenant_id: UUID) -> Self:
        return self.filter(tenant_id=tenant_id)

    def of_tenants(self, tenant_ids: Iterable[UUID]) -> Self:
        """Rows of several tenants, inside a scope that reads them."""
        return self.filter(tenant_id__in=list(tenant_ids))

    def tenant_ids(self) -> list[UUID]:
        """Return the tenants of these rows, each once."""
        return list(self.order_by().values_list("tenant_id", flat=True).distinct())

    def lock_row(self, row_id: Any) -> None:
        """Lock the row until the transaction ends."""
        list(self.filter(pk=row_id).order_by().select_for_update().values_list("pk"))

    def locked(self) -> Self:
        """Locked until the transaction ends, so that the second of two writers sees what the first wrote."""
        return self.select_for_update(no_key=True, of=("self",))

    def with_turn(self, *order: str) -> Self:
        """Add the place of each row in its tenant's order as `turn`, so that sweeps can take tenants in turn."""
        return self.annotate(turn=Window(RowNumber(), partition_by="tenant_id", order_by=order))

    def row_count(self) -> int:
        return self.count()

    def backlogs(self, since: str) -> dict[UUID, Backlog]:
        """Return the number of rows and the earliest value of the column `since` by tenant."""
        rows = self.order_by().values_list("tenant_id").annotate(count=Count("pk"), oldest=Min(since))
        return {tenant_id: Backlog(count, oldest) for tenant_id, count, oldest in rows}

    def binned(self, column: str, *, since: datetime, step: timedelta) -> Any:
        """Rows from `since` on, grouped by the interval of length `step` that contains `column`, as `bin`."""
        rows = self.filter(**{f"{column}__gte": since}).order_by()
        return rows.annotate(bin=DateBin(column, since=since, step=step)).values("bin")

    def how_many_by_bin(self, column: str, *, since: datetime, step: timedelta) -> dict[datetime, int]:
        """Return the number of rows of each interval that has any."""
        counted = self.binned(column, since=since, step=step).annotate(count=Count("*"))
        return {row["bin"]: row["count"] for row in counted}

    def page(
        self,
        ordering: str,
        *,
        after: tuple[Any, Any] | None = None,
        is_backward: bool = False,
        count: int,
        tie: str = "pk",
    ) -> Self:
        """Return `count` rows in the order of one column after the row `after` (its value and tie).

        Ties are ordered by `tie` in the opposite direction. Backward returns the rows before `after`, nearest first.
        """
        column, is_down = ordering.removeprefix("-"), ordering.startswith("-") != is_backward
        beyond, beyond_tie = ("lt", "gt") if is_down else ("gt", "lt")
        rows = self
        if after is not None:
            value, row_id = after
            is_tie_beyond = Q(**{f"{column}__{beyond}": value}) | Q(**{f"{tie}__{beyond_tie}": row_id})
            rows = rows.filter(is_tie_beyond, **{f"{column}__{beyond}e": value})
        return rows.order_by(f"-{column}" if is_down else column, tie if is_down else f"-{tie}")[:count]


class LostClaimError(Exception):
    """The row was closed, or another worker has claimed it: nothing of this attempt may be stored."""


class ClaimedRows(TenantRows):
    """Background jobs; a claimed one belongs to one worker until a time."""

    newest_first = rows_ordered_by("-created_at", "id")
    older_than = rows_by("created_at__lt")
    open = rows_where(state__in=("queued", "running"))
    #: Rows that a worker, a request or a command has claimed now.
    running_at = rows_by("claimed_until__gte", state="running")
    #: The row, if it is still claimed until exactly `until`.
    claimed = rows_by("pk", "claimed_until", state="running")

    def abandoned(self, now: datetime) -> Self:
        """Open ones without a valid claim, oldest first: never claimed, back in the queue, or of a dead worker."""
        unclaimed = Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)
        return self.open().filter(unclaimed).order_by("created_at")

    def first_of_each_tenant(self, count: int) -> Self:
        """The oldest `count` of each tenant."""
        return self.with_turn("created_at", "pk").filter(turn__lte=count)

    def claim(self, row_id: UUID, *, now: datetime, until: datetime, **values: Any) -> int:
        """Claim an abandoned one by one conditional UPDATE, which writes `values` too; return 1 on success, else 0."""
        values |= {"state": "running", "claimed_until": until, "attempts": F("attempts") + 1}
        return self.abandoned(now).order_by().with_id(row_id).update(**values)

    def write(self, *, claimed_until: datetime | None, **values: Any) -> None:
        """Write to the row of `claimed`, which is claimed until another time from now on. Raises `LostClaimError`."""
        if not self.update(claimed_until=claimed_until, **values):
            raise LostClaimError

    def return_to_queue(self) -> int:
        """Return claimed ones to the queue; the attempt does not count."""
        return self.update(state="queued", claimed_until=None, attempts=F("attempts") - 1)

    def finish(self, state: str, now: datetime, *, code: str = "", detail: str = "", **values: Any) -> int:
        """Close rows, with the reason of a failure, which contains no memory text; return how many."""
        values |= {"error_code": code, "error_detail": detail[:ERROR_DETAIL_CHARACTERS_MAX], "finished_at": now}
        return self.update(state=state, claimed_until=None, **values)


class VersionedByRecordedTime(TenantRows):
    """Rows that never change: a later version replaces one at `recorded_to`."""

    current = rows_where(recorded_to__isnull=True)

    def at(self, moment: PointInTime) -> Self:
        """The rows of `moment`; valid and recorded time are the same here."""
        return self.recorded_at(moment.at) if moment.reads_history else self.current()

    def recorded_at(self, moment: datetime) -> Self:
        """The rows that were current at `moment`."""
        return self.filter(Q(recorded_to__isnull=True) | Q(recorded_to__gt=moment), recorded_from__lte=moment)
