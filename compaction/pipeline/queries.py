"""QuerySets of compactions, their members and prompts, of runs and of provider breakers."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Self
from uuid import UUID

from django.db.models import Exists, F, Max, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from compaction.sessions.queries import SessionRows, pressure_of
from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.methods import rows_by, rows_ordered_by, rows_where, rows_with, rows_without
from memories.tenancy.queries.rows import ClaimedRows, TenantRows, VersionedByRecordedTime

#: When a compaction was decided on; without a decision, when it finished or failed.
SETTLED_AT = Coalesce("decided_at", "finished_at", "created_at")
#: Applied although a constraint is missing, and no person has reviewed it.
UNREVIEWED_LOSS = Q(state="applied", has_lost_constraint=True, decided_at__isnull=True)
#: Applied in an emergency with a possible instruction, and no person has reviewed it.
UNREVIEWED_INSTRUCTION = Q(state="applied", has_possible_instruction=True, decided_at__isnull=True)
#: Fields that a list does not show.
_LARGE_FIELDS = ("policy", "summary_text", "statements", "candidates", "journal", "retention")


class CompactionQuerySet(SessionRows):
    oldest_first = rows_ordered_by("created_at", "id")
    with_sessions = rows_with("session")
    #: The latest decision first, in the order of `Compaction.settled_at`.
    last_settled_first = rows_ordered_by(SETTLED_AT.desc(), "id")
    #: Ordered by the pressure of their sessions, highest first, then oldest first.
    fullest_first = rows_ordered_by(pressure_of("session__").desc(), "created_at", "id")
    #: Proposals that wait for a decision.
    waiting = rows_where(state="proposed")
    #: Rows for a list, without statements and journal.
    without_details = rows_without("statements", "journal")
    #: Rows without their large fields.
    without_texts = rows_without(*_LARGE_FIELDS)
    #: Compactions requested since then that failed.
    failed_since = rows_by("created_at__gte", state="failed")

    def replacing(self, compaction_id: UUID) -> Self:
        """Regenerated compactions that replace this one, latest first."""
        return self.filter(replaces_id=compaction_id).order_by("-created_at")

    def referenced_memories(self, memory_ids: Iterable[str], *, but: UUID) -> set[str]:
        """Ids among `memory_ids` that the journal of any applied compaction but one cites."""
        ids = set(memory_ids)
        cites = reduce(or_, (Q(journal__contains=[{"memory_id": memory_id}]) for memory_id in sorted(ids)), Q())
        journals = self.exclude(pk=but).filter(cites, state="applied").values_list("journal", flat=True) if ids else []
        return {entry["memory_id"] for journal in journals for entry in journal} & ids

    def journal_memory_ids(self, *, but: UUID | None = None) -> set[str]:
        """Ids that the journals of the applied ones reference, but not that of one."""
        journals = self.exclude(pk=but).filter(state="applied").values_list("journal", flat=True)
        return {entry["memory_id"] for journal in journals for entry in journal if entry["memory_id"]}

    def retention_record(self) -> dict[str, Any]:
        """The facts that a compaction retains, as it stores them."""
        record: dict[str, Any] = self.values_list("retention", flat=True).get()
        return record

    def superseded(self, now: datetime) -> int:
        """Mark as superseded; returns the number of rows."""
        return self.update(state="superseded", decided_at=now)

    def ids(self, count: int) -> list[UUID]:
        """The first `count`."""
        return list(self.values_list("pk", flat=True)[:count])

    def last_applied_first(self) -> Self:
        """Applied ones, the one that may be rolled back first."""
        return self.filter(state="applied").order_by("-compacted_at", "-created_at")

    def latest_applied_ids(self, session_ids: Iterable[UUID]) -> set[UUID]:
        """Ids of the latest applied compaction of each of these sessions, which may be rolled back."""
        rows = self.filter(session_id__in=list(session_ids), state="applied").order_by(
            "session_id", "-compacted_at", "-created_at"
        )
        return set(rows.distinct("session_id").values_list("pk", flat=True))

    def to_review(self) -> Self:
        """Proposals, and applied ones that lost a constraint or contain a possible instruction, until reviewed."""
        return self.filter(Q(state="proposed") | UNREVIEWED_LOSS | UNREVIEWED_INSTRUCTION)

    def approved_instructions(self) -> set[str]:
        """Texts of possible instructions in the applied ones on which a person decided."""
        marked = self.filter(
            state="applied", decided_at__isnull=False, statements__contains=[{"is_possible_instruction": True}]
        )
        lists = marked.values_list("statements", flat=True)
        return {one["text"] for listed in lists for one in listed if one.get("is_possible_instruction")}

    def savings_by_bin(self, *, since: datetime, step: timedelta) -> dict[datetime, int]:
        """Tokens that applied compactions saved, by time bin of their application."""
        rows = self.filter(state="applied").binned("compacted_at", since=since, step=step)
        saved = rows.annotate(saved=Sum(F("tokens_before") - F("tokens_after")))
        return {row["bin"]: row["saved"] for row in saved}


class CompactionMemberQuerySet(TenantRows):
    of_compaction = rows_by("compaction_id")

    def with_messages(self) -> Self:
        return self.select_related("message").order_by("message__sequence")

    def compacted_by_applied(self, message_ids: Iterable[UUID]) -> Self:
        """Members whose messages an applied compaction summarised, each with that compaction's small fields."""
        rows = self.filter(message_id__in=list(message_ids), act="compacted", compaction__state="applied")
        return rows.select_related("compaction").defer(*(f"compaction__{name}" for name in _LARGE_FIELDS))

    def spans_of(self, session_id: UUID) -> list[tuple[UUID, int, int, int]]:
        """(compaction, generation, first and last sequence) of each applied compaction of the session."""
        rows = self.filter(compaction__session_id=session_id, act="compacted", compaction__state="applied").order_by()
        spans = rows.values_list("compaction_id", "compaction__generation")
        return list(spans.annotate(first=Min("message__sequence"), last=Max("message__sequence")).order_by("first"))


class CompactionPromptQuerySet(VersionedByRecordedTime):
    newest_first = rows_ordered_by("-version")
    numbered = rows_by("version")


class RunQuerySet(SessionRows, ClaimedRows):  # type: ignore[override]
    of_kind = rows_by("kind")
    of_compaction = rows_by("compaction_id")
    with_targets = rows_with("session", "partition", "compaction")
    #: Runs of the partition itself, not of those below it.
    of_partition = rows_by("partition__path")

    def last_roll_up(self, style: str) -> QuerySet[Any]:
        """Return when the last completed roll-up of the outer query's partition was requested."""
        done = self.filter(kind="roll_up", state="done", partition=OuterRef("pk"), style=style)
        return done.order_by("-created_at").values("created_at")[:1]

    def still_failed(self) -> Self:
        """Failed runs without a later success for the same session, or partition and style."""
        later = self.model._meta.default_manager.filter(
            tenant_id=OuterRef("tenant_id"), created_at__gt=OuterRef("created_at"), state="done"
        )
        of_session = later.filter(session_id=OuterRef("session_id"))
        of_partition = later.filter(partition_id=OuterRef("partition_id"), style=OuterRef("style"))
        return self.filter(~Exists(of_session), ~Exists(of_partition), state="failed")

    def within(self, path: str) -> Self:
        """Runs of sessions or partitions in `path` and below it."""
        if not path:
            return self
        of_session = path_condition("session__partition_path", path, exact=False)
        of_partition = path_condition("partition__path", path, exact=False)
        return self.filter(of_session | of_partition)

    def claim(self, row_id: UUID, *, now: datetime, until: datetime, **values: Any) -> int:
        """Claim a run; it forgets its last error."""
        values |= {"started_at": now, "error_code": "", "error_detail": ""}
        return super().claim(row_id, now=now, until=until, **values)

    def postpone(self, until: datetime, code: str) -> int:
        """Return a claimed run to the queue; it cannot be claimed before `until`."""
        return self.update(state="queued", claimed_until=until, error_code=code)

    def with_titled_targets(self) -> Self:
        """With partition and titled session, for lists. One query more."""
        return self.select_related("partition").with_titled_sessions()


class ProviderBreakerQuerySet(TenantRows):
    of_provider = rows_by("provider")
    #: Breakers whose provider is off at `now`.
    open_at = rows_by("open_until__gt")
    #: Breakers that were open at any time after `moment` and have not succeeded since.
    off_since = rows_by("open_until__gt", failures__gt=0)
    failing = rows_where(Q(failures__gt=0) | Q(open_until__isnull=False))
