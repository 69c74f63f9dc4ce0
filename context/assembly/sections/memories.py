"""Sections of memories: those the focus links to, and those the query found."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context.assembly.scoring import QueryScorer
from context.assembly.sections.packing import PackingOutcome, PackingSettings, choose_memories
from context.assembly.sections.room import Section, SectionBudget
from context.receipts.results import (
    ALREADY_INCLUDED,
    BELOW_MINIMUM_SCORE,
    EXCLUDED_NEAR_DUPLICATE,
    KEPT,
    MEMORY,
    Anchor,
    Block,
    CandidateOutcome,
    Exclusion,
    build_score_breakdown,
)
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.packer import OVER_BUDGET
from context.services.scorer import ScoredMemory
from memories.services.search.fusion import MIN_CANDIDATES, gate_by_tokens, gate_cost
from memories.store.readings import Candidate

#: A fused score is a sum of reciprocals below 1/60; more decimals tell nothing apart.
FUSED_DECIMALS = 9


@dataclass(frozen=True)
class IncludedMemories:
    """What stands in the context already, as anchors by memory id, and which memories say nearly the same."""

    included: Mapping[UUID, Anchor] = field(default_factory=dict)
    likeness: NearDuplicates = field(default_factory=lambda: NearDuplicates({}, 1.0))


def rank_candidates(
    candidates: Sequence[Candidate], room: SectionBudget, scoring: QueryScorer, *, top_k: int | None = None
) -> list[ScoredMemory]:
    """The candidates scored, pinned ones first, then by score; with `top_k` only so many are considered at all."""
    scored = scoring.score([_as_mapping(candidate, room) for candidate in candidates])
    return sorted(scored, key=lambda item: not item.memory["pinned"])[:top_k]


def gate_ranked_candidates(
    ranked: Sequence[ScoredMemory], room: SectionBudget, *, overfetch_ratio: float, minimum: int = MIN_CANDIDATES
) -> list[ScoredMemory]:
    """Of a pool that the budget did not gate: the pinned, and the best by score that the same gate lets through."""
    others = [item for item in ranked if not item.memory["pinned"]]
    budget = room.gate_budget
    costs = {item.memory["id"]: gate_cost(item.memory["token_counts"][room.encoding], budget=budget) for item in others}
    chosen = set(gate_by_tokens(list(costs), costs, budget=budget, overfetch_ratio=overfetch_ratio, minimum=minimum))
    return [item for item in ranked if item.memory["pinned"] or item.memory["id"] in chosen]


def pack_memories(
    ranked: Sequence[ScoredMemory],
    room: SectionBudget,
    packing: PackingSettings,
    *,
    kind: str = MEMORY,
    beside: IncludedMemories | None = None,
) -> Section:
    """What fits of `ranked`, each once and none that says nearly what a better kept one says.

    Pinned ones come first in their share of the room, and the minimum score does not stop them there: somebody chose
    them. What their share does not hold of them competes with all others.
    """
    around = beside or IncludedMemories()
    outcomes = _outcomes_before(ranked, packing, around)
    contenders = [item for item in ranked if item.memory["id"] not in outcomes]
    pinned = [item for item in contenders if item.memory["pinned"]]
    others = [item for item in contenders if not item.memory["pinned"]]
    share = packing.pinned_share if others else 1.0
    chosen = _choose_unlike(pinned, room.of(_part(room.tokens, share)), packing.for_share(share), around.likeness)
    first = set(chosen.kept)
    if share < 1:
        others = [*_once_more(pinned, chosen, packing), *others]
    chosen.add(_choose_beside(first, others, room.of(room.tokens - chosen.tokens), packing, around.likeness))
    outcomes |= chosen.outcomes
    placed = _by_importance(ranked, first if share < 1 else {item.memory["id"] for item in pinned})
    blocks = [
        _block(item, kind, room, chosen.snippets.get(item.memory["id"]))
        for item in placed
        if outcomes[item.memory["id"]] == KEPT
    ]
    considered = [_consideration(item, outcomes[item.memory["id"]]) for item in placed]
    optimality = chosen.optimality() if packing.is_explained else None
    twins = _twins(ranked, outcomes, around)
    return Section(blocks, _omissions(considered, twins), chosen.tokens, considered, optimality, room.tokens)


def _as_mapping(candidate: Candidate, room: SectionBudget) -> dict[str, Any]:
    """A candidate as scorer and packer take it; what it costs to pack includes its marker."""
    tokens = candidate.token_counts[room.encoding]
    return {
        **candidate.as_mapping,
        "token_counts": {room.encoding: tokens + room.marker_tokens},
        "tokens": room.tokens_of(candidate.token_counts),
        "candidate": candidate,
    }


def _outcomes_before(
    ranked: Sequence[ScoredMemory], packing: PackingSettings, beside: IncludedMemories
) -> dict[UUID, str]:
    """Why memories are left out whatever the room, by id."""
    outcomes: dict[UUID, str] = {}
    for item in ranked:
        memory_id = item.memory["id"]
        if memory_id in beside.included:
            outcomes[memory_id] = ALREADY_INCLUDED
        elif item.composite_score < packing.minimum_score and not item.memory["pinned"]:
            outcomes[memory_id] = BELOW_MINIMUM_SCORE
        elif beside.likeness.twin_of(memory_id, beside.included) is not None:
            outcomes[memory_id] = EXCLUDED_NEAR_DUPLICATE
    return outcomes


def _part(tokens: int, share: float) -> int:
    return tokens if share >= 1 else math.floor(tokens * share)


def _once_more(pinned: Sequence[ScoredMemory], chosen: PackingOutcome, packing: PackingSettings) -> list[ScoredMemory]:
    """The pinned memories that their share does not hold and whose score may compete; `chosen` notes the others."""
    over = [item for item in pinned if chosen.outcomes[item.memory["id"]] not in (KEPT, EXCLUDED_NEAR_DUPLICATE)]
    below = {item.memory["id"] for item in over if item.composite_score < packing.minimum_score}
    chosen.outcomes |= dict.fromkeys(below, BELOW_MINIMUM_SCORE)
    if over:
        chosen.take_as_given()
    return [item for item in over if item.memory["id"] not in below]


def _choose_beside(
    first: Collection[UUID],
    ranked: Sequence[ScoredMemory],
    room: SectionBudget,
    packing: PackingSettings,
    likeness: NearDuplicates,
) -> PackingOutcome:
    """What fits of `ranked` beside the memories that came first, without saying nearly what one of them says."""
    ids = [item.memory["id"] for item in ranked]
    repeats = {memory_id for memory_id in ids if likeness.twin_of(memory_id, first) is not None}
    unlike = [item for item in _by_importance(ranked, ()) if item.memory["id"] not in repeats]
    chosen = _choose_unlike(unlike, room, packing.beside(len(first)), likeness)
    chosen.outcomes |= dict.fromkeys(repeats, EXCLUDED_NEAR_DUPLICATE)
    return chosen


def _by_importance(ranked: Sequence[ScoredMemory], first: Collection[UUID]) -> list[ScoredMemory]:
    """Those that come first, then all others, each by score; equal ones as they stand."""
    return sorted(ranked, key=lambda item: (item.memory["id"] not in first, -item.composite_score))


def _choose_unlike(
    ranked: Sequence[ScoredMemory], room: SectionBudget, packing: PackingSettings, likeness: NearDuplicates
) -> PackingOutcome:
    """What fits of `ranked` without saying anything nearly twice.

    A memory that a better and no longer one repeats can never be preferred to it, so it is set aside at once. What else
    is kept twice goes, and its room is given out again, until nothing is kept twice.
    """
    ids = [item.memory["id"] for item in ranked]
    aside = likeness.repeats(ids, {item.memory["id"]: item.memory["tokens"] for item in ranked})
    while True:
        chosen = choose_memories([item for item in ranked if item.memory["id"] not in aside], room, packing)
        kept = set(chosen.kept)
        repeats = likeness.repeats([memory_id for memory_id in ids if memory_id in kept])
        if not repeats:
            break
        aside |= repeats
    for memory_id in aside:
        is_said = likeness.twin_of(memory_id, kept) is not None
        chosen.outcomes[memory_id] = EXCLUDED_NEAR_DUPLICATE if is_said else OVER_BUDGET
    return chosen


def _twins(ranked: Sequence[ScoredMemory], outcomes: Mapping[UUID, str], beside: IncludedMemories) -> dict[str, Anchor]:
    """What stands in the context instead of each near duplicate: the most important such block, by the memory's id."""
    kept = {item.memory["id"]: _anchor(item) for item in ranked if outcomes[item.memory["id"]] == KEPT}
    standing = {**beside.included, **kept}
    repeats = [memory_id for memory_id, outcome in outcomes.items() if outcome == EXCLUDED_NEAR_DUPLICATE]
    twins = {memory_id: beside.likeness.twin_of(memory_id, standing) for memory_id in repeats}
    return {str(memory_id): standing[twin] for memory_id, twin in twins.items() if twin is not None}


def _block(item: ScoredMemory, kind: str, room: SectionBudget, snippet: str | None) -> Block:
    return Block(
        kind,
        _anchor(item),
        item.memory["content"] if snippet is None else snippet,
        item.memory["tokens"] if snippet is None else room.counter.count_tokens(snippet, room.model),
        score=item.composite_score,
        score_breakdown=build_score_breakdown(item),
        # a snippet is the beginning of the text and one character, the ellipsis
        cut=None if snippet is None else len(snippet) - 1,
    )


def _anchor(item: ScoredMemory) -> Anchor:
    return Anchor(MEMORY, str(item.memory["id"]), item.memory["candidate"].version)


def _consideration(item: ScoredMemory, outcome: str) -> CandidateOutcome:
    candidate: Candidate = item.memory["candidate"]
    return CandidateOutcome(
        anchor=_anchor(item),
        tokens=item.memory["tokens"],
        pinned=candidate.pinned,
        score=item.composite_score,
        score_breakdown=build_score_breakdown(item),
        vector_rank=candidate.vector_rank,
        text_rank=candidate.text_rank,
        fused_score=None if candidate.fused_score is None else round(candidate.fused_score, FUSED_DECIMALS),
        outcome=outcome,
    )


def _omissions(considered: Sequence[CandidateOutcome], twins: Mapping[str, Anchor]) -> list[Exclusion]:
    return [
        Exclusion(item.anchor, item.outcome, item.tokens, item.score, twin=twins.get(item.anchor.id))
        for item in considered
        if item.outcome != KEPT
    ]
