"""Current memories and their superseded versions."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models import Exists, F, FilteredRelation, FloatField, OuterRef, Prefetch, Q, Subquery, Value
from django.db.models.functions import Coalesce, Greatest, RowNumber
from pgvector.django import CosineDistance

from memories.search.queries.nearest import Vector
from memories.services.partitions.counts import MemoryCountKind, MemoryTally, tally_memories
from memories.services.store.drafts import SUPERSEDES
from memories.services.store.moments import PointInTime
from memories.store.queries.texts import SEARCH_COLUMNS, MemoryTextQuerySet
from memories.store.queries.ticks import pending_retrieval_counts
from memories.tenancy.queries.conditions import (
    current_condition,
    live_condition,
    segment_paths,
    segments_condition,
    session_summary_condition,
    version_condition,
)
from memories.tenancy.queries.insertions import execute, insert_rows
from memories.tenancy.queries.methods import rows_among, rows_by, rows_where
from memories.tenancy.queries.prepared import execute_prepared

#: From this many rows, the checks are planned again.
REPLANNED_ROWS = 100


class MemoryQuerySet(MemoryTextQuerySet):
    """Current memories by state, text, partition and time."""

    unarchived = rows_where(archived_at__isnull=True)
    with_confidence = rows_by("confidence__gte", "confidence__lt")
    archived = rows_where(archived_at__isnull=False)
    with_failed_embedding = rows_where(embedding_state="failed", archived_at__isnull=True)
    pending_embedding = rows_where(embedding_state="pending")
    #: Rows whose current version has a vector of the tenant's active model.
    ready = rows_where(embedding_state="ready")
    #: Rows of the partition itself, not of those below it.
    of_partition = rows_by("partition_id")
    with_content_hashes = rows_among("content_hash")
    expired = rows_by("expires_at__lte", archived_at__isnull=True)
    not_ready = rows_where(~Q(embedding_state="ready"))
    #: Rows other than the stored summary of a session, which repeats its facts.
    without_session_summaries = rows_where(~session_summary_condition())

    def live(self, now: datetime) -> Self:
        """Neither archived nor expired."""
        return self.filter(live_condition(now))

    def at(self, moment: PointInTime) -> Self:
        """Current rows of `moment`; those of superseded versions are `MemoryVersion`'s."""
        return self.filter(current_condition(moment)).with_end(moment)

    def with_current_at(self, **moments: PointInTime) -> Self:
        """Add a boolean for each name: whether the row was current at that moment."""
        field = models.BooleanField()
        conditions = {name: models.ExpressionWrapper(current_condition(at), field) for name, at in moments.items()}
        return self.annotate(**conditions)

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """In partitions that contain every given `key=value` segment, at any depth."""
        return self.filter(partition__segments__contains=segment_paths(segments)) if segments else self

    def of_sources(self, sources: Iterable[tuple[str, str]]) -> Self:
        """Rows with any of these pairs of partition path and `source_id`, and perhaps with other pairs of them."""
        paths, ids = zip(*sources, strict=True)
        return self.exclude(source_id="").filter(partition_path__in=set(paths), source_id__in=set(ids))

    def insert_absent(self, rows: Sequence[Any]) -> set[UUID]:
        """Insert new memories in one statement, in order; return the ids of those that no live memory excludes."""
        if len(rows) >= REPLANNED_ROWS:
            # plans of foreign key checks that were made for small tables read the whole table for each row
            execute("DISCARD PLANS")
        inserted = insert_rows(rows, "ON CONFLICT DO NOTHING RETURNING id").rows() if rows else ()
        return {pk for (pk,) in inserted}

    def with_similarity_to(self, vector: Vector, model: str) -> Self:
        """Add `similarity` as `nearest_to` does, None for a row that has no vector of `model` yet."""
        own = FilteredRelation("embeddings", condition=Q(embeddings__model=model, embeddings__version=F("version")))
        similarity = Value(1.0) - CosineDistance("own_embedding__vector", vector)
        return self.annotate(own_embedding=own).annotate(similarity=similarity)

    def retrieved_at_least(self, times: int) -> dict[UUID, int]:
        return dict(self.filter(retrieval_count__gte=times).order_by().values_list("pk", "retrieval_count"))

    def live_oldest_first(self, now: datetime) -> Self:
        return self.live(now).order_by("created_at", "pk")

    def with_failed_provider(self) -> Self:
        """Unarchived memories that have no vector because a call to the embedding provider failed."""
        return self.awaiting_embedding().exclude(embedding_error="")

    def tally_by_refusal(self, highest: int) -> list[tuple[str, int]]:
        """Return why embedders refused texts, the most frequent reasons first."""
        rows = self.values_list("embedding_error").annotate(count=models.Count("pk"))
        return list(rows.order_by("-count", "embedding_error")[:highest])

    def tally_by_tenant(self, tenant_ids: Collection[UUID], now: datetime) -> dict[UUID, MemoryTally]:
        """Return the tally of each tenant; each state is counted along its own index (ADR-0092). One query."""
        rows = self.of_tenants(tenant_ids)
        live = rows.live(now)
        states = [
            *rows._by_kind(now),
            rows.archived()._counted(MemoryCountKind.ARCHIVED),
            live.filter(pinned=True)._counted(MemoryCountKind.PINNED),
        ]
        found = defaultdict[UUID, list[Any]](list)
        for tenant_id, *row in states[0].union(*states[1:], all=True):
            found[tenant_id].append(row)
        return {pk: tally_memories(found[pk]) for pk in tenant_ids}

    def live_kinds(self, now: datetime) -> list[tuple[str, int]]:
        """Return kinds of live memories with their number, the most frequent first."""
        first, second = self._by_kind(now)
        return list(tally_memories(row for _, *row in first.union(second, all=True)).kinds.items())

    def _by_kind(self, now: datetime) -> list[models.QuerySet[Any]]:
        """Return the queries that count unarchived memories by kind, and expired ones among them."""
        kind = F("kind")
        unarchived = self.unarchived()._counted(MemoryCountKind.UNARCHIVED, kind)
        return [unarchived, self.expired(now)._counted(MemoryCountKind.EXPIRED, kind)]

    def _counted(self, counted: MemoryCountKind, kind: Any = None) -> models.QuerySet[Any]:
        """Return rows of (tenant, count kind, memory kind, memories, tokens of o200k_base)."""
        named = self.order_by().annotate(counted=Value(counted.value), of_kind=kind or Value(""))
        groups = named.values_list("tenant_id", "counted", "of_kind")
        tokens = models.Sum("tokens_o200k_base") if kind else Value(0)
        counts: models.QuerySet[Any] = groups.annotate(memories=models.Count("*"), tokens=tokens)
        return counts

    def tallied_by_partition(self) -> models.QuerySet[Any]:
        """Return rows of (partition path, memories, tokens of o200k_base, pinned, last created, last change)."""
        rows = self.order_by().values_list("partition_path")
        tallies: models.QuerySet[Any] = rows.annotate(
            memories=models.Count("pk"),
            tokens=models.Sum("tokens_o200k_base"),
            pinned=models.Count("pk", filter=Q(pinned=True)),
            last_at=models.Max("created_at"),
            changed_at=models.Max("recorded_from"),
        )
        return tallies

    def awaiting_embedding(self) -> Self:
        """Return the embedding backlog, expired memories included, because their expiry may be removed."""
        return self.unarchived().not_ready().pending_embedding()

    def of_other_tenants(self, tenant_ids: Iterable[UUID]) -> Self:
        return self.exclude(tenant_id__in=list(tenant_ids))

    def waiting_for_embedding(self, before: datetime) -> Self:
        """Pending since before `before`, oldest first."""
        return self.awaiting_embedding().filter(recorded_from__lt=before).order_by("recorded_from", "id")

    def with_embedding(self, model: str) -> Self:
        return self.filter(self._has_embedding(model))

    def without_embedding(self, model: str) -> Self:
        return self.filter(~self._has_embedding(model))

    def _has_embedding(self, model: str) -> Exists:
        embeddings = self.model._meta.get_field("embeddings").related_model.objects
        return Exists(embeddings.filter(memory_id=OuterRef("pk"), version=OuterRef("version"), model=model))

    def ids(self) -> list[UUID]:
        return list(self.values_list("pk", flat=True))

    def versions(self) -> dict[UUID, int]:
        """Return the current version of each memory by id, in the order of the rows."""
        return dict(self.values_list("pk", "version"))

    def ids_by_source(self, model: str) -> dict[str, UUID]:
        """Return the memory of each `source_id`, if its current version has a vector of `model`."""
        return dict(self.with_embedding(model).values_list("source_id", "pk"))

    def elsewhere(self, path: str) -> Self:
        """Rows that are not in the partition `path` itself."""
        return self.exclude(partition_path=path)

    def pinned_and_newest(self, count: int) -> Self:
        return self.order_by("-pinned", "-created_at", "id")[:count]

    def session_summaries(self, sessions: Iterable[str]) -> Self:
        """Rows of these sessions that look like their stored summaries; `source_of_summary` decides."""
        return self.filter(session_summary_condition(), session__in=sessions)

    def pinned_and_newest_by_partition(self, each: int, count: int) -> Self:
        """At most `each` rows of a partition and `count` in all: pinned ones, then the newest."""
        order = ["-pinned", "-created_at", "id"]
        place = models.Window(RowNumber(), partition_by="partition_id", order_by=order)
        ranked = self.annotate(place=place).filter(place__lte=each).order_by(*order)
        return self.filter(pk__in=list(ranked.values_list("pk", flat=True)[:count]))

    def newest_ids(self, count: int) -> list[UUID]:
        return list(self.order_by("-created_at", "id").values_list("pk", flat=True)[:count])

    def newest_texts(self, count: int) -> list[str]:
        return list(self.order_by("-created_at", "id").values_list("content", flat=True)[:count])

    def with_answer_parts(self, reach: str, moment: PointInTime | None = None) -> Self:
        """Add `own_embeddings`, `current_links`, `current_successors` (at `moment`), `uncounted_retrievals` (`_at`).

        Links have both ends within `reach`.
        """
        embeddings = self.model._meta.get_field("embeddings").related_model.objects
        links = self.model._meta.get_field("links_out").related_model.objects
        links = (links.current() if moment is None else links.at(moment)).within(reach)
        ticks = self.model._meta.apps.get_model("memories", "RetrievalTick").objects
        return self.annotate(**pending_retrieval_counts(ticks)).prefetch_related(
            Prefetch("embeddings", embeddings.filter(version=F("memory__version")).defer("vector"), "own_embeddings"),
            Prefetch("links_out", links.order_by("recorded_from", "id"), "current_links"),
            Prefetch("links_in", links.of_kind(SUPERSEDES).order_by("recorded_from", "id"), "current_successors"),
        )

    def end(self, now: datetime) -> int:
        """Archive the rows, never before their versions began."""
        return self.update(archived_at=_from_now_on(now))

    def open_next_versions(self, now: datetime, **values: Any) -> int:
        """Make the rows live in a next version with these values; a replaced one is valid again without a gap."""
        at = _from_now_on(now)
        next_version = {"version": F("version") + 1, "valid_from": Coalesce("valid_to", at), "recorded_from": at}
        return self.update(**next_version, archived_at=None, valid_to=None, **values)

    def keep_stored(self, tenant_id: UUID, memory_ids: Iterable[UUID]) -> set[UUID]:
        """Prevent the deletion of these memories until the transaction ends, but no change; return those that exist."""
        lock = "SELECT id FROM memories_memory WHERE tenant_id = %s AND id = ANY(%s) FOR KEY SHARE"
        return {memory_id for (memory_id,) in execute_prepared(lock, [tenant_id, list(memory_ids)])}

    def locked(self) -> Self:
        """Lock the rows against other writers, in one order everywhere so that two writers cannot deadlock."""
        return self.select_for_update(no_key=True, of=("self",)).order_by("id")


def _from_now_on(now: datetime) -> Greatest:
    """Return `now`, but never before the current version began or ended; Postgres ignores nulls."""
    return Greatest(Value(now), "valid_from", "recorded_from", "archived_at")


class MemoryVersionQuerySet(MemoryTextQuerySet):
    """Superseded versions; their counters and vectors belong to the memory."""

    identity = "memory_id"
    head = "memory__"
    valid_end = F("valid_to")
    recorded_end = F("recorded_to")

    older_than = rows_by("version__lt")

    def at(self, moment: PointInTime) -> Self:
        """The versions of `moment`; none for the present."""
        return self.filter(version_condition(moment)).with_end(moment) if moment.reads_history else self.none()

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        return self.filter(segments_condition(self.model, segments))

    def with_similarity_to(self, vector: Vector, model: str) -> Self:
        """Add `similarity` as `nearest_to` does, None for a version that never had a vector of `model`."""
        embeddings = self.model._meta.get_field("memory").related_model._meta.get_field("embeddings").related_model
        own = embeddings.objects.filter(memory_id=OuterRef("memory_id"), version=OuterRef("version"), model=model)
        similarity = own.annotate(similarity=Value(1.0) - CosineDistance("vector", vector)).values("similarity")
        return self.annotate(similarity=Subquery(similarity, output_field=FloatField()))

    def with_current_rows(self) -> Self:
        derived = ("search_vector", *SEARCH_COLUMNS)
        return self.select_related("memory").defer(*derived, *(f"memory__{name}" for name in derived))

    def newer_than(self, version: int) -> Self:
        """The versions after this one, nearest first."""
        return self.filter(version__gt=version).order_by("version")

    def of_memory(self, memory_id: UUID) -> Self:
        return self.filter(memory_id=memory_id).order_by("-version")

    def of_versions(self, versions: Mapping[UUID, int]) -> Self:
        """These versions of memories, by id, and perhaps other versions of the same memories."""
        return self.filter(memory_id__in=list(versions), version__in=set(versions.values()))

    def numbered(self, version: int) -> Any:
        return self.filter(version=version).first()
