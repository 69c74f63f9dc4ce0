"""The querysets of receipts."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, reduce
from operator import or_
from typing import Any, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Aggregate, Count, FloatField, JSONField, Model, Q, Sum
from psycopg import sql

from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.insertions import Insertion, array_text
from memories.tenancy.queries.rows import TenantRows

#: Receipts searched for different queries.
QUESTIONS_READ = 200
#: What a receipt may contain from outside its partition: blocks of this kind, and a focus that an id names.
SUMMARY_KIND = "partition_summary"
FOCI_BY_ID = ["memory_id", "summary_id"]

#: The C encoder handles everything that JSON knows, and does not look for cycles, which receipts do not have.
_json_text = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=DjangoJSONEncoder().default).encode


class Percentiles(Aggregate):
    """The median and the 95th percentile of a column, as a list of two."""

    function = "percentile_cont"
    template = "%(function)s(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())


@dataclass(frozen=True)
class ReceiptFigures:
    """The number of some contexts, their latency in milliseconds, the tokens used and allowed."""

    contexts: int
    p50_ms: float | None
    p95_ms: float | None
    tokens_used: int
    tokens_allowed: int


class ReceiptQuerySet(TenantRows):
    """Receipts of contexts."""

    def for_reach(self, reach: str) -> Self:
        """Receipts in `reach` that contain nothing from outside it but the memo; "" reaches all.

        A key with more reach may get more than its partition contains: a memory elsewhere, what it links to, the
        summaries above. A receipt shows that too, so only keys with the same prefix may read it.
        """
        if not reach:
            return self
        is_of_like_key = path_condition("api_key__partition_prefix", reach, exact=False)
        has_summary = Q(blocks__contains=[[SUMMARY_KIND]]) | Q(omitted__contains=[[SUMMARY_KIND]])
        # level 0 is the first segment: these are the levels above `reach`
        levels_above = [Q(request__include_summaries_at__contains=[level]) for level in range(reach.count("/"))]
        may_contain = Q(request__focus__has_any_keys=FOCI_BY_ID)
        if levels_above:
            may_contain |= has_summary & reduce(or_, levels_above)
        is_within = path_condition("partition_path", reach, exact=False)
        return self.filter(is_within, is_of_like_key | ~may_contain)

    def listed(
        self,
        *,
        reach: str,
        partition: str = "",
        exact: bool = False,
        key_prefix: str = "",
        model: str = "",
        after: datetime | None = None,
        before: datetime | None = None,
        asking: str = "",
    ) -> Self:
        """Receipts within `reach` without their details, for a page to order and cut; empty filters match all.

        `after` is inclusive, `before` exclusive; `asking` is a part of the query, in any case.
        """
        filters = {
            "api_key__prefix": key_prefix,
            "request__model": model,
            "created_at__gte": after,
            "created_at__lt": before,
            "query__icontains": asking,
        }
        is_within = path_condition("partition_path", partition, exact=exact)
        rows = self.for_reach(reach).filter(is_within, **{name: value for name, value in filters.items() if value})
        return rows.without_details()

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "id")

    def without_details(self) -> Self:
        return self.defer("candidates", "plan", "omitted")

    def newest_names(self, count: int) -> list[Any]:
        """Return the newest with only their times and queries."""
        return list(self.newest_first().only("created_at", "query")[:count])

    def holding(self, memory_id: UUID) -> Self:
        """Receipts of contexts that include a memory, in any version."""
        return self.filter(memory_ids__contains=[memory_id])

    def asking(self, text: str) -> Self:
        """Receipts whose query contains `text`, in any case."""
        return self.filter(query__icontains=text)

    def with_keys(self) -> Self:
        return self.select_related("api_key")

    def insertion(self, row: Model) -> Insertion:
        """Return the insertion of a new receipt: what `save` would send, from a statement that is built once."""
        model: type[Model] = self.model
        statement, columns = _insertion(model)
        values = [getattr(row, name) if as_text is None else as_text(getattr(row, name)) for name, as_text in columns]
        return Insertion(statement, values)

    def ids_before(self, moment: datetime, count: int) -> list[UUID]:
        """Return the oldest of those created before `moment`."""
        rows = self.filter(created_at__lt=moment).order_by("created_at", "id")
        return list(rows.values_list("pk", flat=True)[:count])

    def ids_beyond(self, kept: int, count: int) -> list[UUID]:
        """Return some of those that are not among the `kept` newest."""
        return list(self.newest_first().values_list("pk", flat=True)[kept : kept + count])

    def discard(self) -> int:
        """Delete the rows without reading their contents; return how many. Votes on them stay."""
        return int(self.only("pk").delete()[1].get(self.model._meta.label, 0))

    def figures_by_bin(self, *, since: datetime, step: timedelta) -> dict[datetime, ReceiptFigures]:
        """Return the figures of the contexts of each interval; one index contains all of them."""
        rows = self.binned("created_at", since=since, step=step).annotate(
            contexts=Count("*"), latencies=Percentiles("latency_ms"), used=Sum("tokens_used"), allowed=Sum("max_tokens")
        )
        return {
            row["bin"]: ReceiptFigures(row["contexts"], p50_ms, p95_ms, row["used"], row["allowed"] or 0)
            for row in rows
            for p50_ms, p95_ms in [row["latencies"] or (None, None)]
        }

    def recent_questions(self, highest: int) -> list[tuple[str, str]]:
        """Return the latest different (query, partition) pairs, newest first, at most `highest` of them."""
        latest = self.exclude(query="").newest_first().values_list("query", "partition_path")
        return list(dict.fromkeys(latest[:QUESTIONS_READ]))[:highest]


@cache
def _insertion(model: type[Model]) -> tuple[str, list[tuple[str, Callable[[Any], str] | None]]]:
    """Return the statement that inserts all columns of a row, and for each its attribute and its conversion to text."""
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    statement = sql.SQL("INSERT INTO {table} ({columns}) VALUES ({values})").format(
        table=sql.Identifier(model._meta.db_table),
        columns=sql.SQL(", ").join([sql.Identifier(str(field.column)) for field in fields]),
        values=sql.SQL(", ").join([sql.Placeholder()] * len(fields)),
    )
    texts = {JSONField: _json_text, ArrayField: array_text}
    return statement.as_string(), [(field.attname, texts.get(type(field))) for field in fields]
