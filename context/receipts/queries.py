"""Records of contexts, and the votes on what stood in them."""

import json
from collections.abc import Callable, Iterable
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

#: Receipts looked through for questions that differ.
QUESTIONS_READ = 200


#: What a receipt may hold from outside of its partition: blocks of this kind, and a focus that is named by its id.
SUMMARY_KIND = "partition_summary"


FOCI_BY_ID = ["memory_id", "summary_id"]


#: The C encoder does everything but what JSON does not know, and does not look for circles that we do not draw.
_json_text = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=DjangoJSONEncoder().default).encode


class Percentiles(Aggregate):
    """The median of a column and the value below which 95 of 100 rows lie, as a list of the two."""

    function = "percentile_cont"
    template = "%(function)s(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())


@dataclass(frozen=True)
class ReceiptFigures:
    """What some contexts came to: how many, their latency in milliseconds, tokens given and tokens allowed."""

    contexts: int
    p50_ms: float | None
    p95_ms: float | None
    tokens_used: int
    tokens_allowed: int


class ReceiptQuerySet(TenantRows):
    """Records of contexts."""

    def for_reach(self, reach: str) -> Self:
        """Receipts in `reach` that hold nothing from outside of it but the memo; "" reaches all.

        A key with more reach may get more than its partition holds: a memory elsewhere, what it links to, the
        summaries above. Who reads such a receipt would read that too, so only keys confined alike may.
        """
        if not reach:
            return self
        is_of_like_key = path_condition("api_key__partition_prefix", reach, exact=False)
        has_summary = Q(blocks__contains=[[SUMMARY_KIND]]) | Q(omitted__contains=[[SUMMARY_KIND]])
        # level 0 is the first segment: these are the levels above `reach`
        levels_above = [Q(request__include_summaries_at__contains=[level]) for level in range(reach.count("/"))]
        may_hold = Q(request__focus__has_any_keys=FOCI_BY_ID)
        if levels_above:
            may_hold |= has_summary & reduce(or_, levels_above)
        return self.within(reach).filter(is_of_like_key | ~may_hold)

    def within(self, path: str) -> Self:
        """Receipts of the partition `path` and those below it."""
        return self.filter(path_condition("partition_path", path, exact=False))

    def with_id(self, receipt_id: UUID) -> Self:
        return self.filter(pk=receipt_id)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "id")

    def without_details(self) -> Self:
        """Rows as a list shows them; what was considered stays in the database."""
        return self.defer("candidates", "plan", "omitted")

    def newest_names(self, count: int) -> list[Any]:
        """The newest with what one knows them by: when, and what was asked."""
        return list(self.newest_first().only("created_at", "query")[:count])

    def in_partition(self, path: str) -> Self:
        """Receipts of this partition, not of those below it."""
        return self.filter(partition_path=path)

    def created_between(self, after: datetime | None, before: datetime | None) -> Self:
        """Created at `after` or later and before `before`; None is no bound."""
        rows = self if after is None else self.filter(created_at__gte=after)
        return rows if before is None else rows.filter(created_at__lt=before)

    def of_key(self, prefix: str) -> Self:
        """Receipts of what one key asked for; keys are known by their visible prefix."""
        return self.filter(api_key__prefix=prefix)

    def for_model(self, model: str) -> Self:
        return self.filter(request__model=model)

    def holding(self, memory_id: UUID) -> Self:
        """Contexts in whose text a memory stands, in any version; not those that only considered it."""
        return self.filter(memory_ids__contains=[memory_id])

    def insertion(self, row: Model) -> Insertion:
        """Of a new receipt: what `save` would send, without putting the statement together each time."""
        model: type[Model] = self.model
        statement, columns = _insertion(model)
        values = [getattr(row, name) if as_text is None else as_text(getattr(row, name)) for name, as_text in columns]
        return Insertion(statement, values)

    def with_keys(self) -> Self:
        """The keys that asked, in the same query."""
        return self.select_related("api_key")

    def with_ids(self, receipt_ids: Iterable[UUID]) -> Self:
        return self.filter(pk__in=list(receipt_ids))

    def ids_before(self, moment: datetime, count: int) -> list[UUID]:
        """The oldest of those made before `moment`."""
        rows = self.filter(created_at__lt=moment).order_by("created_at", "id")
        return list(rows.values_list("pk", flat=True)[:count])

    def ids_beyond(self, kept: int, count: int) -> list[UUID]:
        """Some of those that are not among the `kept` newest."""
        return list(self.newest_first().values_list("pk", flat=True)[kept : kept + count])

    def discard(self) -> int:
        """Delete the rows without reading what they hold; how many. Votes on them stay."""
        return int(self.only("pk").delete()[1].get(self.model._meta.label, 0))

    def since(self, moment: datetime) -> Self:
        return self.filter(created_at__gte=moment)

    def asking(self, text: str) -> Self:
        """Whose query holds `text`, whatever its case."""
        return self.filter(query__icontains=text)

    def how_many(self) -> int:
        return self.count()

    def figures_by_bin(self, *, since: datetime, step: timedelta) -> dict[datetime, ReceiptFigures]:
        """What the contexts of each stretch of time came to; one index holds all of it."""
        rows = self.binned("created_at", since=since, step=step).annotate(
            contexts=Count("*"),
            latencies=Percentiles("latency_ms"),
            tokens_used=Sum("tokens_used"),
            tokens_allowed=Sum("max_tokens"),
        )
        found = {}
        for row in rows:
            half, most = row["latencies"] or (None, None)
            found[row["bin"]] = ReceiptFigures(
                row["contexts"], half, most, row["tokens_used"], row["tokens_allowed"] or 0
            )
        return found

    def recent_questions(self, highest: int) -> list[tuple[str, str]]:
        """The latest different (query, partition) pairs, newest first, at most `highest` of them."""
        latest = self.exclude(query="").newest_first().values_list("query", "partition_path")
        return list(dict.fromkeys(latest[:QUESTIONS_READ]))[:highest]


@cache
def _insertion(model: type[Model]) -> tuple[str, list[tuple[str, Callable[[Any], str] | None]]]:
    """The statement that inserts all columns of a row, and for each its attribute and what makes a text of it."""
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    statement = sql.SQL("INSERT INTO {table} ({columns}) VALUES ({values})").format(
        table=sql.Identifier(model._meta.db_table),
        columns=sql.SQL(", ").join([sql.Identifier(str(field.column)) for field in fields]),
        values=sql.SQL(", ").join([sql.Placeholder()] * len(fields)),
    )
    texts = {JSONField: _json_text, ArrayField: array_text}
    return statement.as_string(), [(field.attname, texts.get(type(field))) for field in fields]
