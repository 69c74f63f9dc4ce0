"""One compaction as its reviewers see it: the originals beside the summary, every statement with its sources.

Inside a scope.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from compaction.models import Compaction, CompactionMember, Message, Run
from compaction.services.generations import generation_warning
from compaction.services.states import allowed_actions

ORIGINALS_PAGE = 150
PROPOSED_MAX = 100
LATELY_MAX = 30


@dataclass(frozen=True)
class Source:
    """A message that something is cited from, and whether it stands beside it on the page."""

    sequence: int
    is_here: bool


@dataclass(frozen=True)
class Cited:
    """A statement, a fact or an entry of the journal, with where it comes from. `record` is as it is stored."""

    text: str
    label: str
    sources: Sequence[Source]
    record: Mapping[str, Any]


@dataclass(frozen=True)
class Review:
    """A compaction with everything its page shows. `allowed` are the decisions that its state leaves open."""

    compaction: Compaction
    originals: Sequence[CompactionMember]
    offset: int
    next_offset: int | None
    previous_offset: int | None
    statements: Sequence[Cited]
    kept: Sequence[Cited]
    missing: Sequence[Cited]
    journal: Sequence[Cited]
    warning: str
    allowed: Sequence[str]
    is_latest: bool
    run: Run | None
    replacement: Compaction | None

    @property
    def facts(self) -> int:
        return len(self.kept) + len(self.missing)

    @property
    def share(self) -> float:
        return float(self.compaction.retention.get("share", 1.0))

    @property
    def floor(self) -> float:
        """The least share that the policy asks for."""
        return float(self.compaction.policy.get("retention_floor", 0.0))


@dataclass(frozen=True)
class ReviewQueue:
    """What waits for a decision, oldest first, and what was decided or applied lately."""

    proposed: Sequence[Compaction]
    lately: Sequence[Compaction]


def read_queue(tenant_id: UUID) -> ReviewQueue:
    """Two queries."""
    rows = Compaction.objects.for_tenant(tenant_id).with_sessions()
    state = Compaction.State
    decided = rows.in_state(state.APPLIED, state.REJECTED, state.ROLLED_BACK, state.SUPERSEDED, state.FAILED)
    proposed = rows.in_state(state.PROPOSED).newest_first()[:PROPOSED_MAX]
    return ReviewQueue(list(proposed)[::-1], list(decided.newest_first()[:LATELY_MAX]))


def read_review(compaction: Compaction, *, offset: int = 0) -> Review:
    """A page of the originals from `offset` on, beside the whole of the summary. Six queries."""
    tenant_id = compaction.tenant_id
    members = CompactionMember.objects.for_tenant(tenant_id).of_compaction(compaction.pk).with_messages()
    found = list(members[offset : offset + ORIGINALS_PAGE + 1])
    originals = found[:ORIGINALS_PAGE]
    retention = compaction.retention
    records = [compaction.statements, retention.get("kept", []), retention.get("missing", []), compaction.journal]
    cite = _Citing(tenant_id, [record for listed in records for record in listed], originals)
    statements, kept, missing, journal = ([cite(record) for record in listed] for listed in records)
    of_session = Compaction.objects.for_tenant(tenant_id).of_session(compaction.session_id)
    latest = of_session.last_applied_first().first()
    return Review(
        compaction=compaction,
        originals=originals,
        offset=offset,
        next_offset=offset + ORIGINALS_PAGE if len(found) > ORIGINALS_PAGE else None,
        previous_offset=max(offset - ORIGINALS_PAGE, 0) if offset else None,
        statements=statements,
        kept=kept,
        missing=missing,
        journal=journal,
        warning=generation_warning(compaction.generation),
        allowed=allowed_actions(compaction.state),
        is_latest=latest is not None and latest.pk == compaction.pk,
        run=Run.objects.for_tenant(tenant_id).of_session(compaction.session_id).open().first(),
        replacement=of_session.replacing(compaction.pk).first(),
    )


class _Citing:
    """Turns stored records into `Cited`, all their messages read at once."""

    def __init__(
        self, tenant_id: UUID, records: Iterable[Mapping[str, Any]], originals: Sequence[CompactionMember]
    ) -> None:
        ids = {UUID(str(one)) for record in records for one in record["message_ids"]}
        rows = Message.objects.for_tenant(tenant_id).with_ids(ids).outlines() if ids else []
        self._sequences = {str(row.id): row.sequence for row in rows if row.sequence is not None}
        self._here = {str(member.message_id) for member in originals}

    def __call__(self, record: Mapping[str, Any]) -> Cited:
        ids = [str(one) for one in record["message_ids"]]
        sources = [Source(self._sequences[one], one in self._here) for one in ids if one in self._sequences]
        label = record.get("class") or record.get("kind") or ""
        return Cited(record["text"], label, sorted(sources, key=lambda source: source.sequence), record)
