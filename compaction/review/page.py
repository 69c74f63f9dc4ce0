"""The review page of a compaction: the originals, and every statement with its sources.

Called inside a scope.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from compaction.models import Compaction, CompactionMember, Message, Run
from compaction.pipeline.applying import exclusive_memories
from compaction.review.queries import allowed_review_actions
from compaction.services.pipeline.generations import generation_warning
from compaction.services.pipeline.retention.check import RetainedFact, fact_lookup, mark_facts
from compaction.services.pipeline.stored_statements import recorded_facts
from memories.models import Memory

ORIGINALS_PAGE = 150


@dataclass(frozen=True)
class CitedMessage:
    """A cited message, and whether this page of originals shows it."""

    sequence: int
    is_on_page: bool


@dataclass(frozen=True)
class MarkedPiece:
    """A part of a text; where it is a fact, `status` is kept or missing and `fact` its number on the page."""

    text: str
    status: str = ""
    fact: int = 0


@dataclass(frozen=True)
class CitedText:
    """A statement or journal entry with its sources; `record` is its stored form."""

    text: str
    label: str
    sources: Sequence[CitedMessage]
    record: Mapping[str, Any]
    pieces: Sequence[MarkedPiece] = ()

    @property
    def sequences(self) -> str:
        """The messages as the page's script reads them."""
        return " ".join(str(source.sequence) for source in self.sources)


@dataclass(frozen=True)
class CitedFact:
    """A fact of the originals; `found_in` is `summary`, `journal` or empty."""

    number: int
    kind: str
    text: str
    found_in: str
    sources: Sequence[CitedMessage]

    @property
    def is_kept(self) -> bool:
        return bool(self.found_in)


@dataclass(frozen=True)
class OriginalMessage:
    """An original message with its facts marked, and the numbers of the statements that cite it."""

    member: CompactionMember
    pieces: Sequence[MarkedPiece]
    statements: Sequence[int]


@dataclass(frozen=True)
class CompactionReview:
    """A compaction with everything that its page shows. `allowed` are the allowed actions."""

    compaction: Compaction
    originals: Sequence[OriginalMessage]
    offset: int
    next_offset: int | None
    previous_offset: int | None
    statements: Sequence[CitedText]
    facts: Sequence[CitedFact]
    journal: Sequence[CitedText]
    warning: str
    allowed: Sequence[str]
    run: Run | None
    replacement: Compaction | None

    @cached_property
    def kept(self) -> list[CitedFact]:
        return [fact for fact in self.facts if fact.is_kept]

    @cached_property
    def missing(self) -> list[CitedFact]:
        return [fact for fact in self.facts if not fact.is_kept]

    @property
    def kinds(self) -> list[tuple[str, int, int]]:
        """Each kind of fact with how many are kept and how many there are, those with most missing first."""
        all_of, kept = Counter(fact.kind for fact in self.facts), Counter(fact.kind for fact in self.kept)
        return sorted(((kind, kept[kind], all_of[kind]) for kind in all_of), key=lambda one: (one[1] - one[2], one[0]))

    @property
    def share(self) -> float:
        return float(self.compaction.retention.get("share", 1.0))

    @property
    def retention_threshold(self) -> float:
        """The lowest share of facts that the policy accepts."""
        return float(self.compaction.policy.get("retention_floor", 0.0))

    @property
    def is_latest(self) -> bool:
        """Whether it can be rolled back."""
        return "rollback" in self.allowed


def memories_archived_by_roll_back(compaction: Compaction) -> int:
    """Return how many memories a roll-back archives; 0 unless the compaction is applied."""
    if compaction.state != Compaction.State.APPLIED:
        return 0
    rows = Memory.objects.for_tenant(compaction.tenant_id).unarchived()
    return rows.with_ids(exclusive_memories(compaction)).how_many()


def read_review(compaction: Compaction, *, offset: int = 0) -> CompactionReview:
    """Return a page of originals from `offset` on, with the whole summary. Six queries."""
    tenant_id = compaction.tenant_id
    members = CompactionMember.objects.for_tenant(tenant_id).of_compaction(compaction.pk).with_messages()
    found = list(members[offset : offset + ORIGINALS_PAGE + 1])
    page = found[:ORIGINALS_PAGE]
    kept, missing = (recorded_facts(compaction.retention, name) for name in ("kept", "missing"))
    cite = _Citing(compaction, [*kept, *missing], page)
    of_session = Compaction.objects.for_tenant(tenant_id).of_session(compaction.session_id)
    return CompactionReview(
        compaction=compaction,
        originals=[cite.original(member) for member in page],
        offset=offset,
        next_offset=offset + ORIGINALS_PAGE if len(found) > ORIGINALS_PAGE else None,
        previous_offset=max(offset - ORIGINALS_PAGE, 0) if offset else None,
        statements=[cite.statement(record, kept) for record in compaction.statements],
        facts=cite.facts(kept, missing, compaction.summary_text),
        journal=[cite.record(record) for record in compaction.journal],
        warning=generation_warning(compaction.generation),
        allowed=allowed_review_actions(compaction),
        run=Run.objects.for_tenant(tenant_id).of_session(compaction.session_id).open().first(),
        replacement=of_session.replacing(compaction.pk).first(),
    )


class _Citing:
    """Convert stored records for the page; reads all cited messages at once."""

    def __init__(self, compaction: Compaction, facts: Sequence[RetainedFact], page: Sequence[CompactionMember]) -> None:
        self._kept = len(compaction.retention.get("kept", []))
        cited = [record["message_ids"] for record in (*compaction.statements, *compaction.journal)]
        ids = {UUID(str(one)) for listed in (*cited, *(fact.message_ids for fact in facts)) for one in listed}
        rows = Message.objects.for_tenant(compaction.tenant_id).with_ids(ids).outlines() if ids else []
        self._sequences = {str(row.id): row.sequence for row in rows if row.sequence is not None}
        self._here = {str(member.message_id) for member in page}
        self._statements: dict[str, list[int]] = {}
        for number, record in enumerate(compaction.statements, start=1):
            for one in record["message_ids"]:
                self._statements.setdefault(str(one), []).append(number)
        self._facts: dict[str, list[tuple[int, RetainedFact]]] = {}
        for number, fact in enumerate(facts, start=1):
            for message_id in fact.message_ids:
                self._facts.setdefault(str(message_id), []).append((number, fact))

    def original(self, member: CompactionMember) -> OriginalMessage:
        message_id = str(member.message_id)
        facts_of_message = self._facts.get(message_id, [])
        return OriginalMessage(
            member, self._marked(member.message.content, facts_of_message), tuple(self._statements.get(message_id, ()))
        )

    def statement(self, record: Mapping[str, Any], kept: Sequence[RetainedFact]) -> CitedText:
        pieces = self._marked(record["text"], list(enumerate(kept, start=1)))
        return CitedText(record["text"], record.get("kind", ""), self._sources(record["message_ids"]), record, pieces)

    def record(self, record: Mapping[str, Any]) -> CitedText:
        return CitedText(record["text"], record.get("kind", ""), self._sources(record["message_ids"]), record)

    def facts(self, kept: Sequence[RetainedFact], missing: Sequence[RetainedFact], summary: str) -> list[CitedFact]:
        in_summary = fact_lookup([summary])
        places = [*("summary" if in_summary(fact) else "journal" for fact in kept), *("" for _ in missing)]
        return [
            CitedFact(number, fact.kind, fact.text, place, self._sources(fact.message_ids))
            for number, (fact, place) in enumerate(zip([*kept, *missing], places, strict=True), start=1)
        ]

    def _marked(self, text: str, facts_of_message: Sequence[tuple[int, RetainedFact]]) -> list[MarkedPiece]:
        pieces = mark_facts(text, [fact for _, fact in facts_of_message])
        numbers = [number for number, _ in facts_of_message]
        return [
            MarkedPiece(piece.text)
            if piece.fact is None
            else MarkedPiece(
                piece.text, "kept" if numbers[piece.fact] <= self._kept else "missing", numbers[piece.fact]
            )
            for piece in pieces
        ]

    def _sources(self, message_ids: Iterable[object]) -> list[CitedMessage]:
        ids = [str(one) for one in message_ids]
        sources = [CitedMessage(self._sequences[one], one in self._here) for one in ids if one in self._sequences]
        return sorted(sources, key=lambda source: source.sequence)
