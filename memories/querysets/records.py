"""What stands beside memories: vectors, links, memo, summaries, snapshots, what was recalled, answered and done."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Self
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import BinaryField, Count, F, Func, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.django import CosineDistance

from memories.querysets.conditions import path_condition, segments_condition
from memories.querysets.insertions import array_text
from memories.querysets.nearest import Vector, indexed_distance
from memories.querysets.rows import TenantRows, VersionedByRecordedTime
from memories.querysets.texts import SEARCH_COLUMNS

_CARRY = """
INSERT INTO memories_memoryembedding
    (tenant_id, memory_id, version, model, dimension, vector, is_current, partition_path)
SELECT former.tenant_id, former.memory_id, head.version, former.model, former.dimension, former.vector, TRUE, ''
FROM memories_memoryembedding AS former
    JOIN memories_memory AS head ON head.id = former.memory_id AND head.version = former.version + 1
WHERE former.tenant_id = %s AND former.memory_id = ANY (%s::uuid[])
ORDER BY former.memory_id
ON CONFLICT DO NOTHING
RETURNING memory_id
"""


class MemoryEmbeddingQuerySet(TenantRows):
    def carry(self, tenant_id: UUID, memory_ids: Iterable[UUID]) -> set[UUID]:
        """Give the current versions of memories the vectors of those before them; which memories had any."""
        with connection.cursor() as cursor:
            cursor.execute(_CARRY, [tenant_id, array_text(memory_ids)])
            return {pk for (pk,) in cursor.fetchall()}

    def of_model(self, name: str) -> Self:
        return self.filter(model=name)

    def of_version(self, memory_id: UUID, version: int) -> Self:
        return self.filter(memory_id=memory_id, version=version)

    def of_versions(self, versions: Collection[tuple[UUID, int]], model: str) -> Self:
        """Those of any of these memories in any of these versions, under one model."""
        ids, numbers = {pk for pk, _ in versions}, {number for _, number in versions}
        return self.filter(memory_id__in=ids, version__in=numbers, model=model)

    def of_newest(self, memories: QuerySet[Any], model: str, count: int) -> Self:
        """Those of the current versions of the newest `count` of these memories, under one model."""
        newest = memories.order_by("-created_at", "pk").values("pk")[:count]
        return self.filter(memory_id__in=newest, version=F("memory__version"), model=model)

    def current_in(self, memories: QuerySet[Any], model: str) -> Self:
        """Those of the current versions of these memories, under one model."""
        return self.filter(memory__in=memories.order_by().values("pk"), version=F("memory__version"), model=model)

    def matrices(self, rows: int) -> Iterator[tuple[list[UUID], NDArray[np.float32]]]:
        """(memory ids, vectors as rows), so many at a time: a partition need not fit into memory.

        Within a transaction: a cursor of the server stands behind it.
        """
        sent = self.order_by().annotate(sent=Func(F("vector"), function="halfvec_send", output_field=BinaryField()))
        found = sent.values_list("memory_id", "sent").iterator(chunk_size=rows)
        while chunk := list(islice(found, rows)):
            # two bytes of dimension, two unused, then half floats, the high byte first
            halves = np.frombuffer(b"".join(bytes(vector)[4:] for _, vector in chunk), dtype=">f2")
            yield [pk for pk, _ in chunk], halves.reshape(len(chunk), -1).astype(np.float32)

    def count_live_by_model(self, now: datetime) -> dict[str, int]:
        """By model how many live memories have a vector of their current version.

        All current ones without those of expired memories: an index counts the many, and only the few are joined.
        """
        current = self.filter(is_current=True).order_by().values_list("model")
        counts = dict(current.annotate(count=Count("*")))
        expired = current.filter(memory__archived_at__isnull=True, memory__expires_at__lte=now)
        return counts | {model: counts[model] - count for model, count in expired.annotate(count=Count("*"))}

    def current_of(self, model: str) -> Self:
        """Those of the current versions of unarchived memories, under one model; an edit under way may add others."""
        return self.filter(model=model, is_current=True)

    def within(self, path: str, *, exact: bool = False) -> Self:
        """Of memories in the partition `path` or below it; for current ones alone."""
        return self.filter(path_condition("partition_path", path, exact=exact))

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """Of memories in partitions that hold every given `key=value` segment, at any depth; for current ones alone."""
        return self.filter(segments_condition(self.model, "partition_path", segments))

    def nearest_to(self, vector: Vector) -> Self:
        """All of them compared, nearest first; adds `distance` (1 - cosine)."""
        return self.annotate(distance=CosineDistance("vector", vector)).order_by("distance", "memory_id")

    def nearest_by_index(self, vector: Vector) -> Self:
        """The same in the order, and by the expression, of the index over the model's vectors."""
        return self.annotate(distance=indexed_distance("vector", vector)).order_by("distance")

    def vectors(self) -> Iterator[tuple[UUID, int, NDArray[np.float32]]]:
        """(memory id, version, vector) of each; as bytes, for reading numbers from text takes ten times as long."""
        sent = self.order_by().annotate(sent=Func(F("vector"), function="halfvec_send", output_field=BinaryField()))
        for memory_id, version, vector in sent.values_list("memory_id", "version", "sent"):
            yield memory_id, version, HalfVector.from_binary(bytes(vector)).to_numpy().astype(np.float32)


class MemoryLinkQuerySet(VersionedByRecordedTime):
    def from_memory(self, memory_id: UUID) -> Self:
        return self.filter(source_id=memory_id)

    def in_order(self) -> Self:
        """In the order of link time, then id."""
        return self.order_by("recorded_from", "pk")

    def targets(self, count: int) -> list[UUID]:
        """Where the first edges lead."""
        return list(self.values_list("target_id", flat=True)[:count])

    def sources(self, count: int) -> list[UUID]:
        """Where the first edges come from."""
        return list(self.values_list("source_id", flat=True)[:count])

    def touching(self, memory_id: UUID) -> Self:
        return self.filter(Q(source_id=memory_id) | Q(target_id=memory_id))

    def touching_any(self, memory_ids: Iterable[UUID]) -> Self:
        """Edges from or to any of these memories, in one order."""
        ids = list(memory_ids)
        return self.filter(Q(source_id__in=ids) | Q(target_id__in=ids)).order_by("pk")

    def numbered_any(self, ids: Iterable[int]) -> Self:
        return self.filter(pk__in=list(ids)).order_by("pk")

    def to_memory(self, memory_id: UUID) -> Self:
        return self.filter(target_id=memory_id)

    def of_kind(self, kind: str) -> Self:
        return self.filter(kind=kind)

    def numbered(self, link_id: int) -> Self:
        return self.filter(pk=link_id)

    def within(self, path: str) -> Self:
        """Edges both of whose ends are in `path` or below it."""
        ends = ("source__partition_path", "target__partition_path")
        return self.filter(*(path_condition(column, path, exact=False) for column in ends))

    def with_ends(self) -> Self:
        """Both memories of each edge in the same query, the newest edge first."""
        derived = [f"{end}__{name}" for end in ("source", "target") for name in ("search_vector", *SEARCH_COLUMNS)]
        return self.select_related("source", "target").defer(*derived).order_by("-recorded_from", "pk")


class TenantMemoQuerySet(VersionedByRecordedTime):
    def newest_first(self) -> Self:
        return self.order_by("-version")

    def texts_of(self, versions: Iterable[int]) -> list[tuple[int, str]]:
        """(version, content) of these versions."""
        return list(self.filter(version__in=list(versions)).order_by().values_list("version", "content"))


class PartitionSummaryQuerySet(VersionedByRecordedTime):
    def of_style(self, style: str) -> Self:
        return self.filter(style=style)

    def of_partition(self, path: str) -> Self:
        return self.filter(partition__path=path)

    def of_partitions(self, partitions: QuerySet[Any]) -> Self:
        """Of the partitions that another query finds, in the order of their paths."""
        return self.filter(partition__in=partitions).select_related("partition").order_by("partition__path")

    def in_partitions(self, paths: Iterable[str]) -> Self:
        """Of these partitions, from the root down, each with its partition in the same query."""
        rows = self.filter(partition__path__in=list(paths)).select_related("partition")
        return rows.order_by("partition__depth", "partition__path", "style", "version")

    def without_texts(self) -> Self:
        return self.defer("content")

    def within(self, path: str) -> Self:
        return self.filter(path_condition("partition__path", path, exact=False))

    def of_summary(self, summary_id: UUID) -> Self:
        """All versions of one summary, the newest first, each with its partition in the same query."""
        return self.filter(summary_id=summary_id).select_related("partition").order_by("-version")

    def latest_of(self, ids: Iterable[object]) -> Self:
        """The last version of each of these summaries, with its partition in the same query."""
        rows = self.filter(summary_id__in=list(ids)).select_related("partition")
        return rows.order_by("summary_id", "-version").distinct("summary_id")

    def newest_first(self) -> Self:
        return self.order_by("style", "-version")

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str]]:
        """(summary id, version, content) of rows of these summaries in any of these versions."""
        rows = self.filter(summary_id__in=list(ids), version__in=list(versions))
        return list(rows.order_by().values_list("summary_id", "version", "content"))


class SnapshotQuerySet(TenantRows):
    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def with_id(self, snapshot_id: UUID) -> Self:
        return self.filter(pk=snapshot_id)

    def newest_first(self) -> Self:
        return self.order_by("-recorded_at", "name")


class RecalledTextQuerySet(TenantRows):
    def with_hashes(self, hashes: Iterable[str], *, since: datetime) -> Self:
        return self.filter(recalled_hash__in=list(hashes), recalled_at__gte=since)

    def sources(self) -> list[tuple[str, UUID]]:
        """(hash, the memory whose text it is of)."""
        return list(self.order_by("memory_id").values_list("recalled_hash", "memory_id"))

    def spans(self, memory_ids: Iterable[UUID]) -> dict[UUID, tuple[datetime, datetime]]:
        """Of each memory whose texts were rendered lately, when first and when last."""
        rows = self.filter(memory_id__in=list(memory_ids)).order_by().values("memory_id")
        spans = rows.annotate(first=Min(Coalesce("first_recalled_at", "recalled_at")), last=Max("recalled_at"))
        return {pk: (first, last) for pk, first, last in spans.values_list("memory_id", "first", "last")}

    def recalled_before(self, moment: datetime) -> Self:
        return self.filter(recalled_at__lt=moment)


class IdempotencyRecordQuerySet(TenantRows):
    def created_before(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)


class AuditEntryQuerySet(TenantRows):
    def newest_first(self) -> Self:
        return self.order_by("-at", "id")

    def of_kind(self, target_kind: str) -> Self:
        return self.filter(target_kind=target_kind)

    def of_verbs(self, verbs: Iterable[str]) -> Self:
        return self.filter(verb__in=list(verbs))

    def at_any(self, moments: Iterable[datetime]) -> Self:
        return self.filter(at__in=list(moments))

    def about(self, target_id: object) -> Self:
        return self.filter(target_ids__contains=[str(target_id)])

    def about_any(self, target_kind: str, target_ids: Iterable[object]) -> Self:
        return self.filter(target_kind=target_kind, target_ids__overlap=[str(target_id) for target_id in target_ids])

    def narrowed(
        self,
        *,
        actor: str = "",
        verb: str = "",
        target_kind: str = "",
        target_id: str = "",
        after: datetime | None = None,
        before: datetime | None = None,
    ) -> Self:
        """Entries whose actor's label and verb hold these texts, about this kind and id, within these times."""
        wanted = {
            "actor_label__icontains": actor,
            "verb__contains": verb,
            "target_kind": target_kind,
            "target_ids__contains": [target_id] if target_id else None,
            "at__gte": after,
            "at__lte": before,
        }
        return self.filter(**{column: value for column, value in wanted.items() if value})

    def names_in_newest(self, count: int) -> list[tuple[str, str, str]]:
        """(actor's label, verb, kind of target) of the newest `count` entries, as often as they occur."""
        return list(self.newest_first().values_list("actor_label", "verb", "target_kind")[:count])

    def last_of_outer_key(self) -> QuerySet[Any, dict[str, Any]]:
        """When the key of the query around this one last changed something: an index holds it for each.

        No other kind of actor has such an id; to ask for the kind too would lead Postgres away from that index.
        """
        by_key = self.filter(actor_id=OuterRef("pk"))
        return by_key.order_by("-at").values("at")[:1]
