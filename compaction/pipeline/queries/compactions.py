"""QuerySets of compactions, their members and prompts."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Self
from uuid import UUID

from django.db.models import F, FloatField, Max, Min, Q, Sum
from django.db.models.functions import Cast, Coalesce

from compaction.sessions.queries import SessionRows
from memories.tenancy.queries.rows import TenantRows, VersionedByRecordedTime

#: When a compaction was decided on; without a decision, when it finished or failed.
SETTLED_AT = Coalesce("decided_at", "finished_at", "created_at")
#: Fields that a list does not show.
_LARGE_FIELDS = ("policy", "summary_text", "statements", "journal", "retention")


class CompactionQuerySet(SessionRows):
    def of_sessions(self, session_ids: Iterable[UUID]) -> Self:
        return self.filter(session_id__in=list(session_ids))

    def replacing(self, compaction_id: UUID) -> Self:
        """Regenerated compactions that replace this one, the latest first."""
        return self.filter(replaces_id=compaction_id).order_by("-created_at")

    def other_than(self, compaction_id: UUID) -> Self:
        return self.exclude(pk=compaction_id)

    def referenced_memories(self, memory_ids: Iterable[str]) -> set[str]:
        """Ids among `memory_ids` that the journal of any applied one of these cites."""
        wanted = set(memory_ids)
        cites = reduce(or_, (Q(journal__contains=[{"memory_id": memory_id}]) for memory_id in sorted(wanted)), Q())
        journals = self.filter(cites, state="applied").values_list("journal", flat=True) if wanted else []
        return {entry["memory_id"] for journal in journals for entry in journal} & wanted

    def last_settled_first(self) -> Self:
        """The latest decision first, in the order of `Compaction.settled_at`."""
        return self.order_by(SETTLED_AT.desc(), "id")

    def oldest_first(self) -> Self:
        return self.order_by("created_at", "id")

    def fullest_first(self) -> Self:
        """Ordered by the pressure of their sessions, highest first, then oldest first."""
        pressure = Cast(F("session__context_tokens"), FloatField()) / F("session__max_context_tokens")
        return self.order_by(pressure.desc(), "created_at", "id")

    def superseded(self, now: datetime) -> int:
        """Mark as superseded; returns the number of rows."""
        return self.update(state="superseded", decided_at=now)

    def ids(self, count: int) -> list[UUID]:
        """The first `count`."""
        return list(self.values_list("pk", flat=True)[:count])

    def last_applied_first(self) -> Self:
        """Applied ones, the one that may be rolled back first."""
        return self.filter(state="applied").order_by("-compacted_at", "-created_at")

    def latest_applied_ids(self) -> set[UUID]:
        """Ids of the latest applied compaction of each session, which may be rolled back."""
        rows = self.filter(state="applied").order_by("session_id", "-compacted_at", "-created_at")
        return set(rows.distinct("session_id").values_list("pk", flat=True))

    def waiting(self) -> Self:
        """Proposals that wait for a decision."""
        return self.filter(state="proposed")

    def savings_by_bin(self, *, since: datetime, step: timedelta) -> dict[datetime, int]:
        """Tokens that applied compactions saved, by time bin of their application."""
        rows = self.filter(state="applied").binned("compacted_at", since=since, step=step)
        saved = rows.annotate(saved=Sum(F("tokens_before") - F("tokens_after")))
        return {row["bin"]: row["saved"] for row in saved}

    def with_sessions(self) -> Self:
        return self.select_related("session")

    def without_details(self) -> Self:
        """Rows for a list, without statements and journal."""
        return self.defer("statements", "journal")

    def without_texts(self) -> Self:
        """Rows without their large fields."""
        return self.defer(*_LARGE_FIELDS)


class CompactionMemberQuerySet(TenantRows):
    def of_compaction(self, compaction_id: UUID) -> Self:
        return self.filter(compaction_id=compaction_id)

    def of_messages(self, message_ids: Iterable[UUID]) -> Self:
        return self.filter(message_id__in=list(message_ids))

    def with_messages(self) -> Self:
        return self.select_related("message").order_by("message__sequence")

    def compacted_by_applied(self) -> Self:
        """Members whose message an applied compaction summarised, with that compaction's small fields."""
        rows = self.filter(act="compacted", compaction__state="applied").select_related("compaction")
        return rows.defer(*(f"compaction__{name}" for name in _LARGE_FIELDS))

    def spans_of(self, session_id: UUID) -> list[tuple[UUID, int, int, int]]:
        """(compaction, generation, first and last sequence) of each applied compaction of the session."""
        rows = self.filter(compaction__session_id=session_id, act="compacted", compaction__state="applied").order_by()
        spans = rows.values_list("compaction_id", "compaction__generation")
        return list(spans.annotate(first=Min("message__sequence"), last=Max("message__sequence")).order_by("first"))


class CompactionPromptQuerySet(VersionedByRecordedTime):
    def newest_first(self) -> Self:
        return self.order_by("-version")

    def numbered(self, version: int) -> Self:
        return self.filter(version=version)
