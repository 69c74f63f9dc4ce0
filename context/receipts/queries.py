"""The querysets of receipts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, reduce
from operator import or_
from typing import Any, Self
from uuid import UUID

import orjson
from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Aggregate, Count, F, FloatField, JSONField, Model, Q, Sum
from psycopg import sql

from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.insertions import Insertion, array_text
from memories.tenancy.queries.methods import rows_by, rows_ordered_by, rows_with, rows_without
from memories.tenancy.queries.rows import TenantRows

#: Receipts searched for different queries.
QUESTIONS_READ = 200
#: The content from outside its partition that a receipt may have: blocks of this kind, and a focus named by an id.
SUMMARY_KIND = "partition_summary"
FOCI_BY_ID = ["memory_id", "summary_id"]

_DJANGO_JSON = DjangoJSONEncoder()


class Percentiles(Aggregate):
    """The median and the 95th percentile of a column, as a list of two."""

    function = "percentile_cont"
    template = "%(function)s(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())


@dataclass(frozen=True)
class ReceiptFigures:
    """The number of some contexts, their latency in milliseconds, the tokens used and allowed.

    Of detailed figures also the items included and excluded, and the contexts of which a part `failed`.
    """

    contexts: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    tokens_used: int = 0
    tokens_allowed: int = 0
    included: int = 0
    excluded: int = 0
    failed: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the figures in a row of `ReceiptQuerySet.with_figures`."""
        p50_ms, p95_ms = row["latencies"] or (None, None)
        more = {name: row[f"sum_{name}"] or 0 for name in ("included", "excluded", "failed") if f"sum_{name}" in row}
        return cls(row["contexts"], p50_ms, p95_ms, row["used"] or 0, row["allowed"] or 0, **more)

    @property
    def used_percent(self) -> float | None:
        """The share of the allowed tokens that was used, in percent; None without any."""
        return round(100 * self.tokens_used / self.tokens_allowed, 1) if self.tokens_allowed else None

    @property
    def excluded_percent(self) -> float | None:
        """The share of the considered items that was excluded, in percent; None without any."""
        considered = self.included + self.excluded
        return round(100 * self.excluded / considered, 1) if considered else None


#: Takes the place of a key's prefix for contexts that were requested without a key.
NO_KEY = "none"
#: The codes of warnings about a part of a context that failed.
FAILURE_CODES = (
    *("search_failed", "pinned_failed", "linked_failed", "successors_failed", "duplicates_failed", "summaries_failed"),
    *("profile_failed", "scoring_profile_failed", "embedding_model_failed", "focus_failed", "memo_failed"),
    *("stable_with_failed", "embedder_unavailable"),
)
#: ADR-0141. From this share of the budget on a context is nearly full.
NEARLY_FULL_SHARE = 0.95
#: ADR-0141. A context is slow from this latency on, in milliseconds.
SLOW_MS = 500.0
_HAS_FAILED = reduce(or_, (Q(warnings__contains=[{"code": code}]) for code in FAILURE_CODES))
#: The states by which the context log can be filtered.
RECEIPT_STATES: Mapping[str, Q] = {
    "full": Q(max_tokens__gt=0, tokens_used__gte=F("max_tokens") * NEARLY_FULL_SHARE),
    "empty": Q(included_count=0),
    "slow": Q(latency_ms__gte=SLOW_MS),
    "failed": _HAS_FAILED,
}
_FIGURES: Mapping[str, Any] = {
    "contexts": Count("*"),
    "latencies": Percentiles("latency_ms"),
    "used": Sum("tokens_used"),
    "allowed": Sum("max_tokens"),
}
_MORE_FIGURES: Mapping[str, Any] = {
    "sum_included": Sum("included_count"),
    "sum_excluded": Sum("excluded_count"),
    "sum_failed": Count("pk", filter=_HAS_FAILED),
}


class ReceiptQuerySet(TenantRows):
    """Receipts of contexts."""

    newest_first = rows_ordered_by("-created_at", "id")
    without_details = rows_without("candidates", "plan", "omitted")
    with_keys = rows_with("api_key")
    #: Receipts whose query contains `text`, in any case.
    asking = rows_by("query__icontains")

    def for_reach(self, reach: str) -> Self:
        """Receipts in `reach` that contain nothing from outside it but the memo; "" reaches all.

        A key with more reach may receive content from outside its partition: a memory elsewhere, its links, the
        summaries above. A receipt shows this as well, so only keys with the same prefix may read it.
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
        state: str = "",
    ) -> Self:
        """Receipts within `reach` without their details, for a page to order and cut; empty filters match all.

        `after` is inclusive, `before` exclusive; `asking` is a part of the query, in any case.
        `key_prefix` "none" matches contexts that no key requested; `state` is one of `RECEIPT_STATES`.
        """
        filters = {
            "api_key__prefix": "" if key_prefix == NO_KEY else key_prefix,
            "request__model": model,
            "created_at__gte": after,
            "created_at__lt": before,
            "query__icontains": asking,
        }
        is_within = path_condition("partition_path", partition, exact=exact)
        rows = self.for_reach(reach).filter(is_within, **{name: value for name, value in filters.items() if value})
        rows = rows.filter(api_key=None) if key_prefix == NO_KEY else rows
        return rows.in_state(state).without_details()

    def has_newer(self, than: datetime) -> bool:
        return self.filter(created_at__gt=than).exists()

    def newest_names(self, count: int) -> list[Any]:
        """Return the newest receipts with only their times and queries."""
        return list(self.newest_first().only("created_at", "query")[:count])

    def holding_any(self, memory_ids: Sequence[UUID]) -> Self:
        """Receipts of contexts that include any of these memories, in any version."""
        return self.filter(memory_ids__overlap=list(memory_ids))

    def newest_outcomes(self, partition_paths: Iterable[str], *, among: int) -> list[Any]:
        """Return those in these partitions of the `among` newest, with request and candidates, newest first."""
        newest = self.newest_first().values("pk")[:among]
        rows = self.filter(pk__in=newest, partition_path__in=list(partition_paths)).newest_first()
        return list(rows.only("created_at", "query", "partition_path", "candidates", "request"))

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
        rows = self.binned("created_at", since=since, step=step).annotate(**_FIGURES)
        return {row["bin"]: ReceiptFigures.of(row) for row in rows}

    def detailed_figures_by_bin(self, *, since: datetime, step: timedelta) -> dict[datetime, ReceiptFigures]:
        """Return the same with the items included, excluded and failed, which no index contains."""
        rows = self.binned("created_at", since=since, step=step).annotate(**_FIGURES, **_MORE_FIGURES)
        return {row["bin"]: ReceiptFigures.of(row) for row in rows}

    def detailed_figures_by(self, column: str, *, since: datetime, highest: int) -> dict[Any, ReceiptFigures]:
        """Return detailed figures by the values of a column, those with the most contexts first."""
        rows = self.filter(created_at__gte=since).order_by().values(column).annotate(**_FIGURES, **_MORE_FIGURES)
        return {row[column]: ReceiptFigures.of(row) for row in rows.order_by("-contexts", column)[:highest]}

    def in_state(self, state: str) -> Self:
        """Receipts in a state of `RECEIPT_STATES`; "" is any."""
        return self.filter(RECEIPT_STATES[state]) if state else self

    def of_owner(self, *, key_id: str | None = None, partition: str | None = None) -> Self:
        """Receipts of one key ("" is none) or of exactly one partition; None is any."""
        rows = self if key_id is None else self.filter(**({"api_key": key_id} if key_id else {"api_key": None}))
        return rows if partition is None else rows.filter(partition_path=partition)

    def recent_questions(self, highest: int) -> list[dict[str, Any]]:
        """Return query, partition, budget (if the agent gave one) and latest receipt of queries, newest first.

        Each (query, partition) pair is listed once, and at most `highest` of them.
        """
        columns = ("query", "partition_path", "pk", "max_tokens", "request__given")
        latest: dict[tuple[str, str], dict[str, Any]] = {}
        for query, path, pk, max_tokens, given in (
            self.exclude(query="").newest_first().values_list(*columns)[:QUESTIONS_READ]
        ):
            budget = max_tokens if "max_tokens" in (given or ()) else None
            question = {"query": query, "partition": path, "receipt_id": pk, "max_tokens": budget}
            latest.setdefault((query, path), question)
        return list(latest.values())[:highest]


def _json_text(value: Any) -> str:
    """Return a value as JSON; types unknown to JSON are written as a Django field writes them."""
    return orjson.dumps(value, default=_DJANGO_JSON.default, option=orjson.OPT_PASSTHROUGH_DATETIME).decode()


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
