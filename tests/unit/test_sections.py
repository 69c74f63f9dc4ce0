"""Sections: what stands in a context and in which order, before anything is rendered."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from context.results import BELOW_MINIMUM_SCORE, KEPT
from context.sections import Packing, Room, Section, memo_block, pack_memories, rank_candidates, whole_section
from context.services.packer import AFTER_SKIP_LIMIT, OVER_BUDGET
from memories.models import TenantMemo

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class RefusingCounter:
    """Every text here carries its count: nothing may be tokenized."""

    def count_tokens(self, content: str, model: str) -> int:
        raise AssertionError(f"counted {content!r} for {model}")


@dataclass
class FakeCandidate:
    content: str
    tokens: int
    similarity: float | None = 0.5
    pinned: bool = False
    age_days: float = 0
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    version: int = 1
    usefulness_score: float = 0.5
    confidence: float = 0.8
    retrieval_count: int = 0
    vector_rank: int | None = None
    text_rank: int | None = None
    fused_score: float | None = None

    @property
    def created_at(self) -> datetime:
        return NOW - timedelta(days=self.age_days)

    @property
    def token_counts(self) -> dict[str, int]:
        return {"o200k_base": self.tokens, "cl100k_base": self.tokens + 1}


def room(tokens: int, model: str = "gpt-4o", marker_tokens: int = 3) -> Room:
    return Room(tokens, marker_tokens, model, RefusingCounter())


def packed(
    candidates: list[FakeCandidate], tokens: int, *, minimum_score: float = 0.0, top_k: int | None = None
) -> Any:
    ranked = rank_candidates(candidates, room(tokens), top_k=top_k, now=NOW)
    return pack_memories(ranked, room(tokens), Packing(minimum_score=minimum_score))


def texts(section: Any) -> list[str]:
    return [block.text for block in section.blocks]


def memo(tokens: int, content: str = "We are a bakery.") -> TenantMemo:
    return TenantMemo(
        tenant_id=uuid.UUID(int=7), version=3, content=content, tokens_o200k_base=tokens, tokens_cl100k_base=tokens
    )


def memo_section(row: TenantMemo, within: Room) -> Section:
    return whole_section([memo_block(row, within)], within)


def test_memo_takes_its_text_and_its_marker() -> None:
    section = memo_section(memo(10), room(13))
    assert [block.tokens for block in section.blocks] == [10]
    assert section.tokens == 13
    assert section.blocks[0].anchor.as_answer() == {"type": "tenant_memo", "id": str(uuid.UUID(int=7)), "version": 3}
    assert section.blocks[0].score is None


def test_memo_that_does_not_fit_is_left_out_and_takes_no_room() -> None:
    section = memo_section(memo(10), room(12))
    assert section.blocks == []
    assert section.tokens == 0
    assert [(left.reason, left.tokens) for left in section.omitted] == [(OVER_BUDGET, 10)]


@pytest.mark.parametrize("absent", [memo(0, ""), memo(1, " \n")])
def test_blank_memo_is_no_block(absent: TenantMemo) -> None:
    section = memo_section(absent, room(100))
    assert (section.blocks, section.omitted) == ([], [])


def test_best_memories_come_first() -> None:
    section = packed([FakeCandidate("far", 5, 0.1), FakeCandidate("near", 5, 0.9)], 100)
    assert texts(section) == ["near", "far"]
    assert section.tokens == 16


def test_pinned_memories_come_before_better_ones_and_among_themselves_by_score() -> None:
    candidates = [
        FakeCandidate("best", 5, 1.0),
        FakeCandidate("pinned far", 5, 0.0, pinned=True),
        FakeCandidate("pinned near", 5, 0.6, pinned=True),
    ]
    assert texts(packed(candidates, 100)) == ["pinned near", "pinned far", "best"]


def test_pinned_memory_takes_the_room_of_a_better_one() -> None:
    section = packed([FakeCandidate("best", 20, 1.0), FakeCandidate("pinned", 20, 0.0, pinned=True)], 30)
    assert texts(section) == ["pinned"]
    assert [left.reason for left in section.omitted] == [OVER_BUDGET]


def test_minimum_score_leaves_out_what_is_below_but_never_a_pinned_memory() -> None:
    candidates = [
        FakeCandidate("good", 5, 1.0),
        FakeCandidate("poor", 5, 0.0, age_days=1000),
        FakeCandidate("pinned poor", 5, 0.0, pinned=True, age_days=1000),
    ]
    section = packed(candidates, 100, minimum_score=0.5)
    assert texts(section) == ["pinned poor", "good"]
    assert [(left.reason, left.tokens) for left in section.omitted] == [(BELOW_MINIMUM_SCORE, 5)]


def test_a_memory_at_the_minimum_score_is_kept() -> None:
    candidate = FakeCandidate("exact", 5, 0.5)
    score = packed([candidate], 100).blocks[0].score
    assert texts(packed([candidate], 100, minimum_score=score)) == ["exact"]


def test_top_k_counts_pinned_ones_and_forgets_the_rest() -> None:
    candidates = [FakeCandidate(f"m{n}", 5, n / 10) for n in range(5)] + [FakeCandidate("pin", 5, 0, pinned=True)]
    section = packed(candidates, 1000, top_k=3)
    assert texts(section) == ["pin", "m4", "m3"]
    assert section.omitted == []
    assert len(section.candidates) == 3


def test_every_candidate_is_either_kept_or_left_out_with_its_reason() -> None:
    sizes = [10, 500, 500, 500, 5]
    candidates = [FakeCandidate(f"m{n}", size, 1 - n / 10) for n, size in enumerate(sizes)]
    section = packed(candidates, 60)
    assert [candidate.outcome for candidate in section.candidates] == [KEPT, *[OVER_BUDGET] * 3, AFTER_SKIP_LIMIT]
    assert [left.tokens for left in section.omitted] == sizes[1:]
    assert all(left.score is not None for left in section.omitted)


def test_score_breakdown_holds_the_five_unweighted_parts() -> None:
    (block,) = packed([FakeCandidate("one", 5, 0.25)], 100).blocks
    assert block.score_breakdown == {
        "relevance": 0.25,
        "recency": 1.0,
        "usefulness": 0.5,
        "confidence": 0.8,
        "frequency": 0.0,
    }
    assert block.score == pytest.approx(0.4 * 0.25 + 0.25 + 0.2 * 0.5 + 0.1 * 0.8)


def test_unknown_similarity_counts_as_none_at_all() -> None:
    (block,) = packed([FakeCandidate("one", 5, None)], 100).blocks
    assert block.score_breakdown is not None
    assert block.score_breakdown["relevance"] == 0


def test_counts_of_the_models_own_encoding_are_used() -> None:
    candidate = FakeCandidate("one", 10)
    ranked = rank_candidates([candidate], room(100, "gpt-4"), top_k=None, now=NOW)
    section = pack_memories(ranked, room(100, "gpt-4"), Packing())
    assert [block.tokens for block in section.blocks] == [11]


def test_counts_of_a_model_without_an_exact_encoding_carry_its_safety_factor() -> None:
    whole = room(100, "claude-sonnet-4-5")
    section = pack_memories(
        rank_candidates([FakeCandidate("one", 100)], whole, top_k=None, now=NOW),
        whole,
        Packing(),
    )
    assert section.blocks == []
    assert section.omitted[0].tokens > 100


@pytest.mark.parametrize("tokens", [0, -40])
def test_no_room_keeps_nothing_and_names_every_candidate(tokens: int) -> None:
    section = packed([FakeCandidate("one", 5), FakeCandidate("two", 5)], tokens)
    assert section.blocks == []
    assert {left.reason for left in section.omitted} == {OVER_BUDGET}
