"""Memories as they are: current rows by their state, and how many there are of which."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models import Exists, F, FilteredRelation, FloatField, OuterRef, Prefetch, Q, Subquery, Value
from django.db.models.functions import Greatest
from pgvector.django import CosineDistance

from memories.search.queries.lexemes import query_lexemes_in_scope
from memories.search.queries.nearest import Vector
from memories.services.partitions.counts import MemoryCountKind, MemoryTally, tally_memories
from memories.services.search.plan import match_all
from memories.services.store.moments import PointInTime
from memories.store.queries.texts import SEARCH_COLUMNS, MemoryTextQuerySet
from memories.store.queries.ticks import pending_retrieval_counts
from memories.tenancy.queries.conditions import (
    head_condition,
    live_condition,
    segment_paths,
    segments_condition,
    version_condition,
)


class MemoryQuerySet(MemoryTextQuerySet):
    """Memories by where they stand, what they say and when they hold."""

    def live(self, now: datetime) -> Self:
        """Neither archived nor expired."""
        return self.filter(live_condition(now))

    def at(self, moment: PointInTime) -> Self:
        """The rows whose current version held at `moment`; those of superseded ones are `MemoryVersion`'s."""
        return self.filter(head_condition(moment))

    def held_at(self, **moments: PointInTime) -> Self:
        """With a truth value of each name: whether the current version held at that moment."""
        conditions = {name: head_condition(moment) for name, moment in moments.items()}
        wrapped = {name: models.ExpressionWrapper(each, models.BooleanField()) for name, each in conditions.items()}
        return self.annotate(**wrapped)

    def unarchived(self) -> Self:
        return self.filter(archived_at__isnull=True)

    def archived(self) -> Self:
        return self.filter(archived_at__isnull=False)

    def expired(self, now: datetime) -> Self:
        return self.filter(archived_at__isnull=True, expires_at__lte=now)

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """In partitions that hold every given `key=value` segment, at any depth."""
        if not segments:
            return self
        return self.filter(partition__segments__contains=segment_paths(segments))

    def with_content_hashes(self, hashes: Iterable[str]) -> Self:
        return self.filter(content_hash__in=list(hashes))

    def matching(self, text: str) -> Self:
        """All rows that hold any word of `text`, best `text_rank` first."""
        return self.matching_any(match_all(query_lexemes_in_scope(text)))

    def with_similarity_to(self, vector: Vector, model: str) -> Self:
        """Adds `similarity` as `nearest_to` does, None for a row that has no vector of `model` yet."""
        own = FilteredRelation("embeddings", condition=Q(embeddings__model=model, embeddings__version=F("version")))
        return self.annotate(own_embedding=own).annotate(
            similarity=Value(1.0) - CosineDistance("own_embedding__vector", vector)
        )

    def retrieved_at_least(self, times: int) -> dict[UUID, int]:
        """How often each was retrieved that was so often or more."""
        return dict(self.filter(retrieval_count__gte=times).order_by().values_list("pk", "retrieval_count"))

    def with_failed_embedding(self) -> Self:
        return self.filter(embedding_state="failed", archived_at__isnull=True)

    def tally_by_refusal(self, highest: int) -> list[tuple[str, int]]:
        """Why embedders refused texts, the most frequent reasons first."""
        rows = self.order_by().values_list("embedding_error").annotate(count=models.Count("pk"))
        return list(rows.order_by("-count", "embedding_error")[:highest])

    def tally_by_tenant(self, tenant_ids: Collection[UUID], now: datetime) -> dict[UUID, MemoryTally]:
        """How many memories each tenant has in which state; inside a scope that reads them. One query.

        Each state is counted along an index that holds it alone (ADR-0092).
        """
        rows = self.of_tenants(tenant_ids)
        live = rows.live(now)
        waiting = live.not_ready()  # in the words of the index of these
        states = [
            *rows._by_kind(now),
            rows.archived()._counted(MemoryCountKind.ARCHIVED),
            live.filter(pinned=True)._counted(MemoryCountKind.PINNED),
            waiting.pending_embedding()._counted(MemoryCountKind.PENDING),
            waiting.with_failed_embedding()._counted(MemoryCountKind.FAILED),
        ]
        found = defaultdict[UUID, list[Any]](list)
        for tenant_id, *row in states[0].union(*states[1:], all=True):
            found[tenant_id].append(row)
        return {pk: tally_memories(found[pk]) for pk in tenant_ids}

    def live_kinds(self, now: datetime) -> list[tuple[str, int]]:
        """Kinds of live memories and how many there are of each, the most frequent first."""
        unarchived, expired = self._by_kind(now)
        return list(tally_memories(row for _, *row in unarchived.union(expired, all=True)).kinds.items())

    def _by_kind(self, now: datetime) -> tuple[models.QuerySet[Any], models.QuerySet[Any]]:
        """What is counted of unarchived memories, and of expired ones among them."""
        kind = F("kind")
        return self.unarchived()._counted(MemoryCountKind.UNARCHIVED, kind), self.expired(now)._counted(
            MemoryCountKind.EXPIRED, kind
        )

    def _counted(self, counted: MemoryCountKind, kind: Any = None) -> models.QuerySet[Any]:
        """Rows of (tenant, what is counted, kind, memories, tokens of o200k_base)."""
        named = self.order_by().annotate(counted=Value(counted.value), of_kind=kind or Value(""))
        tokens = models.Sum("tokens_o200k_base") if kind else Value(0)
        groups = named.values_list("tenant_id", "counted", "of_kind")
        counts: models.QuerySet[Any] = groups.annotate(memories=models.Count("*"), tokens=tokens)
        return counts

    def tallied_by_partition(self) -> models.QuerySet[Any]:
        """Rows of (partition path, how many, tokens of o200k_base, how many pinned, the last one, the last change)."""
        rows = self.order_by().values_list("partition_path")
        tallies: models.QuerySet[Any] = rows.annotate(
            memories=models.Count("pk"),
            tokens=models.Sum("tokens_o200k_base"),
            pinned=models.Count("pk", filter=Q(pinned=True)),
            last_at=models.Max("created_at"),
            changed_at=models.Max("recorded_from"),
        )
        return tallies

    def pending_embedding(self) -> Self:
        return self.filter(embedding_state="pending")

    def ready(self) -> Self:
        """Their current version has a vector of the tenant's active model."""
        return self.filter(embedding_state="ready")

    def not_ready(self) -> Self:
        return self.exclude(embedding_state="ready")

    def of_other_tenants(self, tenant_ids: Iterable[UUID]) -> Self:
        """Of all tenants but these."""
        return self.exclude(tenant_id__in=list(tenant_ids))

    def waiting_for_embedding(self, before: datetime) -> Self:
        """Pending since before `before`, oldest first."""
        return self.filter(embedding_state="pending", archived_at__isnull=True, recorded_from__lt=before).order_by(
            "recorded_from", "id"
        )

    def with_embedding(self, model: str) -> Self:
        """Rows whose current version has a vector of `model`."""
        return self.filter(self._has_embedding(model))

    def without_embedding(self, model: str) -> Self:
        return self.filter(~self._has_embedding(model))

    def _has_embedding(self, model: str) -> Exists:
        embeddings = self.model._meta.get_field("embeddings").related_model.objects
        return Exists(embeddings.filter(memory_id=OuterRef("pk"), version=OuterRef("version"), model=model))

    def ids(self) -> list[UUID]:
        return list(self.values_list("pk", flat=True))

    def ids_by_source(self, model: str) -> dict[str, UUID]:
        """The memory of each `source_id`, of those whose current version has a vector of `model`."""
        return dict(self.with_embedding(model).values_list("source_id", "pk"))

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str]]:
        """(id, version, content) of rows of these memories whose current version is one of these."""
        rows = self.filter(pk__in=list(ids), version__in=list(versions))
        return list(rows.order_by().values_list("pk", "version", "content"))

    def of_partition(self, partition_id: int) -> Self:
        """Of the partition itself, not of those below it."""
        return self.filter(partition_id=partition_id)

    def most_telling(self, count: int) -> Self:
        """Pinned ones, then the newest."""
        return self.order_by("-pinned", "-created_at", "id")[:count]

    def newest_texts(self, count: int) -> list[str]:
        """What the latest memories say."""
        return list(self.order_by("-created_at", "id").values_list("content", flat=True)[:count])

    def with_answer_parts(self) -> Self:
        """Adds `own_embeddings` (of the current version, without vectors) and `current_links`: two queries for all.

        Also `uncounted_retrievals` and `uncounted_retrieved_at` of contexts that were not folded in yet.
        """
        embeddings = self.model._meta.get_field("embeddings").related_model.objects
        links = self.model._meta.get_field("links_out").related_model.objects
        ticks = self.model._meta.apps.get_model("memories", "RetrievalTick").objects
        return self.annotate(**pending_retrieval_counts(ticks)).prefetch_related(
            Prefetch("embeddings", embeddings.filter(version=F("memory__version")).defer("vector"), "own_embeddings"),
            Prefetch("links_out", links.current().order_by("recorded_from", "id"), "current_links"),
        )

    def end(self, now: datetime) -> int:
        """Archive the rows: never before their versions began, whatever clock `now` came from."""
        return self.update(archived_at=_from_now_on(now))

    def open_next_versions(self, now: datetime, **values: Any) -> int:
        """Make the rows live in a next version with these values and an unchanged text."""
        at = _from_now_on(now)
        next_version = {"version": F("version") + 1, "valid_from": at, "recorded_from": at, "archived_at": None}
        return self.update(**next_version, **values)

    def locked(self) -> Self:
        """Lock the rows against other writers, in one order everywhere so that two writers cannot deadlock."""
        return self.select_for_update(no_key=True, of=("self",)).order_by("id")


def _from_now_on(now: datetime) -> Greatest:
    """`now`, but not before the current version began or ended; Postgres passes over what is null."""
    return Greatest(Value(now), "valid_from", "recorded_from", "archived_at")


class MemoryVersionQuerySet(MemoryTextQuerySet):
    """Superseded versions; their counters and vectors belong to the memory."""

    identity = "memory_id"
    head = "memory__"

    def at(self, moment: PointInTime) -> Self:
        """The versions of `moment`; none for the present."""
        return self.filter(version_condition(moment)) if moment.reads_history else self.none()

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """In partitions that contain every given `key=value` segment at any depth."""
        return self.filter(segments_condition(self.model, segments))

    def with_similarity_to(self, vector: Vector, model: str) -> Self:
        """Adds `similarity` as `nearest_to` does, None for a version that never had a vector of `model`."""
        embeddings = self.model._meta.get_field("memory").related_model._meta.get_field("embeddings").related_model
        own = embeddings.objects.filter(memory_id=OuterRef("memory_id"), version=OuterRef("version"), model=model)
        similarity = own.annotate(similarity=Value(1.0) - CosineDistance("vector", vector)).values("similarity")
        return self.annotate(similarity=Subquery(similarity, output_field=FloatField()))

    def with_heads(self) -> Self:
        """With their memories in the same query."""
        derived = ("search_vector", *SEARCH_COLUMNS)
        return self.select_related("memory").defer(*derived, *(f"memory__{name}" for name in derived))

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
        """The row of one version, or None."""
        return self.filter(version=version).first()
