"""What may stand in a context, section by section: the tenant's memo, then the memories, each within the room left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from context.results import (
    BELOW_MINIMUM_SCORE,
    KEPT,
    MEMORY,
    TENANT_MEMO,
    Anchor,
    Block,
    Consideration,
    Omission,
    breakdown_of,
)
from context.services.model_catalog import encoding_for, scaled_count
from context.services.packer import OVER_BUDGET, GreedyKnapsackPacker, TokenCounter
from context.services.scorer import MemoryScorer, ScoredMemory
from memories.models import TenantMemo
from memories.retrieval import Candidate

PACKERS = {"greedy": GreedyKnapsackPacker}


@dataclass(frozen=True)
class Room:
    """Tokens of `model` that are left, those an item's marker takes, and what counts texts without a stored count."""

    tokens: int
    marker_tokens: int
    model: str
    counter: TokenCounter

    @property
    def encoding(self) -> str:
        """The encoding whose stored counts apply."""
        return encoding_for(self.model)

    def after(self, tokens: int) -> "Room":
        """The room left when `tokens` are taken."""
        return replace(self, tokens=self.tokens - tokens)

    def tokens_of(self, token_counts: Mapping[str, int]) -> int:
        """Tokens of a stored text for the model, its marker not counted."""
        return scaled_count(token_counts[self.encoding], self.model)


@dataclass(frozen=True)
class Section:
    """What a section kept and left out, in order of importance; `tokens` are those it takes, with markers."""

    blocks: Sequence[Block] = ()
    omitted: Sequence[Omission] = ()
    tokens: int = 0
    candidates: Sequence[Consideration] = ()


def memo_section(memo: TenantMemo | None, room: Room) -> Section:
    """The tenant's memo when there is one and it fits."""
    if memo is None or not memo.content.strip():
        return Section()
    tokens = room.tokens_of(memo.token_counts)
    block = Block(TENANT_MEMO, Anchor(TENANT_MEMO, str(memo.tenant_id), memo.version), memo.content, tokens)
    if tokens + room.marker_tokens > room.tokens:
        return Section(omitted=[block.left_out(OVER_BUDGET)])
    return Section(blocks=[block], tokens=tokens + room.marker_tokens)


def rank_candidates(
    candidates: Sequence[Candidate], room: Room, *, top_k: int | None, now: datetime
) -> list[ScoredMemory]:
    """The candidates scored, pinned ones first, then by score; with `top_k` only so many are considered at all."""
    scored = MemoryScorer(clock=lambda: now).score([_as_mapping(candidate, room) for candidate in candidates])
    return sorted(scored, key=lambda item: not item.memory["pinned"])[:top_k]


def pack_memories(ranked: Sequence[ScoredMemory], room: Room, *, packer: str, minimum_score: float) -> Section:
    """What fits of `ranked`, pinned ones first.

    The minimum score does not stop pinned ones: somebody chose them.
    """
    outcomes, tokens = _pack(ranked, room, packer, minimum_score)
    blocks = [_block(item) for item in ranked if outcomes[item.memory["id"]] == KEPT]
    considered = [_consideration(item, outcomes[item.memory["id"]]) for item in ranked]
    return Section(blocks, _omissions(considered), tokens, considered)


def _as_mapping(candidate: Candidate, room: Room) -> dict[str, Any]:
    """A candidate as scorer and packer take it; what it costs to pack includes its marker."""
    tokens = candidate.token_counts[room.encoding]
    return {
        "id": candidate.id,
        "content": candidate.content,
        "similarity": candidate.similarity,
        "created_at": candidate.created_at,
        "usefulness_score": candidate.usefulness_score,
        "confidence": candidate.confidence,
        "retrieval_count": candidate.retrieval_count,
        "token_counts": {room.encoding: tokens + room.marker_tokens},
        "tokens": room.tokens_of(candidate.token_counts),
        "pinned": candidate.pinned,
        "candidate": candidate,
    }


def _pack(ranked: Sequence[ScoredMemory], room: Room, packer: str, minimum_score: float) -> tuple[dict[UUID, str], int]:
    """What became of each memory (`kept` or the reason it was left out), and the tokens the kept ones take."""
    pinned = [item for item in ranked if item.memory["pinned"]]
    others = [item for item in ranked if not item.memory["pinned"]]
    outcomes = {item.memory["id"]: BELOW_MINIMUM_SCORE for item in others if item.composite_score < minimum_score}
    taken = 0
    for group in (pinned, [item for item in others if item.memory["id"] not in outcomes]):
        packed = PACKERS[packer](room.counter).pack(group, room.tokens - taken, room.model)
        taken += packed.total_tokens
        outcomes |= {item.memory["id"]: KEPT for item in packed.memories}
        outcomes |= {omitted.id: omitted.reason for omitted in packed.omitted}
    return outcomes, taken


def _block(item: ScoredMemory) -> Block:
    return Block(
        MEMORY,
        _anchor(item),
        item.memory["content"],
        item.memory["tokens"],
        score=item.composite_score,
        score_breakdown=breakdown_of(item),
    )


def _anchor(item: ScoredMemory) -> Anchor:
    return Anchor(MEMORY, str(item.memory["id"]), item.memory["candidate"].version)


def _consideration(item: ScoredMemory, outcome: str) -> Consideration:
    candidate: Candidate = item.memory["candidate"]
    return Consideration(
        anchor=_anchor(item),
        tokens=item.memory["tokens"],
        pinned=candidate.pinned,
        score=item.composite_score,
        score_breakdown=breakdown_of(item),
        vector_rank=candidate.vector_rank,
        text_rank=candidate.text_rank,
        fused_score=candidate.fused_score,
        outcome=outcome,
    )


def _omissions(considered: Sequence[Consideration]) -> list[Omission]:
    return [Omission(item.anchor, item.outcome, item.tokens, item.score) for item in considered if item.outcome != KEPT]
