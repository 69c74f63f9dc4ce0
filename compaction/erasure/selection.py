"""The selection of an erasure: memories and sessions, and the partitions whose texts may quote them (ADR-0130)."""

import hashlib
import json
from collections.abc import Generator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import chain
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Max, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Coalesce

from compaction.models import Compaction, Erasure, Message, RetentionPolicy, Session
from context.models import Feedback, GoldenQuestion
from memories.models import Memory, MemoryVersion, PartitionSummary
from memories.services.partitions.paths import parse_partition
from memories.tenancy.queries.conditions import path_condition

#: Rows per read of a server-side cursor.
CHUNK = 1_000
#: A request that was running when the erasure was requested began at most this long before.
_REQUEST_TIME = timedelta(minutes=1)
#: The same for a roll-up, which is recorded at the time at which it began.
_ROLL_UP_TIME = timedelta(minutes=5)


@dataclass(frozen=True)
class Selection:
    """The memories and sessions of one erasure, as rows of one tenant inside its scope."""

    erasure: Erasure

    @property
    def tenant_id(self) -> UUID:
        return self.erasure.tenant_id

    @property
    def late(self) -> Q:
        """Rows that requests may have written while the erasure ran."""
        return Q(created_at__gte=self.erasure.created_at - _REQUEST_TIME)

    @property
    def late_acts(self) -> Q:
        """The same for acts that can be undone."""
        return Q(at__gte=self.erasure.created_at - _REQUEST_TIME)

    @property
    def late_roll_ups(self) -> Q:
        """Summaries of roll-ups that may have read the memories before they were deleted."""
        return Q(recorded_from__gte=self.erasure.created_at - _ROLL_UP_TIME, origin=PartitionSummary.Origin.ROLL_UP)

    @property
    def is_partition(self) -> bool:
        return self.erasure.scope == Erasure.Scope.PARTITION

    @cached_property
    def memories(self) -> "QuerySet[Any]":
        rows = Memory.objects.for_tenant(self.tenant_id)
        if self.erasure.scope == Erasure.Scope.MEMORY:
            return rows.filter(pk=self.erasure.memory_id)
        if self.erasure.scope == Erasure.Scope.AGE:
            column = "created_at" if self.erasure.age_from == RetentionPolicy.From.CREATED else "archived_at"
            return rows.filter(self.within("partition_path"), **{f"{column}__lt": self.erasure.older_than})
        session_ids = self.sessions.annotate(id_text=Cast("pk", TextField())).values("id_text")
        return rows.filter(self.within("partition_path") | Q(session__in=session_ids))

    @cached_property
    def sessions(self) -> "QuerySet[Any]":
        rows = Session.objects.for_tenant(self.tenant_id)
        if self.erasure.scope == Erasure.Scope.MEMORY:
            return rows.none()
        rows = rows.filter(self.within("partition_path"))
        if self.erasure.scope == Erasure.Scope.AGE:
            ended: Any = F("closed_at")
            if self.erasure.age_from == RetentionPolicy.From.CREATED:
                ended = Coalesce("last_message_at", "created_at")
            rows = rows.annotate(ended_at=ended).filter(ended_at__lt=self.erasure.older_than)
        return rows

    @cached_property
    def cited_messages(self) -> "QuerySet[Any]":
        """The messages of other sessions from which a journal took the memory to erase."""
        rows = Message.objects.for_tenant(self.tenant_id)
        if self.erasure.scope != Erasure.Scope.MEMORY:
            return rows.none()
        metadata = self.memories.values_list("metadata", flat=True).first() or {}
        named = metadata.get("message_ids", []) if metadata.get("type") == "journal" else []
        return rows.filter(pk__in=[each for each in named if _is_id(each)])

    def state(self) -> dict[str, Any]:
        """Return figures that differ once a memory or a session is added, changed or removed. Two queries.

        A change of a memory adds a version or archives it. Of a session, only new messages and its end count.
        """
        memories = {"added": Max("recorded_from"), "ended": Max("archived_at"), "versions": Sum("version")}
        sessions = {"added": Max("created_at"), "ended": Max("closed_at"), "messages": Sum("message_count")}
        return {
            "memories": self.memories.aggregate(count=Count("pk"), **memories),
            "sessions": self.sessions.aggregate(count=Count("pk"), **sessions),
        }

    def within(self, column: str) -> Q:
        """Rows in the partition and below it."""
        return path_condition(column, self.erasure.partition_path, exact=False) or Q(pk__isnull=False)

    @cached_property
    def _paths_above(self) -> set[str]:
        """The partitions above this one, and those in which the memories were before they were moved, with all above.

        Their texts may quote the memories: roll-ups and conversations read the partitions below.
        """
        versions = MemoryVersion.objects.for_tenant(self.tenant_id).filter(memory__in=self.memories.values("pk"))
        former = versions.exclude(self.within("partition_path")).order_by().values_list("partition_path", flat=True)
        moved_from = map(parse_partition, former.distinct())
        own = parse_partition(self.erasure.partition_path)
        lineages = [own.ancestors(), *((*place.ancestors(), place) for place in moved_from)]
        return {place.path for place in chain.from_iterable(lineages)}

    def around(self, column: str) -> Q:
        """Rows in `_paths_above`, and those in the partition and below it that are not erased."""
        above = Q(**{f"{column}__in": self._paths_above})
        return above if self.is_partition else above | self.within(column)

    def texts(self) -> Generator[str]:
        """Yield the erased texts: every version of each memory, and the messages from which a single memory comes."""
        versions = MemoryVersion.objects.for_tenant(self.tenant_id).filter(memory__in=self.memories.values("pk"))
        for rows in (self.memories, versions, self.cited_messages):
            yield from rows.order_by().values_list("content", flat=True).iterator(CHUNK)

    def named_among(self, ids: set[UUID]) -> set[UUID]:
        """Return those of the ids that are memories or sessions of this erasure, or are erased with them."""
        memories, golden = self.memories.values("pk"), GoldenQuestion.objects.for_tenant(self.tenant_id)
        sources = (
            self.memories,
            self.sessions,
            Compaction.objects.for_tenant(self.tenant_id).filter(session__in=self.sessions.values("pk")),
            Feedback.objects.for_tenant(self.tenant_id).filter(memory__in=memories),
            golden.filter(evidence__memory__in=memories),
            golden.filter(self.within("partition_path")) if self.is_partition else golden.none(),
        )
        return {pk for rows in sources for pk in rows.filter(pk__in=ids).values_list("pk", flat=True)}


def state_hash(state: dict[str, Any]) -> str:
    """Return a hash of a selection's `state`, which the request of an erasure compares with that of its dry run."""
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(UUID(value))
    except ValueError:
        return False
