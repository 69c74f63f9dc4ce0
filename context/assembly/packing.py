"""Pack memories into the budget of a section by any packer: pinned memories first, and no near-duplicates."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import Any, Self
from uuid import UUID

import orjson

from context.receipts.results import (
    ALREADY_INCLUDED,
    BELOW_MINIMUM_SCORE,
    EXCLUDED_NEAR_DUPLICATE,
    KEPT,
    MEMORY,
    Anchor,
    Block,
    CandidateOutcome,
    ContextWarning,
    Exclusion,
    Section,
)
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.packing_settings import PackingSettings, optimal_packer
from context.services.assembly.section_budgets import SectionBudget
from context.services.packer import ELASTIC, OVER_BUDGET
from context.services.scorer import SCORE_DECIMALS, ScoredMemory
from memories.services.time_limits import in_time
from memory_platform.web.numerals import counted

#: The code of the warning about tokens that the limits of the elastic packer leave unused.
ELASTIC_BUDGET_UNUSED = "elastic_budget_unused"
#: A fused score is a sum of reciprocals below 1/60; more decimals make no difference.
FUSED_DECIMALS = 9


@dataclass
class PackingOutcome:
    """The outcome of each memory (`kept`, or why it is excluded), the shortened texts, the tokens taken."""

    outcomes: dict[UUID, str] = field(default_factory=dict)
    snippets: dict[UUID, str] = field(default_factory=dict)
    tokens: int = 0
    total_score: float = 0.0
    optimal_score: float | None = 0.0
    upper_bound: float = 0.0

    @property
    def kept(self) -> list[UUID]:
        """The ids of the kept memories."""
        return [memory_id for memory_id, outcome in self.outcomes.items() if outcome == KEPT]

    def add(self, later: Self) -> None:
        """Add a later choice; the later outcome of a memory counts."""
        self.outcomes |= later.outcomes
        self.snippets |= later.snippets
        self.tokens += later.tokens
        self.total_score += later.total_score
        is_known = self.optimal_score is not None and later.optimal_score is not None
        self.optimal_score = (self.optimal_score or 0.0) + (later.optimal_score or 0.0) if is_known else None
        self.upper_bound += later.upper_bound

    def optimality(self) -> dict[str, Any]:
        """Return the total score, the best possible one (None: not proven), its proven bound, and the gap to it."""
        values = {
            "total_score": self.total_score,
            "optimal_score": self.optimal_score,
            "upper_bound": self.upper_bound,
            "gap": self.upper_bound - self.total_score,
        }
        return {name: None if value is None else round(value, SCORE_DECIMALS) for name, value in values.items()}


def choose_memories(ranked: Sequence[ScoredMemory], budget: SectionBudget, packing: PackingSettings) -> PackingOutcome:
    """Return which of `ranked`, best first, fit."""
    packed = packing.packer_for(budget).pack(ranked, budget.tokens, budget.model)
    texts = packed.snippets or {}  # only packers that shorten have any
    whole = {item.memory["id"]: item.memory["content"] for item in packed.memories} if texts else {}
    outcomes = dict.fromkeys([item.memory["id"] for item in packed.memories], KEPT)
    chosen = PackingOutcome(
        outcomes=outcomes | {omitted.id: omitted.reason for omitted in packed.omitted},
        snippets={key: text for key, text in texts.items() if text != whole[key]},
        tokens=packed.total_tokens,
        total_score=packed.total_score,
    )
    if packing.is_explained and ranked:
        best = optimal_packer(budget).pack(ranked, budget.tokens, budget.model)
        chosen.optimal_score, chosen.upper_bound = best.optimal_score, best.upper_bound or 0.0
    return chosen


@dataclass(frozen=True)
class IncludedMemories:
    """The anchors that the context includes already, by memory id, and which memories are near duplicates."""

    anchors: Mapping[UUID, Anchor] = field(default_factory=dict)
    duplicates: NearDuplicates = field(default_factory=lambda: NearDuplicates({}, 1.0))


def pack_memories(
    ranked: Sequence[ScoredMemory],
    budget: SectionBudget,
    packing: PackingSettings,
    *,
    kind: str = MEMORY,
    included: IncludedMemories | None = None,
) -> Section:
    """Return the section of the memories of `ranked` that fit, each once, without near duplicates of better kept ones.

    Pinned memories come first in their share of the budget, where the minimum score does not apply to them, because a
    person chose them. Those that do not fit into the share compete with all others.
    """
    if not ranked and not packing.is_explained:
        return Section(available=budget.tokens)
    included = included or IncludedMemories()
    duplicates = included.duplicates
    outcomes = _outcomes_before(ranked, packing, included)
    contenders = [item for item in ranked if item.memory["id"] not in outcomes] if outcomes else ranked
    if packing.packer == ELASTIC:
        repeats = duplicates.repeats([item.memory["id"] for item in contenders])
        packing = packing.lengthened([item for item in contenders if item.memory["id"] not in repeats], budget)
    pinned = [item for item in contenders if item.memory["pinned"]]
    others = [item for item in contenders if not item.memory["pinned"]]
    share = packing.pinned_share if others else 1.0
    share_tokens = budget.tokens if share >= 1 else math.floor(budget.tokens * share)
    chosen = _choose_unlike(
        pinned, budget.of(share_tokens), packing.with_target(math.ceil(packing.target_items * share)), duplicates
    )
    first = set(chosen.kept)
    if share < 1:
        others = [*_remaining_pinned(pinned, chosen, packing), *others]
    chosen.add(_choose_after(first, others, budget.of(budget.tokens - chosen.tokens), packing, duplicates))
    outcomes |= chosen.outcomes
    placed = _by_importance(ranked, first if share < 1 else {item.memory["id"] for item in pinned})
    twins, snippets = _twins(ranked, outcomes, included), chosen.snippets
    considered: list[CandidateOutcome] = []
    blocks: list[Block] = []
    omitted: list[Exclusion] = []
    for item, text in zip(placed, _id_texts([item.memory["id"] for item in placed]), strict=True):
        memory = item.memory
        anchor = Anchor(MEMORY, text, memory["version"])
        one = _candidate_outcome(item, anchor, outcomes[memory["id"]], budget)
        considered.append(one)
        if one.outcome == KEPT:
            snippet = snippets.get(memory["id"]) if snippets else None
            blocks.append(_block(kind, one, memory, snippet, budget, position=len(blocks)))
        else:
            omitted.append(Exclusion(one.anchor, one.outcome, one.tokens, one.score, twin=twins.get(one.anchor.id)))
    return Section(
        blocks, omitted, chosen.tokens, considered, chosen.optimality() if packing.is_explained else None, budget.tokens
    )


def unused_tokens_warning(name: str, section: Section, packing: PackingSettings, marker: int) -> ContextWarning | None:
    """Return why the elastic packer leaves tokens of a section unused although memories are excluded or shortened."""
    if packing.packer != ELASTIC:
        return None
    unused, whole = section.available - section.tokens, {one.anchor: one.tokens for one in section.candidates}
    excluded = [row for row in section.omitted if row.reason == OVER_BUDGET]
    shortened = [max(whole[block.anchor] - block.tokens, 1) for block in section.blocks if block.truncated]
    needed = [min(row.tokens, packing.max_tokens) + marker for row in excluded]
    needed += [] if packing.fills_budget else shortened
    if unused < min(needed, default=unused + 1):
        return None
    detail = (
        f"{unused:,} of {counted(section.available, 'token', 'tokens')} for {name} are unused, although"
        f" {counted(len(excluded), 'memory is', 'memories are')} excluded and {len(shortened):,} shortened: the budget"
        f" profile aims at {counted(packing.target_items, 'memory', 'memories')} of at most"
        f" {counted(packing.max_tokens, 'token', 'tokens')} each."
    )
    return ContextWarning(ELASTIC_BUDGET_UNUSED, detail)


def _outcomes_before(
    ranked: Sequence[ScoredMemory], packing: PackingSettings, included: IncludedMemories
) -> dict[UUID, str]:
    """Return why memories are excluded at any budget, by id."""
    outcomes: dict[UUID, str] = {}
    if not included.anchors and packing.minimum_score <= 0:  # nothing can exclude one
        return outcomes
    for item in ranked:
        memory_id = item.memory["id"]
        if memory_id in included.anchors:
            outcomes[memory_id] = ALREADY_INCLUDED
        elif item.composite_score < packing.minimum_score and not item.memory["pinned"]:
            outcomes[memory_id] = BELOW_MINIMUM_SCORE
        elif included.duplicates.twin_of(memory_id, included.anchors) is not None:
            outcomes[memory_id] = EXCLUDED_NEAR_DUPLICATE
    return outcomes


def _remaining_pinned(
    pinned: Sequence[ScoredMemory], chosen: PackingOutcome, packing: PackingSettings
) -> list[ScoredMemory]:
    """Return the pinned memories that do not fit into their share and may compete; `chosen` records the others."""
    over = [item for item in pinned if chosen.outcomes[item.memory["id"]] not in (KEPT, EXCLUDED_NEAR_DUPLICATE)]
    below = {item.memory["id"] for item in over if item.composite_score < packing.minimum_score}
    chosen.outcomes |= dict.fromkeys(below, BELOW_MINIMUM_SCORE)
    if over:
        # memories that this choice excludes may be chosen later and are recorded then
        chosen.optimal_score = chosen.upper_bound = chosen.total_score
    return [item for item in over if item.memory["id"] not in below]


def _choose_after(
    first: Collection[UUID],
    ranked: Sequence[ScoredMemory],
    budget: SectionBudget,
    packing: PackingSettings,
    duplicates: NearDuplicates,
) -> PackingOutcome:
    unlike, repeats = _by_importance(ranked, ()), set[UUID]()
    if first and duplicates.has_any:
        ids = [item.memory["id"] for item in ranked]
        repeats = {memory_id for memory_id in ids if duplicates.twin_of(memory_id, first) is not None}
        unlike = [item for item in unlike if item.memory["id"] not in repeats]
    chosen = _choose_unlike(unlike, budget, packing.with_target(packing.target_items - len(first)), duplicates)
    chosen.outcomes |= dict.fromkeys(repeats, EXCLUDED_NEAR_DUPLICATE)
    return chosen


def _by_importance(ranked: Sequence[ScoredMemory], first: Collection[UUID]) -> list[ScoredMemory]:
    """Return the memories by score, after those pinned ones that are among `first`."""
    if not first:
        return sorted(ranked, key=attrgetter("composite_score"), reverse=True)

    def importance(item: ScoredMemory) -> tuple[bool, float]:
        # checked first, because the hash of a UUID is computed in Python
        is_first = item.memory["pinned"] and item.memory["id"] in first
        return not is_first, -item.composite_score

    return sorted(ranked, key=importance)


def _choose_unlike(
    ranked: Sequence[ScoredMemory], budget: SectionBudget, packing: PackingSettings, duplicates: NearDuplicates
) -> PackingOutcome:
    """Return which of `ranked` fit without near duplicates.

    A near-duplicate of a better memory that is not longer is never preferred to it, so it is removed first. Other
    near-duplicates are removed after packing, and their tokens are packed again, until none remains.
    """
    if not duplicates.has_any:
        return choose_memories(ranked, budget, packing)
    tokens = {item.memory["id"]: item.memory["token_counts"][budget.encoding] for item in ranked}
    aside = duplicates.repeats(list(tokens), tokens)
    for _ in in_time(count()):
        contenders = [item for item in ranked if item.memory["id"] not in aside] if aside else ranked
        chosen = choose_memories(contenders, budget, packing)
        kept = set(chosen.kept)
        repeats = duplicates.repeats([memory_id for memory_id in tokens if memory_id in kept])
        if not repeats:
            break
        aside |= repeats
    for memory_id in aside:
        is_repeated = duplicates.twin_of(memory_id, kept) is not None
        chosen.outcomes[memory_id] = EXCLUDED_NEAR_DUPLICATE if is_repeated else OVER_BUDGET
    return chosen


def _twins(
    ranked: Sequence[ScoredMemory], outcomes: Mapping[UUID, str], included: IncludedMemories
) -> dict[str, Anchor]:
    """Return the most important block that each excluded near duplicate repeats, by memory id."""
    repeats = [memory_id for memory_id, outcome in outcomes.items() if outcome == EXCLUDED_NEAR_DUPLICATE]
    if not repeats:
        return {}
    kept = {
        memory["id"]: Anchor(MEMORY, str(memory["id"]), memory["version"])
        for memory in (item.memory for item in ranked)
        if outcomes[memory["id"]] == KEPT
    }
    anchors = {**included.anchors, **kept}
    twins = {memory_id: included.duplicates.twin_of(memory_id, anchors) for memory_id in repeats}
    return {str(memory_id): anchors[twin] for memory_id, twin in twins.items() if twin is not None}


def _block(
    kind: str,
    one: CandidateOutcome,
    memory: Mapping[str, Any],
    snippet: str | None,
    budget: SectionBudget,
    *,
    position: int,
) -> Block:
    text, tokens, cut = memory["content"], one.tokens, None
    if snippet is not None:
        # a snippet is the beginning of the text and one character, the ellipsis
        text, tokens, cut = snippet, budget.counter.count_tokens(snippet, budget.model), len(snippet) - 1
    return Block.of(
        kind=kind,
        anchor=one.anchor,
        text=text,
        tokens=tokens,
        position=position,
        score=one.score,
        score_breakdown=one.score_breakdown,
        cut=cut,
        created_at=memory.get("created_at"),
        valid_from=memory.get("valid_from"),
        valid_to=memory.get("valid_to"),
    )


def _id_texts(ids: Sequence[UUID]) -> list[str]:
    """Return each id as text: all at once, because `str` of a UUID is Python code."""
    return orjson.dumps(ids)[2:-2].decode().split('","') if ids else []


def _candidate_outcome(item: ScoredMemory, anchor: Anchor, outcome: str, budget: SectionBudget) -> CandidateOutcome:
    memory, successor = item.memory, item.superseded_by
    fused_score = memory["fused_score"]
    return CandidateOutcome.of(
        anchor=anchor,
        tokens=budget.tokens_of(memory["token_counts"]),
        pinned=memory["pinned"],
        score=item.composite_score,
        score_breakdown=item.breakdown(),
        vector_rank=memory["vector_rank"],
        text_rank=memory["text_rank"],
        fused_score=None if fused_score is None else round(fused_score, FUSED_DECIMALS),
        outcome=outcome,
        superseded_by=None if successor is None else str(successor),
    )
