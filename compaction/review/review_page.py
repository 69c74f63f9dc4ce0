"""The review page of a compaction: the originals, and every statement with its sources.

Called inside a scope.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any
from uuid import UUID

from compaction.models import Compaction, CompactionMember, Message, Run
from compaction.pipeline.applying import exclusive_memories
from compaction.review.queries import allowed_review_actions
from compaction.review.summary_budget import SummaryBudget
from compaction.services.pipeline.generations import generation_warning
from compaction.services.pipeline.journal_entries import STRUCK, is_reviewed
from compaction.services.pipeline.retention.check import RetainedFact, fact_lookup, mark_facts
from compaction.services.pipeline.retention.matches import BINDING_KINDS
from compaction.services.pipeline.stored_statements import recorded_facts
from memories.models import Memory

ORIGINALS_PAGE = 150
#: Candidates shown at first; the others can be opened below them.
CANDIDATES_SHOWN = 5


@dataclass(frozen=True)
class CitedMessage:
    """A cited message, and whether this page of originals shows it."""

    sequence: int
    is_on_page: bool


@dataclass(frozen=True)
class MarkedPiece:
    """A part of a text; if it is a fact, `status` is kept or missing and `fact` its number on the page."""

    text: str
    status: str = ""
    fact: int = 0


@dataclass(frozen=True)
class CitedText:
    """The stored record of a statement or journal entry, with its sources and the facts in its text."""

    record: Mapping[str, Any]
    sources: Sequence[CitedMessage]
    pieces: Sequence[MarkedPiece] = ()

    @property
    def sequences(self) -> str:
        """The sequences of the cited messages, separated as the page's script expects them."""
        return " ".join(str(source.sequence) for source in self.sources)


@dataclass(frozen=True)
class JournalFact:
    """An entry of the journal by its number on the page; `sentence` is the number of a sentence that also says it."""

    number: int
    cited: CitedText
    sentence: int | None

    @property
    def is_reviewed(self) -> bool:
        """Whether a reviewer decides about it."""
        return is_reviewed(self.cited.record)

    @property
    def is_struck(self) -> bool:
        return bool(self.cited.record["status"] == STRUCK)


@dataclass(frozen=True)
class SummaryCandidate:
    """A statement that did not fit, by its number on the page.

    It has `tokens`, of which the budget lacks `lacking`; a swap for the statement with the number `swap_for` and the
    text `leaving` fits.
    """

    number: int
    cited: CitedText
    tokens: int
    lacking: int
    swap_for: int | None
    leaving: str


@dataclass(frozen=True)
class CitedFact:
    """A fact of the originals; `found_in` is `summary`, `journal` or empty."""

    number: int
    kind: str
    text: str
    found_in: str
    sources: Sequence[CitedMessage]


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
    candidates: Sequence[SummaryCandidate]
    kept: Sequence[CitedFact]
    missing: Sequence[CitedFact]
    journal: Sequence[JournalFact]
    warning: str
    allowed: Sequence[str]
    run: Run | None
    replacement: Compaction | None

    @property
    def facts(self) -> Sequence[CitedFact]:
        return [*self.kept, *self.missing]

    @property
    def reviewed_facts(self) -> list[JournalFact]:
        """The facts that an approval stores, and those that were struck."""
        return [fact for fact in self.journal if fact.is_reviewed]

    @property
    def other_facts(self) -> list[JournalFact]:
        """The facts that memories contain already, or that cannot be stored."""
        return [fact for fact in self.journal if not fact.is_reviewed]

    @property
    def kept_facts(self) -> int:
        """The number of facts that an approval stores."""
        return sum(not fact.is_struck for fact in self.reviewed_facts)

    @property
    def first_candidates(self) -> Sequence[SummaryCandidate]:
        """The best candidates."""
        return self.candidates[:CANDIDATES_SHOWN]

    @property
    def more_candidates(self) -> Sequence[SummaryCandidate]:
        """The candidates after the first ones."""
        return self.candidates[CANDIDATES_SHOWN:]

    @property
    def kinds(self) -> list[tuple[str, int, int]]:
        """Each kind of fact with how many are kept and how many there are, those with most missing first."""
        all_of, kept = Counter(fact.kind for fact in self.facts), Counter(fact.kind for fact in self.kept)
        return sorted(((kind, kept[kind], all_of[kind]) for kind in all_of), key=lambda one: (one[1] - one[2], one[0]))

    @property
    def share(self) -> float | None:
        """The weighted share of the facts that are kept, None if it was not measured."""
        share = self.compaction.retention.get("share")
        return None if share is None else float(share)

    @property
    def is_below_threshold(self) -> bool:
        return self.share is not None and self.share < self.retention_threshold

    @property
    def lost_constraints(self) -> int:
        """The number of constraints, negations and pinned rules that are missing."""
        return sum(fact.kind in BINDING_KINDS for fact in self.missing)

    @property
    def retention_threshold(self) -> float:
        """The lowest share of facts that the policy accepts."""
        return float(self.compaction.policy.get("retention_floor", 0.0))


def memories_archived_by_roll_back(compaction: Compaction) -> int:
    """Return how many memories a roll-back archives; 0 unless the compaction is applied."""
    if compaction.state != Compaction.State.APPLIED:
        return 0
    rows = Memory.objects.for_tenant(compaction.tenant_id).unarchived()
    return rows.with_ids(exclusive_memories(compaction)).row_count()


def read_review(compaction: Compaction, *, offset: int = 0) -> CompactionReview:
    """Return a page of originals from `offset` on, with the whole summary. Seven queries."""
    tenant_id = compaction.tenant_id
    members = CompactionMember.objects.for_tenant(tenant_id).of_compaction(compaction.pk).with_messages()
    found = list(members[offset : offset + ORIGINALS_PAGE + 1])
    page = found[:ORIGINALS_PAGE]
    kept, missing = (recorded_facts(compaction.retention, name) for name in ("kept", "missing"))
    cite = _Citing(compaction, kept, missing, page)
    of_session = Compaction.objects.for_tenant(tenant_id).of_session(compaction.session_id)
    facts = cite.facts()
    return CompactionReview(
        compaction=compaction,
        originals=[cite.original(member) for member in page],
        offset=offset,
        next_offset=offset + ORIGINALS_PAGE if len(found) > ORIGINALS_PAGE else None,
        previous_offset=max(offset - ORIGINALS_PAGE, 0) if offset else None,
        statements=[cite.statement(record) for record in compaction.statements],
        candidates=_candidates(compaction, cite),
        kept=facts[: len(kept)],
        missing=facts[len(kept) :],
        journal=_journal(compaction, cite),
        warning=generation_warning(compaction.generation),
        allowed=allowed_review_actions(compaction),
        run=Run.objects.for_tenant(tenant_id).of_session(compaction.session_id).open().first(),
        replacement=of_session.replacing(compaction.pk).first(),
    )


def _candidates(compaction: Compaction, cite: "_Citing") -> list[SummaryCandidate]:
    budget = SummaryBudget(compaction)
    candidates = []
    for number, (record, one) in enumerate(zip(compaction.candidates, budget.candidates, strict=True), start=1):
        lacking = budget.tokens_over_budget(budget.swapped(added=one)[0])
        index = budget.place_to_swap(one, lacking) if lacking else None
        swap_for, leaving = (None, "") if index is None else (index + 1, budget.statements[index].text)
        candidates.append(
            SummaryCandidate(number, cite.candidate(record), budget.tokens_added(one), lacking, swap_for, leaving)
        )
    return candidates


def _journal(compaction: Compaction, cite: "_Citing") -> list[JournalFact]:
    sentences = {record["text"]: number for number, record in enumerate(compaction.statements, start=1)}
    return [
        JournalFact(number, CitedText(record, cite.sources(record["message_ids"])), sentences.get(record["text"]))
        for number, record in enumerate(compaction.journal, start=1)
    ]


class _Citing:
    def __init__(
        self,
        compaction: Compaction,
        kept: Sequence[RetainedFact],
        missing: Sequence[RetainedFact],
        page: Sequence[CompactionMember],
    ) -> None:
        self._compaction = compaction
        self._facts = list(enumerate([*kept, *missing], start=1))
        self._kept = len(kept)
        self._here = {str(member.message_id) for member in page}
        records = (*compaction.statements, *compaction.candidates, *compaction.journal)
        cited = [record["message_ids"] for record in records]
        ids = {UUID(str(one)) for listed in (*cited, *(fact.message_ids for _, fact in self._facts)) for one in listed}
        rows = Message.objects.for_tenant(compaction.tenant_id).with_ids(ids).outlines() if ids else []
        self._sequences = {str(row.id): row.sequence for row in rows if row.sequence is not None}
        self._statements_of: dict[str, list[int]] = defaultdict(list)
        for number, record in enumerate(compaction.statements, start=1):
            for message_id in record["message_ids"]:
                self._statements_of[message_id].append(number)
        self._facts_of: dict[str, list[tuple[int, RetainedFact]]] = defaultdict(list)
        for number, fact in self._facts:
            for message_id in map(str, fact.message_ids):
                self._facts_of[message_id].append((number, fact))

    def original(self, member: CompactionMember) -> OriginalMessage:
        message_id = str(member.message_id)
        pieces = self._marked(member.message.content, self._facts_of[message_id])
        return OriginalMessage(member, pieces, self._statements_of[message_id])

    def statement(self, record: Mapping[str, Any]) -> CitedText:
        pieces = self._marked(record["text"], self._facts[: self._kept])
        return CitedText(record, self.sources(record["message_ids"]), pieces)

    def candidate(self, record: Mapping[str, Any]) -> CitedText:
        return CitedText(record, self.sources(record["message_ids"]), self._marked(record["text"], self._facts))

    def facts(self) -> list[CitedFact]:
        in_summary = fact_lookup([self._compaction.summary_text])
        kept_in = ["summary" if in_summary(fact) else "journal" for _, fact in self._facts[: self._kept]]
        return [
            CitedFact(number, fact.kind, fact.text, place, self.sources(map(str, fact.message_ids)))
            for (number, fact), place in zip(self._facts, chain(kept_in, repeat("")), strict=False)
        ]

    def sources(self, message_ids: Iterable[str]) -> list[CitedMessage]:
        known = (one for one in message_ids if one in self._sequences)
        sources = [CitedMessage(self._sequences[one], one in self._here) for one in known]
        return sorted(sources, key=lambda source: source.sequence)

    def _marked(self, text: str, facts: Sequence[tuple[int, RetainedFact]]) -> list[MarkedPiece]:
        pieces = mark_facts(text, [fact for _, fact in facts])
        numbers = [0 if piece.fact is None else facts[piece.fact][0] for piece in pieces]
        return [
            MarkedPiece(piece.text, self._status(number), number) for piece, number in zip(pieces, numbers, strict=True)
        ]

    def _status(self, number: int) -> str:
        if not number:
            return ""
        return "kept" if number <= self._kept else "missing"
