"""Context requests and assembled contexts: the shapes that the orchestrator, entry points and receipts share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Self
from uuid import UUID

from context.models import BudgetProfile
from context.services.fast_frozen import FastFrozen
from context.services.profiles.scoring_profiles import ScoringProfile
from memories.services.store.moments import PointInTime
from memory_platform.rest.fields import format_utc

DEFAULT_RENDER = "markdown"

#: Kinds of blocks. Their anchors have the same type, except for a linked memory, whose anchor is that of a memory.
TENANT_MEMO = "tenant_memo"
PARTITION_SUMMARY = "partition_summary"
MEMORY = "memory"
LINKED_MEMORY = "linked_memory"

#: Exclusion reasons besides the packer's own.
BELOW_MINIMUM_SCORE = "below_minimum_score"
EXCLUDED_NEAR_DUPLICATE = "near_duplicate"
ALREADY_INCLUDED = "already_included"
#: The outcome of a candidate that the context includes.
KEPT = "kept"


@dataclass(frozen=True)
class Focus:
    """What a context is about: exactly one of a memory, a partition summary and a partition (its path)."""

    memory_id: UUID | None = None
    summary_id: UUID | None = None
    partition: str | None = None

    def as_record(self) -> dict[str, str]:
        """Return the given one of the three by its name."""
        return {name: str(value) for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class ContextRequest:
    """A request for a context. None, or "" for texts, is the value of the budget profile or the default.

    `partition` is a path (a subtree unless `exact`), "" the whole tenant, None that of the focus or else of the key;
    `segments` match at any depth, `max_tokens` is in tokens of the model. `profile` and `budget_profile` "" are those
    assigned to the key or the partition. `as_of` is a valid time to read, `moment` a valid or recorded one.
    `stable_with` is the receipt whose order is kept. `draft` is an unsaved budget profile and `scoring` a scoring
    profile in any state, both for previews only. `shares_of` are the tokens of a larger context that this is a part of:
    the profile's shares are of those, and `already_shown` are memories whose text is elsewhere in it. `session_id` is
    the session whose context it is a part of.
    """

    query: str = ""
    focus: Focus | None = None
    partition: str | None = None
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
    include_memory_days: bool | None = None
    as_of: datetime | None = None
    moment: PointInTime | None = None
    stable_with: UUID | None = None
    explain: bool = False
    preview: bool = False
    draft: BudgetProfile | None = None
    scoring: ScoringProfile | None = None
    shares_of: int | None = None
    already_shown: Sequence[UUID] = ()
    session_id: UUID | None = None


class Anchor(NamedTuple):
    """What a block shows: the row and its version."""

    type: str
    id: str
    version: int

    def as_answer(self) -> dict[str, Any]:
        return {"type": self.type, "id": self.id, "version": self.version}


@dataclass(frozen=True)
class Block(FastFrozen):
    """An included item. `tokens` are those of its text alone, `position` its place in the rendered text, from 0.

    `cut` is None for a whole text, else the number of characters of the stored one before the ellipsis. A memory has
    the time it is about (`created_at`) and its valid interval; other items only the time they were written.
    """

    kind: str
    anchor: Anchor
    text: str
    tokens: int
    position: int = 0
    score: float | None = None
    score_breakdown: Mapping[str, float] | None = None
    cut: int | None = None
    created_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @property
    def truncated(self) -> bool:
        """Whether the text was shortened to fit."""
        return self.cut is not None

    def as_known_at(self, moment: datetime) -> Self:
        """Return the block without an end of validity that was recorded later."""
        return replace(self, valid_to=None) if self.valid_to and self.valid_to > moment else self

    def left_out(self, reason: str) -> "Exclusion":
        return Exclusion(self.anchor, reason, self.tokens, self.score)

    def as_answer(self) -> dict[str, Any]:
        created = format_utc(self.created_at)
        return {
            "kind": self.kind,
            "anchor": self.anchor.as_answer(),
            "text": self.text,
            "tokens": self.tokens,
            "position": self.position,
            "score": self.score,
            "score_breakdown": self.score_breakdown,
            "created_at": created,
            # most memories are valid from their time on
            "valid_from": created if self.valid_from == self.created_at else format_utc(self.valid_from),
            "valid_to": None if self.valid_to is None else format_utc(self.valid_to),
            "truncated": self.cut is not None,
        }


@dataclass(frozen=True)
class SectionLimit:
    """A section whose share of the budget excludes an item: the tokens it may use of the budget, and those it uses."""

    section: str
    tokens: int
    max_tokens: int
    used: int


@dataclass(frozen=True)
class Exclusion(FastFrozen):
    """An excluded item and its exclusion reason.

    `tokens_missing` are the tokens that the budget lacks for it, where it is over budget; `twin` is the anchor of the
    block that it nearly duplicates; `limit` is set where the budget has tokens left and its section has none; receipts
    do not store it.
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
class CandidateOutcome(FastFrozen):
    """One candidate with its scores, ranks and outcome. Ranks count from 1; None where that retriever missed it.

    `superseded_by` is the memory that superseded it and after which it is therefore ranked.
    """

    anchor: Anchor
    tokens: int
    pinned: bool
    score: float
    score_breakdown: Mapping[str, float]
    vector_rank: int | None
    text_rank: int | None
    fused_score: float | None
    outcome: str
    superseded_by: str | None = None

    def as_answer(self) -> dict[str, Any]:
        return vars(self) | {"anchor": self.anchor.as_answer()}


@dataclass(frozen=True)
class Section:
    """The included and excluded items of a section, in order of importance, and its `tokens`, markers included.

    `available` are the tokens it was allowed to use; `optimality` the packer's total score and, on request, the best
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
    """Something that made a response worse but not wrong: a stable `code` for programs, a `detail` for people."""

    code: str
    detail: str

    def as_answer(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ContextBudget:
    """The budget in tokens: `used` is the count of the text, `reserved` the part of the window for the reply."""

    max_tokens: int
    used: int
    reserved: int
    tokenizer: str
    exact: bool

    def as_answer(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class AssembledContext(FastFrozen):
    """A context with everything that the API returns and the pages show. `id` is None for a preview; timings in ms.

    `scoring` is the profile that ranked it, `minimum_score` the least score that a memory needs; both are None for a
    context that was read from its receipt.
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

    @cached_property
    def items(self) -> dict[str, list[dict[str, Any]]]:
        """The included and excluded items of the answer."""
        return {
            "blocks": [block.as_answer() for block in self.blocks],
            "omitted": [omission.as_answer() for omission in self.omitted],
        }

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the answer of `POST context`; `explain` adds the candidates, the retrieval plan and the optimality."""
        answer: dict[str, Any] = {
            "id": None if self.id is None else str(self.id),
            "text": self.text,
            **self.items,
            "budget": self.budget.as_answer(),
            "profile": self.profile,
            "budget_profile": self.budget_profile,
            "warnings": [notice.as_answer() for notice in self.warnings],
            "timings": self.timings,
        }
        if self.stable_prefix_tokens is not None:
            answer["stable_prefix_tokens"] = self.stable_prefix_tokens
        if explain:
            answer["explain"] = {
                "candidates": [candidate.as_answer() for candidate in self.candidates],
                "plan": self.plan,
                "optimality": self.optimality,
            }
        return answer
