"""All SQL of what is stored, as named chainable methods."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import reduce
from typing import Any, Self
from uuid import UUID

import numpy as np
from django.contrib.postgres.search import SearchQuery, SearchQueryField, SearchRank
from django.db import connection, models
from django.db.models import Exists, F, FilteredRelation, Func, OuterRef, Prefetch, Q, Value
from django.db.models.functions import Coalesce, TruncDate
from numpy.typing import NDArray
from pgvector.django import CosineDistance
from rest_framework_api_key.models import BaseAPIKeyManager

from memories.services.filters import Condition
from memories.services.partitions import PartitionPath, subtree_bounds

#: Unit length, as embedders give it.
Vector = Sequence[float] | NDArray[np.float32]

#: The text-search configuration of the stored tsvector; queries must use the same.
TEXT_SEARCH_CONFIG = "english"


class AnyLexeme(SearchQuery):
    """An OR of ready lexemes, cast as it stands: a second pass through the stemmer would change some of them."""

    template = "(%(expressions)s)::tsquery"

    def __init__(self, lexemes: Sequence[str]) -> None:
        quoted = ("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)
        self.invert = False
        Func.__init__(self, Value(" | ".join(quoted)), output_field=SearchQueryField())


class TenantRows(models.QuerySet[Any]):
    """Rows that belong to a tenant; every reading starts from there."""

    def for_tenant(self, tenant_id: UUID) -> Self:
        return self.filter(tenant_id=tenant_id)

    def page(
        self, ordering: str, *, after: tuple[Any, Any] | None = None, is_backward: bool = False, count: int
    ) -> Self:
        """`count` rows in the order of one column, ties by id the other way round, from the row `after` (value, id) on.

        Backward gives the rows before it, the nearest first.
        """
        column, is_down = ordering.removeprefix("-"), ordering.startswith("-") != is_backward
        beyond, beyond_tie = ("lt", "gt") if is_down else ("gt", "lt")
        rows = self
        if after is not None:
            value, row_id = after
            is_tie_beyond = Q(**{f"{column}__{beyond}": value}) | Q(**{f"pk__{beyond_tie}": row_id})
            rows = rows.filter(is_tie_beyond, **{f"{column}__{beyond}e": value})
        return rows.order_by(f"-{column}" if is_down else column, "pk" if is_down else "-pk")[:count]


class VersionedByRecordedTime(TenantRows):
    """Rows that are never changed: a later one takes over at `recorded_to`."""

    def current(self) -> Self:
        return self.filter(recorded_to__isnull=True)

    def recorded_at(self, moment: datetime) -> Self:
        """The rows that were current at `moment`."""
        return self.filter(Q(recorded_to__isnull=True) | Q(recorded_to__gt=moment), recorded_from__lte=moment)


class TenantQuerySet(models.QuerySet[Any]):
    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def of_member(self, user_id: int) -> Self:
        return self.filter(memberships__user_id=user_id)


class MembershipQuerySet(TenantRows):
    def of_user(self, user_id: int) -> Self:
        return self.filter(user_id=user_id)


class ApiKeyManager(BaseAPIKeyManager):
    """Keys by their visible prefix, as the package does it, and by tenant."""

    def get_usable_keys(self) -> models.QuerySet[Any]:
        """With their tenants, which can be read before one is known only in the scope of the look-up."""
        return super().get_usable_keys().select_related("tenant")

    def for_tenant(self, tenant_id: UUID) -> models.QuerySet[Any]:
        return self.get_queryset().filter(tenant_id=tenant_id)


class PartitionQuerySet(TenantRows):
    def at(self, paths: Iterable[str]) -> Self:
        return self.filter(path__in=list(paths))

    def within(self, path: str, *, exact: bool = False) -> Self:
        return self.filter(_path_condition("path", path, exact=exact))

    def how_many(self) -> int:
        return self.count()

    def paths(self, limit: int) -> list[str]:
        """The first paths in order, without the root."""
        return list(self.exclude(path="").order_by("path").values_list("path", flat=True)[:limit])

    def children_of(self, path: str) -> Self:
        """The partitions one level below."""
        depth = len(path.split("/")) if path else 0
        return self.within(path).filter(depth=depth + 1)

    def with_memory_counts(self, now: datetime) -> Self:
        """Adds `memory_count`: the live memories that stand exactly there."""
        return self.annotate(
            memory_count=models.Count("memories", filter=_live_condition(now, prefix="memories__"), distinct=True)
        )


class MemoryQuerySet(TenantRows):
    """Memories by where they stand, what they say and when they hold."""

    def for_tenant(self, tenant_id: UUID) -> Self:
        return super().for_tenant(tenant_id).without_search_vector()

    def without_search_vector(self) -> Self:
        """Leave the stored tsvector in the database: nobody reads it and it is larger than the text."""
        return self.defer("search_vector")

    def live(self, now: datetime) -> Self:
        """Neither archived nor expired."""
        return self.filter(_live_condition(now))

    def unarchived(self) -> Self:
        return self.filter(archived_at__isnull=True)

    def archived(self) -> Self:
        return self.filter(archived_at__isnull=False)

    def expired(self, now: datetime) -> Self:
        return self.filter(archived_at__isnull=True, expires_at__lte=now)

    def within(self, path: str, *, exact: bool = False) -> Self:
        """In the partition `path` or below it; `exact` leaves out what is below."""
        return self.filter(_path_condition("partition_path", path, exact=exact))

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """In partitions that hold every given `key=value` segment, at any depth."""
        if not segments:
            return self
        wanted = [PartitionPath(((key, value),)).path for key, value in segments.items()]
        return self.filter(partition__segments__contains=wanted)

    def with_content_hashes(self, hashes: Iterable[str]) -> Self:
        return self.filter(content_hash__in=list(hashes))

    def of_kind(self, *kinds: str) -> Self:
        return self.filter(kind__in=kinds)

    def pinned(self, is_pinned: bool = True) -> Self:
        return self.filter(pinned=is_pinned)

    def created_between(self, after: datetime | None = None, before: datetime | None = None) -> Self:
        """Created at `after` or later and before `before`; None is no bound."""
        rows = self if after is None else self.filter(created_at__gte=after)
        return rows if before is None else rows.filter(created_at__lt=before)

    def meeting(self, conditions: Iterable[Condition]) -> Self:
        """The rows that meet every condition of a search's `filters`."""
        return reduce(lambda rows, condition: rows.filter(_filter_condition(condition)), conditions, self)

    def matching(self, text: str) -> Self:
        """Rows that hold any lexeme of `text`, best `text_rank` first; none when the text has only stop words."""
        lexemes = lexemes_of(text)
        return self.matching_any(lexemes) if lexemes else self.none()

    def matching_any(self, lexemes: Sequence[str]) -> Self:
        """Rows that hold any of the lexemes, best `text_rank` first, ties newest first."""
        query = AnyLexeme(lexemes)
        rows = self.filter(search_vector=query).annotate(text_rank=SearchRank(F("search_vector"), query))
        return rows.order_by("-text_rank", "-created_at", "id")

    def nearest_to(self, vector: Vector, model: str) -> Self:
        """Rows whose current version has a vector of `model`, nearest first; adds `similarity` (cosine, -1..1)."""
        rows = self.filter(embeddings__model=model, embeddings__version=F("version"))
        distance = CosineDistance("embeddings__vector", vector)
        return rows.annotate(distance=distance, similarity=Value(1.0) - F("distance")).order_by(
            "distance", "-created_at", "id"
        )

    def with_similarity_to(self, vector: Vector, model: str) -> Self:
        """Adds `similarity` as `nearest_to` does, None for a row that has no vector of `model` yet."""
        own = FilteredRelation("embeddings", condition=Q(embeddings__model=model, embeddings__version=F("version")))
        return self.annotate(own_embedding=own).annotate(
            similarity=Value(1.0) - CosineDistance("own_embedding__vector", vector)
        )

    def without_similarity(self) -> Self:
        """The shape of `with_similarity_to` where no vector of the query is to be had."""
        return self.annotate(similarity=Value(None, output_field=models.FloatField()))

    def pinned_then_newest(self) -> Self:
        return self.order_by("-pinned", "-created_at", "id")

    def with_ids(self, memory_ids: Iterable[UUID | str]) -> Self:
        return self.filter(pk__in=list(memory_ids))

    def with_failed_embedding(self) -> Self:
        return self.filter(embedding_state="failed", archived_at__isnull=True)

    def tally(self, now: datetime) -> dict[str, int]:
        """How many are live (and of those pinned, pending, failed, their tokens of o200k_base), archived, expired."""
        return self.aggregate(**_tallies(now))

    def tally_by_tenant(self, tenant_ids: Iterable[UUID], now: datetime) -> dict[UUID, dict[str, int]]:
        """`tally` of each tenant, zeros where it has no rows."""
        ids, tallies = list(tenant_ids), _tallies(now)
        rows = self.filter(tenant_id__in=ids).order_by().values("tenant_id").annotate(**tallies)
        return {pk: dict.fromkeys(tallies, 0) for pk in ids} | {row.pop("tenant_id"): row for row in rows}

    def tally_by_kind(self) -> list[tuple[str, int]]:
        """How many of each kind, the most frequent first."""
        return list(self.values_list("kind").annotate(count=models.Count("pk")).order_by("-count", "kind"))

    def tally_by_day(self, since: datetime) -> dict[date, int]:
        """How many were created on each day (UTC) from `since` on."""
        days = self.filter(created_at__gte=since).order_by().values_list(TruncDate("created_at", tzinfo=UTC))
        return dict(days.annotate(count=models.Count("pk")))

    def pending_embedding(self) -> Self:
        return self.filter(embedding_state="pending")

    def waiting_for_embedding(self, before: datetime) -> Self:
        """Pending since before `before`, oldest first."""
        return self.filter(embedding_state="pending", archived_at__isnull=True, recorded_from__lt=before).order_by(
            "recorded_from", "id"
        )

    def with_embedding(self, model: str) -> Self:
        """Rows whose current version has a vector of `model`."""
        own = self.model._meta.get_field("embeddings").related_model.objects.filter(
            memory_id=OuterRef("pk"), version=OuterRef("version"), model=model
        )
        return self.filter(Exists(own))

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str]]:
        """(id, version, content) of rows of these memories whose current version is one of these."""
        rows = self.filter(pk__in=list(ids), version__in=list(versions))
        return list(rows.order_by().values_list("pk", "version", "content"))

    def with_id(self, memory_id: UUID) -> Self:
        return self.filter(pk=memory_id)

    def with_answer_parts(self) -> Self:
        """Adds `own_embeddings` (of the current version, without vectors) and `current_links`: two queries for all."""
        embeddings = self.model._meta.get_field("embeddings").related_model.objects
        links = self.model._meta.get_field("links_out").related_model.objects
        return self.prefetch_related(
            Prefetch("embeddings", embeddings.filter(version=F("memory__version")).defer("vector"), "own_embeddings"),
            Prefetch("links_out", links.current().order_by("recorded_from", "id"), "current_links"),
        )

    def locked(self) -> Self:
        """Lock the rows against other writers, in one order everywhere so that two writers cannot deadlock."""
        return self.select_for_update(no_key=True, of=("self",)).order_by("id")


class MemoryVersionQuerySet(TenantRows):
    def older_than(self, version: int) -> Self:
        return self.filter(version__lt=version)

    def newer_than(self, version: int) -> Self:
        """The nearest first."""
        return self.filter(version__gt=version).order_by("version")

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str]]:
        """(memory id, version, content) of rows of these memories in any of these versions."""
        rows = self.filter(memory_id__in=list(ids), version__in=list(versions))
        return list(rows.order_by().values_list("memory_id", "version", "content"))

    def of_memory(self, memory_id: UUID) -> Self:
        return self.filter(memory_id=memory_id).order_by("-version")

    def numbered(self, version: int) -> Any:
        """The row of one version, None where there is none."""
        return self.filter(version=version).first()


class MemoryEmbeddingQuerySet(TenantRows):
    def of_version(self, memory_id: UUID, version: int) -> Self:
        return self.filter(memory_id=memory_id, version=version)


class MemoryLinkQuerySet(VersionedByRecordedTime):
    def from_memory(self, memory_id: UUID) -> Self:
        return self.filter(source_id=memory_id)

    def to_memory(self, memory_id: UUID) -> Self:
        return self.filter(target_id=memory_id)

    def touching(self, memory_id: UUID) -> Self:
        return self.filter(Q(source_id=memory_id) | Q(target_id=memory_id))

    def with_ends(self) -> Self:
        """Both memories of each edge in the same query, the newest edge first."""
        return self.select_related("source", "target").order_by("-recorded_from", "pk")


class TenantMemoQuerySet(VersionedByRecordedTime):
    def texts_of(self, versions: Iterable[int]) -> list[tuple[int, str]]:
        """(version, content) of these versions."""
        return list(self.filter(version__in=list(versions)).order_by().values_list("version", "content"))


class RecalledTextQuerySet(TenantRows):
    def with_hashes(self, hashes: Iterable[str], *, since: datetime) -> Self:
        return self.filter(recalled_hash__in=list(hashes), recalled_at__gte=since)

    def recalled_before(self, moment: datetime) -> Self:
        return self.filter(recalled_at__lt=moment)


class IdempotencyRecordQuerySet(TenantRows):
    def created_before(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)


class AuditEntryQuerySet(TenantRows):
    def newest_first(self) -> Self:
        return self.order_by("-at", "id")

    def about(self, target_id: object) -> Self:
        return self.filter(target_ids__contains=[str(target_id)])


def _tallies(now: datetime) -> dict[str, Any]:
    live = _live_condition(now)
    return {
        "live": models.Count("pk", filter=live),
        "pinned": models.Count("pk", filter=live & Q(pinned=True)),
        "pending": models.Count("pk", filter=live & Q(embedding_state="pending")),
        "failed": models.Count("pk", filter=live & Q(embedding_state="failed")),
        "tokens": Coalesce(models.Sum("tokens_o200k_base", filter=live), 0),
        "archived": models.Count("pk", filter=Q(archived_at__isnull=False)),
        "expired": models.Count("pk", filter=Q(archived_at__isnull=True, expires_at__lte=now)),
    }


def lexemes_of(text: str) -> list[str]:
    """The lexemes of `text` as the stored tsvector would hold them, without stop words."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tsvector_to_array(to_tsvector(%s::regconfig, %s))", [TEXT_SEARCH_CONFIG, text])
        return list(cursor.fetchone()[0])


def _live_condition(now: datetime, *, prefix: str = "") -> Q:
    is_unexpired = Q(**{f"{prefix}expires_at__isnull": True}) | Q(**{f"{prefix}expires_at__gt": now})
    return Q(**{f"{prefix}archived_at__isnull": True}) & is_unexpired


def _path_condition(column: str, path: str, *, exact: bool) -> Q:
    is_there = Q(**{column: path})
    if exact:
        return is_there
    if not path:
        return Q()
    low, high = subtree_bounds(path)
    return is_there | Q(**{f"{column}__gte": low, f"{column}__lt": high})


def _filter_condition(condition: Condition) -> Q:
    if condition.metadata_key is None:
        suffix = {"eq": "", "gte": "__gte", "lte": "__lte", "in": "__in"}[condition.operator]
        return Q(**{condition.field + suffix: condition.value})
    values = condition.value if condition.operator == "in" else [condition.value]
    alternatives = [Q(metadata__contains={condition.metadata_key: value}) for value in values]
    return reduce(operator.or_, alternatives, Q(pk__in=[]))
