"""What the rows of current memories and of their superseded versions are asked alike: where, what, how near."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar, NamedTuple, Self
from uuid import UUID

from django.contrib.postgres.search import SearchRank
from django.db import models
from django.db.models import F, Value
from django.db.models.expressions import RawSQL
from pgvector.django import CosineDistance

from memories.search.queries.lexemes import AnyLexeme, MatchedLexemes
from memories.search.queries.nearest import Vector, indexed_distance
from memories.services.search.filters import COUNTER_FIELDS, FilterCondition
from memories.services.search.plan import TextQuery
from memories.services.tokens import ENCODINGS
from memories.tenancy.queries.conditions import filter_condition, path_condition
from memories.tenancy.queries.rows import TenantRows


class PositionSpan(NamedTuple):
    """Positions `first` to `last`, both included, of a session in a partition."""

    partition_path: str
    session: str
    first: int
    last: int


def ids_in_spans(model: type[models.Model], tenant_id: UUID, spans: Sequence[PositionSpan]) -> RawSQL:
    """Return the primary keys of rows in any of the spans."""
    paths, sessions, firsts, lasts = (list(values) for values in zip(*spans, strict=True))
    table = model._meta.db_table
    statement = (
        f"SELECT near.id FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[])"  # noqa: S608 - a table's own name
        f' AS span ("path", "session", "first", "last") JOIN {table} near ON near.tenant_id = %s'
        " AND near.session = span.session AND near.position BETWEEN span.first AND span.last"
        " AND near.partition_path = span.path"
    )
    return RawSQL(statement, [paths, sessions, firsts, lasts, tenant_id])  # noqa: S611 - values are parameters


#: What a candidate is made of: columns of its text, and of its head, which holds what is counted.
CANDIDATE_COLUMNS = (
    *("version", "content", "pinned", "created_at", "confidence", "kind", "partition_path", "session", "position"),
)
CANDIDATE_COUNTERS = ("usefulness_score", "retrieval_count")
TOKEN_COLUMNS = tuple(f"tokens_{encoding}" for encoding in ENCODINGS)


#: The columns that a text vector is made of, besides the text.
SEARCH_COLUMNS = ("search_config", "search_words", "search_lexemes", "search_of")


class MemoryTextQuerySet(TenantRows):
    """Rows that hold one version of a memory each; `identity` names the column of the memory's id."""

    identity: ClassVar[str] = "id"
    #: How the head, which holds what is counted, and its vectors are reached.
    head: ClassVar[str] = ""

    def for_tenant(self, tenant_id: UUID) -> Self:
        return super().for_tenant(tenant_id).without_search_columns()

    def without_search_columns(self) -> Self:
        """Leave what is derived for searching in the database: nobody reads it and it is larger than the text."""
        return self.defer("search_vector", *SEARCH_COLUMNS)

    def of_memories(self, memory_ids: Iterable[UUID]) -> Self:
        return self.filter(**{f"{self.identity}__in": list(memory_ids)})

    def within(self, path: str, *, exact: bool = False) -> Self:
        """In the partition `path` or below it; `exact` leaves out what is below."""
        return self.filter(path_condition("partition_path", path, exact=exact))

    def without_texts(self) -> Self:
        """Leave what is large in the database."""
        return self.defer("content", "metadata", "search_vector", *SEARCH_COLUMNS)

    def contents(self) -> list[tuple[UUID, str]]:
        """(memory id, content) of each."""
        return list(self.order_by().values_list(self.identity, "content"))

    def within_any(self, paths: Iterable[str]) -> Self:
        """In any of the partitions or below them."""
        wanted = set(paths)
        if "" in wanted:
            return self  # an empty Q would vanish in the OR with the others
        conditions = [path_condition("partition_path", path, exact=False) for path in wanted]
        return self.filter(reduce(or_, conditions)) if conditions else self.none()

    def of_kind(self, *kinds: str) -> Self:
        return self.filter(kind__in=kinds)

    def pinned(self, is_pinned: bool = True) -> Self:
        return self.filter(pinned=is_pinned)

    def created_between(self, after: datetime | None = None, before: datetime | None = None) -> Self:
        """Created at `after` or later and before `before`; None is no bound."""
        rows = self if after is None else self.filter(created_at__gte=after)
        return rows if before is None else rows.filter(created_at__lt=before)

    def meeting(self, conditions: Iterable[FilterCondition]) -> Self:
        """The rows that meet every condition of a search's `filters`; what is counted is the head's of today."""
        return reduce(lambda rows, condition: rows.filter(filter_condition(self._of_head(condition))), conditions, self)

    def _of_head(self, condition: FilterCondition) -> FilterCondition:
        is_counted = condition.metadata_key is None and condition.field in COUNTER_FIELDS
        return replace(condition, field=self.head + condition.field) if is_counted else condition

    def matching_any(self, asked: TextQuery) -> Self:
        """The rows that a query finds by its words, best `text_rank` first, ties newest first; none without a word."""
        if not asked.matched:
            return self.none()
        rows = self
        if asked.newest is not None:
            newest = self.order_by("-created_at", self.identity).values("pk")[: asked.newest]
            rows = self.filter(pk__in=newest)
        found = rows.filter(search_vector=AnyLexeme(asked.matched))
        ranked = found.annotate(text_rank=SearchRank(F("search_vector"), AnyLexeme(asked.lexemes)))
        return ranked.order_by("-text_rank", "-created_at", self.identity)

    def languages_from(self, row_id: Any, count: int) -> list[tuple[Any, str]]:
        """(id, language) of the next rows behind `row_id` in the order of ids; None is before the first."""
        rows = self if row_id is None else self.filter(pk__gt=row_id)
        return list(rows.order_by("pk").values_list("pk", "search_config")[:count])

    def speak(self, row_ids: Sequence[Any], language: str) -> int:
        """Derive these rows' text vectors in another language; how many there were."""
        locked = self.filter(pk__in=row_ids).order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)
        return int(self.model.objects.filter(pk__in=list(locked)).update(search_config=language))

    def is_more_than(self, count: int) -> bool:
        """Whether there are more rows than that; reads no more than it takes to tell."""
        return self.order_by().values("pk")[: count + 1].count() > count

    def with_lexemes_held(self, lexemes: Sequence[str]) -> Self:
        """Adds `holds`: a list of those of the lexemes that the row's text holds; empty for none."""
        return self.annotate(holds=MatchedLexemes(lexemes))

    def nearest_to(self, vector: Vector, model: str) -> Self:
        """Rows whose own version has a vector of `model`, nearest first; adds `similarity` (cosine, -1..1)."""
        own = {f"{self.head}embeddings__model": model, f"{self.head}embeddings__version": F("version")}
        distance = CosineDistance(f"{self.head}embeddings__vector", vector)
        return (
            self.filter(**own)
            .annotate(distance=distance, similarity=Value(1.0) - F("distance"))
            .order_by("distance", "-created_at", self.identity)
        )

    def nearest_by_index(self, vector: Vector, model: str, tokens: str, limit: int) -> list[tuple[UUID, int]]:
        """(id, `tokens`) of the first of `nearest_to`, for current rows whose vectors are read `force_index_scan`."""
        own = {"embeddings__model": model, "embeddings__version": F("version"), "embeddings__is_current": True}
        rows = self.filter(**own).annotate(distance=indexed_distance("embeddings__vector", vector))
        found = list(rows.order_by("distance").values_list("id", tokens, "distance", "created_at")[:limit])
        found.sort(key=lambda row: row[0].int)
        found.sort(key=lambda row: row[3], reverse=True)
        found.sort(key=lambda row: row[2])
        return [(pk, count) for pk, count, _, _ in found]

    def in_spans(self, tenant_id: UUID, spans: Sequence[PositionSpan]) -> Self:
        """Rows that stand at any of these places of sessions, in the order of place."""
        rows = self.filter(pk__in=ids_in_spans(self.model, tenant_id, spans))
        return rows.order_by("partition_path", "session", "position", "-created_at", self.identity)

    def candidate_values(self, lexemes: Sequence[str]) -> list[dict[str, Any]]:
        """Of each row, by name: `id` of the memory, `CANDIDATE_COLUMNS`, `TOKEN_COLUMNS`, `similarity`, `holds`.

        `holds` are those of the lexemes that the text holds. The rows need `similarity`.
        """
        counters = {name: F(self.head + name) for name in CANDIDATE_COUNTERS if self.head}
        columns = (*CANDIDATE_COLUMNS, *CANDIDATE_COUNTERS, *TOKEN_COLUMNS, "similarity", "holds")
        rows = self.with_lexemes_held(lexemes).annotate(**counters).values_list(self.identity, *columns)
        names = ("id", *columns)
        return [dict(zip(names, values, strict=True)) for values in rows]

    def without_similarity(self) -> Self:
        """The shape of `with_similarity_to` where no vector of the query is to be had."""
        return self.annotate(similarity=Value(None, output_field=models.FloatField()))

    def pinned_then_newest(self) -> Self:
        return self.order_by("-pinned", "-created_at", self.identity)
