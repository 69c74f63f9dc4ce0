"""Queries that current memories and superseded versions share."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, ClassVar, NamedTuple, Self
from uuid import UUID

from django.contrib.postgres.search import SearchRank
from django.db import models
from django.db.models import Case, F, Q, Subquery, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThan
from pgvector.django import CosineDistance

from memories.search.queries.lexemes import AnyLexeme, MatchedBits, MatchedLexemes, query_lexemes_in_scope
from memories.search.queries.nearest import Vector, VectorIndex, indexed_distance
from memories.services.search.filters import COUNTER_FIELDS, FilterCondition
from memories.services.search.planner import TextQuery, match_all
from memories.services.store.moments import PointInTime, TimeAxis
from memories.services.tokens import ENCODINGS
from memories.tenancy.queries.conditions import filter_condition, path_condition
from memories.tenancy.queries.methods import rows_of, rows_within, rows_without
from memories.tenancy.queries.rows import TenantRows


class PositionSpan(NamedTuple):
    """Positions `first` to `last`, both included, of a session in a partition."""

    partition_path: str
    session: str
    first: int
    last: int


def spans_around(places: Iterable[tuple[str, str, int]], reach: int) -> list[PositionSpan]:
    """Return the spans within `reach` of positions, those that touch as one, because each span is looked up."""
    spans: list[PositionSpan] = []
    for path, session, position in sorted(places):
        first, last = max(position - reach, 0), position + reach
        if spans and spans[-1][:2] == (path, session) and spans[-1].last >= first - 1:
            first = spans.pop().first
        spans.append(PositionSpan(path, session, first, last))
    return spans


#: One join that reads an index range for each span.
_IDS_IN_SPANS = (
    "SELECT near.id FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[])"
    ' AS span ("path", "session", "first", "last") JOIN {table} near ON near.tenant_id = %s'
    " AND near.session = span.session AND near.position BETWEEN span.first AND span.last"
    " AND near.partition_path = span.path"
)
#: Columns of a candidate besides counters and tokens.
CANDIDATE_COLUMNS = (
    *("version", "content", "pinned", "created_at", "valid_from", "confidence"),
    *("kind", "partition_path", "session", "position"),
)
TOKEN_COLUMNS = tuple(f"tokens_{encoding}" for encoding in ENCODINGS)

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

#: The columns that derive a text vector, besides the text.
SEARCH_COLUMNS = ("search_config", "search_words", "search_lexemes", "search_of")


class MemoryTextQuerySet(TenantRows):
    """Rows of one version of a memory each; `identity` names the column of the memory's id."""

    identity: ClassVar[str] = "id"
    #: The prefix of the memory's counters and vectors.
    head: ClassVar[str] = ""
    #: The ends of both intervals of a row; archiving ends both, unless another memory replaced it.
    valid_end: ClassVar[Any] = Coalesce("valid_to", "archived_at")
    recorded_end: ClassVar[Any] = F("archived_at")

    without_texts = rows_without("content", "metadata", "search_vector", *SEARCH_COLUMNS)
    #: Rows without the columns derived for searching, which are larger than the text.
    without_search_columns = rows_without("search_vector", *SEARCH_COLUMNS)
    of_kind = rows_of("kind")
    #: In the partition `path` or, unless `exact`, below it.
    within = rows_within("partition_path")

    def for_tenant(self, tenant_id: UUID) -> Self:
        return super().for_tenant(tenant_id).without_search_columns()

    def with_end(self, moment: PointInTime) -> Self:
        """Add `ends_at`: the end of the interval that `moment` reads, of the valid one for the present."""
        end = self.recorded_end if moment.kind is TimeAxis.RECORDED else self.valid_end
        return self.annotate(ends_at=end)

    def of_memories(self, memory_ids: Iterable[object]) -> Self:
        return self.filter(**{f"{self.identity}__in": list(memory_ids)})

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str]]:
        """Return (memory id, version, content) of rows of these memories in any of these versions."""
        return list(self._of_versions(ids, versions).values_list(self.identity, "version", "content"))

    def dated_texts_of(
        self, ids: Iterable[object], versions: Iterable[int], *, known_at: datetime
    ) -> list[tuple[Any, ...]]:
        """Return the result of `texts_of`, each row with `created_at` and its valid interval as known at a time."""
        end = Case(When(GreaterThan(self.recorded_end, Value(known_at)), then=Value(None)), default=self.valid_end)
        columns = ("version", "content", "created_at", "valid_from", end)
        return list(self._of_versions(ids, versions).values_list(self.identity, *columns))

    def _of_versions(self, ids: Iterable[object], versions: Iterable[int]) -> Self:
        return self.of_memories(ids).filter(version__in=list(versions)).order_by()

    def contents(self) -> list[tuple[UUID, str]]:
        return list(self.order_by().values_list(self.identity, "content"))

    def within_any(self, paths: Iterable[str]) -> Self:
        distinct_paths = set(paths)
        if "" in distinct_paths:
            return self  # an empty Q would vanish in the OR with the others
        conditions = [path_condition("partition_path", path, exact=False) for path in distinct_paths]
        return self.filter(reduce(or_, conditions)) if conditions else self.none()

    def pinned(self, is_pinned: bool = True) -> Self:
        return self.filter(pinned=is_pinned)

    def created_between(self, after: datetime | None = None, before: datetime | None = None) -> Self:
        """Created at `after` or later and before `before`; None is no bound."""
        rows = self if after is None else self.filter(created_at__gte=after)
        return rows if before is None else rows.filter(created_at__lt=before)

    def matching_conditions(self, conditions: Iterable[FilterCondition]) -> Self:
        """Rows that match every condition of a search's `filters`; counters are the memory's current ones."""
        rows = self
        for condition in conditions:
            is_counted = condition.metadata_key is None and condition.field in COUNTER_FIELDS
            column = self.head + condition.field if is_counted else condition.field
            rows = rows.filter(filter_condition(replace(condition, field=column)))
        return rows

    def matching(self, text: str) -> Self:
        """Rows that contain any word of `text`, best `text_rank` first."""
        return self.matching_any(match_all(query_lexemes_in_scope(text)))

    def matching_any(self, text: TextQuery) -> Self:
        """Rows that match a text query, best `text_rank` first, ties newest first; none without a word."""
        if not text.matched:
            return self.none()
        ranked = self._containing_any(text).annotate(text_rank=SearchRank(F("search_vector"), AnyLexeme(text.lexemes)))
        return ranked.order_by("-text_rank", "-created_at", self.identity)

    def text_hits(self, text: TextQuery, tokens: str) -> list[tuple[int, ...]]:
        """Return the rows that match a text query, as rows of `TEXT_HIT`."""
        columns = (self.identity, tokens, "position", "held", "partition_path", "session", "created_at")
        rows = self._containing_any(text).annotate(held=MatchedBits(text.ranking)).values_list(*columns)
        return [
            (
                *divmod(pk.int, 1 << 64),
                count,
                position or 0,
                held,
                hash((path, session)) if session and position is not None else 0,
                (created_at - _EPOCH) // timedelta(microseconds=1),
            )
            for pk, count, position, held, path, session, created_at in rows.order_by()
        ]

    def _containing_any(self, text: TextQuery) -> Self:
        """Rows that contain a matched lexeme, in no order."""
        rows = self
        if text.newest is not None:
            newest = self.order_by("-created_at", self.identity).values("pk")[: text.newest]
            rows = self.filter(pk__in=newest)
        return rows.filter(search_vector=AnyLexeme(text.matched))

    def languages_from(self, row_id: Any, count: int) -> list[tuple[Any, str]]:
        """Return (id, language) of the next rows after `row_id` in the order of ids; None starts at the first."""
        rows = self if row_id is None else self.filter(pk__gt=row_id)
        return list(rows.order_by("pk").values_list("pk", "search_config")[:count])

    def set_text_language(self, row_ids: Sequence[Any], language: str) -> int:
        """Recompute these rows' text vectors in another language; return how many."""
        locked = self.filter(pk__in=row_ids).order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)
        return int(self.model.objects.filter(pk__in=list(locked)).update(search_config=language))

    def is_more_than(self, count: int) -> bool:
        """Whether there are more rows than that; reads at most one more."""
        return self.order_by().values("pk")[: count + 1].count() > count

    def with_lexemes_held(self, lexemes: Sequence[str]) -> Self:
        """Add `holds`: the given lexemes that the row's text contains."""
        return self.annotate(holds=MatchedLexemes(lexemes))

    def nearest_to(self, vector: Vector, model: str) -> Self:
        """Rows whose version has a vector of `model`, nearest first; add `similarity` (cosine, -1..1)."""
        own = {f"{self.head}embeddings__model": model, f"{self.head}embeddings__version": F("version")}
        distance = CosineDistance(f"{self.head}embeddings__vector", vector)
        rows = self.filter(**own).annotate(distance=distance, similarity=Value(1.0) - F("distance"))
        return rows.order_by("distance", "-created_at", self.identity)

    def how_many_nearer(self, vector: Vector, model: str, own: "MemoryTextQuerySet", memory: Any) -> int:
        """Return how many rows `nearest_to` puts before `memory`, the current row of which is `own`."""
        distance = Subquery(own.nearest_to(vector, model).values("distance")[:1])
        return self.nearest_to(vector, model).order_by().filter(self._ahead("distance__lt", distance, memory)).count()

    def _ahead(self, condition: str, value: Subquery, memory: Any) -> Q:
        """Return the condition of the rows before one with this value; ties are broken by age, then by id."""
        is_equal = Q(**{condition.partition("__")[0]: value})
        is_newer = Q(created_at__gt=memory.created_at)
        is_first = Q(**{"created_at": memory.created_at, f"{self.identity}__lt": memory.pk})
        return Q(**{condition: value}) | is_equal & (is_newer | is_first)

    def nearest_by_index(
        self, vector: Vector, model: str, tokens: str, limit: int, *, index: VectorIndex
    ) -> tuple[list[tuple[UUID, int]], int]:
        """Return (id, `tokens`) of the first of `nearest_to` for current rows, and how many the index returned.

        Call it inside `force_index_scan`. Vectors that the index does not contain yet are all read.
        """
        own = {"embeddings__model": model, "embeddings__version": F("version"), "embeddings__is_current": True}
        is_indexed = Q(embeddings__id__lte=index.bound) | Q(embeddings__is_indexed=True)
        is_fresh = Q(embeddings__id__gt=index.bound, embeddings__is_indexed=False)
        distance, columns = indexed_distance("embeddings__vector", vector), ("id", tokens, "distance", "created_at")
        # all conditions in one `filter`: another one would join the vectors again, and read all of them
        indexed, fresh = (
            self.filter(part, **own).annotate(distance=distance).order_by("distance").values_list(*columns)[:limit]
            for part in (is_indexed, is_fresh)
        )
        found = [*indexed, *fresh]
        found.sort(key=lambda row: row[0].int)
        found.sort(key=lambda row: row[3], reverse=True)
        found.sort(key=lambda row: row[2])
        return [(pk, count) for pk, count, _, _ in found[:limit]], len(indexed)

    def in_spans(self, tenant_id: UUID, spans: Sequence[PositionSpan]) -> Self:
        """Rows in any of these spans of sessions, ordered by position."""
        paths, sessions, firsts, lasts = (list(values) for values in zip(*spans, strict=True))
        ids = RawSQL(_IDS_IN_SPANS.format(table=self.model._meta.db_table), [paths, sessions, firsts, lasts, tenant_id])  # noqa: S611
        return self.filter(pk__in=ids).order_by("partition_path", "session", "position", "-created_at", self.identity)

    def candidate_values(self, lexemes: Sequence[str]) -> list[dict[str, Any]]:
        """Return the values of each candidate by name; the rows need `similarity` and `ends_at`."""
        counters = {name: F(self.head + name) for name in COUNTER_FIELDS if self.head}
        columns = (*CANDIDATE_COLUMNS, *COUNTER_FIELDS, *TOKEN_COLUMNS, "similarity", "holds")
        rows = self.with_lexemes_held(lexemes).annotate(**counters).values_list(self.identity, "ends_at", *columns)
        names = ("id", "valid_to", *columns)
        return [dict(zip(names, values, strict=True)) for values in rows]

    def without_similarity(self) -> Self:
        """Add an empty `similarity`, if the query has no vector."""
        return self.annotate(similarity=Value(None, output_field=models.FloatField()))

    def pinned_then_newest(self) -> Self:
        return self.order_by("-pinned", "-created_at", self.identity)
