"""What is asked of a context and what comes back: the shapes that the conductor, its doors and receipts share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from context.models import BudgetProfile
from context.services.profiles.scoring_profiles import ScoringProfile
from memories.services.store.moments import PointInTime

DEFAULT_RENDER = "markdown"

#: Kinds of blocks. Their anchors are of the same type, but for a linked memory, whose anchor is that of a memory.
TENANT_MEMO = "tenant_memo"
PARTITION_SUMMARY = "partition_summary"
MEMORY = "memory"
LINKED_MEMORY = "linked_memory"

#: Beside the packer's own reasons for leaving a memory out.
BELOW_MINIMUM_SCORE = "below_minimum_score"
EXCLUDED_NEAR_DUPLICATE = "near_duplicate"
ALREADY_INCLUDED = "already_included"
#: What became of a candidate that stands in the context.
KEPT = "kept"


@dataclass(frozen=True)
class Focus:
    """What a context is about: exactly one of a memory, a partition summary and a partition (its path)."""

    memory_id: UUID | None = None
    summary_id: UUID | None = None
    partition: str | None = None

    def as_record(self) -> dict[str, str]:
        """The one that is given, by name."""
        given = {"memory_id": self.memory_id, "summary_id": self.summary_id, "partition": self.partition}
        return {name: str(value) for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class ContextRequest:
    """One wish for a context. None, and "" for texts, means: what the budget profile or the default says.

    `partition` is a path (a subtree unless `exact`), `segments` match at any depth, `max_tokens` is in tokens of the
    model. `profile` and `budget_profile` "" are those assigned to the key or the partition. `as_of` is a valid time to
    read; `moment` the same for whoever needs a recorded one. `stable_with` is the receipt whose order is kept. `draft`
    is an unsaved budget profile and `scoring` the numbers of a scoring profile in any state, both for previews only.
    `shares_of` are the tokens of a larger context that this is a part of: the profile's shares are of those, and
    `already_shown` are memories that say what stands elsewhere in it.
    """

    query: str = ""
    focus: Focus | None = None
    partition: str = ""
    exact: bool = False
    segments: Mapping[str, str] = field(default_factory=dict)
    max_tokens: int | None = None
    model: str = ""
    profile: str = ""
    budget_profile: str = ""
    packer: str = ""
    ordering: str = ""
    render: str = DEFAULT_RENDER
    summary_style: str = ""
    include_tenant_memo: bool | None = None
    include_summaries_at: Sequence[int] | None = None
    include_linked_memories: bool | None = None
    include_memories_top_k: int | None = None
    as_of: datetime | None = None
    moment: PointInTime | None = None
    stable_with: UUID | None = None
    explain: bool = False
    preview: bool = False
    draft: BudgetProfile | None = None
    scoring: ScoringProfile | None = None
    shares_of: int | None = None
    already_shown: Sequence[UUID] = ()


@dataclass(frozen=True)
class Anchor:
    """What a block shows: the row and its version."""

    type: str
    id: str
    version: int

    def as_answer(self) -> dict[str, Any]:
        return {"type": self.type, "id": self.id, "version": self.version}


@dataclass(frozen=True)
class Block:
    """A kept item. `tokens` are those of its text alone, `position` its place in the rendered text, from 0.

    `cut` is None for a whole text, else how many characters of the stored one stand before the ellipsis.
    """

    kind: str
    anchor: Anchor
    text: str
    tokens: int
    position: int = 0
    score: float | None = None
    score_breakdown: Mapping[str, float] | None = None
    cut: int | None = None

    @property
    def truncated(self) -> bool:
        """Whether the text was shortened to fit."""
        return self.cut is not None

    def at(self, position: int) -> Self:
        return replace(self, position=position)

    def left_out(self, reason: str) -> "Exclusion":
        return Exclusion(self.anchor, reason, self.tokens, self.score)

    def as_answer(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "anchor": self.anchor.as_answer(),
            "text": self.text,
            "tokens": self.tokens,
            "position": self.position,
            "truncated": self.truncated,
            "score": self.score,
            "score_breakdown": None if self.score_breakdown is None else dict(self.score_breakdown),
        }


@dataclass(frozen=True)
class SectionLimit:
    """A section whose own room is what kept an item out: the tokens it may take of the budget's, and those it took."""

    section: str
    tokens: int
    max_tokens: int
    used: int


@dataclass(frozen=True)
class Exclusion:
    """An item left out and why.

    `tokens_missing` is what the budget lacks for it now, where that was the reason; `twin` the anchor of the block that
    says nearly the same, where that was; `limit` the room of its section, where the budget had room and that had not:
    for who looks on, no receipt keeps it.
    """

    anchor: Anchor
    reason: str
    tokens: int
    score: float | None
    tokens_missing: int | None = None
    twin: Anchor | None = None
    limit: SectionLimit | None = field(default=None, compare=False)

    def as_answer(self) -> dict[str, Any]:
        return {
            "anchor": self.anchor.as_answer(),
            "reason": self.reason,
            "tokens": self.tokens,
            "score": self.score,
            "near_duplicate_of": None if self.twin is None else self.twin.as_answer(),
        }


@dataclass(frozen=True)
class CandidateOutcome:
    """One candidate with all it was judged by. Ranks count from 1; None where that arm did not find it."""

    anchor: Anchor
    tokens: int
    pinned: bool
    score: float
    score_breakdown: Mapping[str, float]
    vector_rank: int | None
    text_rank: int | None
    fused_score: float | None
    outcome: str

    def as_answer(self) -> dict[str, Any]:
        return {
            "anchor": self.anchor.as_answer(),
            "tokens": self.tokens,
            "pinned": self.pinned,
            "score": self.score,
            "score_breakdown": dict(self.score_breakdown),
            "vector_rank": self.vector_rank,
            "text_rank": self.text_rank,
            "fused_score": self.fused_score,
            "outcome": self.outcome,
        }


@dataclass(frozen=True)
class Section:
    """What a section keeps and leaves out, in order of importance, and the `tokens` it takes, markers included.

    `available` are the tokens it was allowed to take; `optimality` the packer's total score and, on request, the best
    possible one (see `PackingOutcome` in `context.assembly.packing`).
    """

    blocks: Sequence[Block] = ()
    omitted: Sequence[Exclusion] = ()
    tokens: int = 0
    candidates: Sequence[CandidateOutcome] = ()
    optimality: Mapping[str, float | None] | None = None
    available: int = 0


@dataclass(frozen=True)
class ContextWarning:
    """Something the caller should know: a stable `code` for programs, a `detail` for people."""

    code: str
    detail: str

    def as_answer(self) -> dict[str, str]:
        return {"code": self.code, "detail": self.detail}


@dataclass(frozen=True)
class ContextBudget:
    """The budget in tokens: `used` is the count of the text, `reserved` what of the window stays for the answer."""

    max_tokens: int
    used: int
    reserved: int
    tokenizer: str
    exact: bool

    def as_answer(self) -> dict[str, Any]:
        return {
            "max_tokens": self.max_tokens,
            "used": self.used,
            "reserved": self.reserved,
            "tokenizer": self.tokenizer,
            "exact": self.exact,
        }


@dataclass(frozen=True)
class AssembledContext:
    """A context with everything the API answers and the pages show. `id` is None for a preview; timings in ms.

    `scoring` is the profile by which it was ranked, `minimum_score` the least score that a memory needed; both are None
    for a context that was read back from its receipt.
    """

    id: UUID | None
    text: str
    blocks: Sequence[Block]
    omitted: Sequence[Exclusion]
    budget: ContextBudget
    profile: Mapping[str, Any]
    budget_profile: Mapping[str, Any]
    warnings: Sequence[ContextWarning]
    timings: Mapping[str, float]
    candidates: Sequence[CandidateOutcome]
    plan: Mapping[str, Any]
    request: Mapping[str, Any]
    created_at: datetime
    nonce_counter: int = 0
    stable_prefix_tokens: int | None = None
    optimality: Mapping[str, float | None] | None = None
    scoring: ScoringProfile | None = None
    minimum_score: float | None = None

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """The answer of `POST context`, as plain data.

        `explain` adds every candidate, the retrieval plan and, where they were asked for with the context, the highest
        total score any choice could have had and what the packer's choice lacks of it.
        """
        answer: dict[str, Any] = {
            "id": None if self.id is None else str(self.id),
            "text": self.text,
            "blocks": [block.as_answer() for block in self.blocks],
            "omitted": [omission.as_answer() for omission in self.omitted],
            "budget": self.budget.as_answer(),
            "profile": dict(self.profile),
            "budget_profile": dict(self.budget_profile),
            "warnings": [notice.as_answer() for notice in self.warnings],
            "timings": dict(self.timings),
        }
        if self.stable_prefix_tokens is not None:
            answer["stable_prefix_tokens"] = self.stable_prefix_tokens
        if explain:
            answer["explain"] = {
                "candidates": [candidate.as_answer() for candidate in self.candidates],
                "plan": dict(self.plan),
                "optimality": None if self.optimality is None else dict(self.optimality),
            }
        return answer
