"""Sections: the contents of a context and their order, before rendering."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.assembly.candidates import admitted_places, rank_candidates
from context.assembly.layout import fit_whole_blocks, whole_block
from context.assembly.packing import IncludedMemories, pack_memories, unused_tokens_warning
from context.receipts.results import BELOW_MINIMUM_SCORE, EXCLUDED_NEAR_DUPLICATE, KEPT, Section
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.packing_settings import PackingSettings
from context.services.assembly.profiled_scorer import ProfiledScorer
from context.services.assembly.section_budgets import SectionBudget
from context.services.assembly.signals.columns import ScoringQuestion
from context.services.packer import AFTER_SKIP_LIMIT, OVER_BUDGET, PACKERS
from context.services.profiles.scoring_profiles import ADR_0040
from memories.models import TenantMemo
from memories.store.readings import Candidate

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SCORING = ProfiledScorer(ADR_0040, ScoringQuestion("", NOW))


class RefusingCounter:
    """Every text here contains its count, because nothing may be tokenized."""

    def count_tokens(self, content: str, model: str) -> int:
        raise AssertionError(f"counted {content!r} for {model}")


class WordCounter:
    """A word is a token."""

    def count_tokens(self, content: str, model: str) -> int:
        return len(content.split())


def found_memory(
    content: str,
    tokens: int,
    similarity: float | None = 0.5,
    pinned: bool = False,
    age_days: float = 0,
    **more: Any,
) -> Candidate:
    given = {
        "id": uuid.uuid4(),
        "version": 1,
        "content": content,
        "pinned": pinned,
        "created_at": NOW - timedelta(days=age_days),
        "usefulness_score": 0.5,
        "confidence": 0.8,
        "retrieval_count": 0,
        "token_counts": {"o200k_base": tokens, "cl100k_base": tokens + 1},
        "similarity": similarity,
        "vector_rank": None,
        "text_rank": None,
        "fused_score": None,
        "valid_from": None,
        "valid_to": None,
        "kind": "fact",
        "partition_path": "",
        "session": "",
        "position": None,
        "holds": frozenset(),
    }
    return Candidate(**{**given, **more})


def section_budget(tokens: int, model: str = "gpt-4o", marker_tokens: int = 3) -> SectionBudget:
    return SectionBudget(tokens, marker_tokens, model, RefusingCounter())


def packed(
    candidates: list[Candidate],
    tokens: int,
    *,
    top_k: int | None = None,
    likeness: NearDuplicates | None = None,
    **how: Any,
) -> Any:
    ranked = rank_candidates(candidates, SCORING, top_k=top_k)
    return pack_memories(
        ranked,
        section_budget(tokens),
        PackingSettings(**how),
        included=IncludedMemories({}, likeness or NearDuplicates({}, 1.0)),
    )


def texts(section: Any) -> list[str]:
    return [block.text for block in section.blocks]


def memo(tokens: int, content: str = "We are a bakery.") -> TenantMemo:
    return TenantMemo(
        tenant_id=uuid.UUID(int=7), version=3, content=content, tokens_o200k_base=tokens, tokens_cl100k_base=tokens
    )


def memo_section(row: TenantMemo, within: SectionBudget) -> Section:
    return fit_whole_blocks([whole_block(row, within)], within)


def test_memo_takes_its_text_and_its_marker() -> None:
    section = memo_section(memo(10), section_budget(13))
    assert [block.tokens for block in section.blocks] == [10]
    assert section.tokens == 13
    assert section.blocks[0].anchor.as_answer() == {"type": "tenant_memo", "id": str(uuid.UUID(int=7)), "version": 3}
    assert section.blocks[0].score is None


def test_memo_that_does_not_fit_is_left_out_and_uses_no_tokens() -> None:
    section = memo_section(memo(10), section_budget(12))
    assert section.blocks == []
    assert section.tokens == 0
    assert [(left.reason, left.tokens) for left in section.omitted] == [(OVER_BUDGET, 10)]


@pytest.mark.parametrize("absent", [memo(0, ""), memo(1, " \n")])
def test_blank_memo_is_no_block(absent: TenantMemo) -> None:
    section = memo_section(absent, section_budget(100))
    assert (section.blocks, section.omitted) == ([], [])


def test_best_memories_come_first() -> None:
    section = packed([found_memory("far", 5, 0.1), found_memory("near", 5, 0.9)], 100)
    assert texts(section) == ["near", "far"]
    assert section.tokens == 16


def test_pinned_memories_come_before_better_ones_and_among_themselves_by_score() -> None:
    candidates = [
        found_memory("best", 5, 1.0),
        found_memory("pinned far", 5, 0.0, pinned=True),
        found_memory("pinned near", 5, 0.6, pinned=True),
    ]
    assert texts(packed(candidates, 100)) == ["pinned near", "pinned far", "best"]


def test_pinned_memory_is_included_instead_of_a_better_one() -> None:
    section = packed([found_memory("best", 20, 1.0), found_memory("pinned", 20, 0.0, pinned=True)], 30)
    assert texts(section) == ["pinned"]
    assert [left.reason for left in section.omitted] == [OVER_BUDGET]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, ["pin b", "pin a", "pin c"]),
        (0.5, ["pin b", "best", "good"]),
        (0.25, ["best", "good", "pin b"]),
        (0.0, ["best", "good", "pin b"]),
    ],
)
def test_pinned_memories_come_first_in_their_share_and_compete_beyond_it(
    packer: str, share: float, expected: list[str]
) -> None:
    candidates = [
        found_memory("best", 20, 1.0),
        found_memory("good", 20, 0.9),
        found_memory("pin a", 20, 0.1, pinned=True),
        found_memory("pin b", 20, 0.2, pinned=True),
        found_memory("pin c", 20, 0.0, pinned=True),
    ]
    section = packed(candidates, 70, packer=packer, pinned_share=share)
    assert texts(section) == expected
    assert section.tokens == 69
    assert {row.outcome for row in section.candidates[3:]} <= {OVER_BUDGET, AFTER_SKIP_LIMIT}
    assert len(section.candidates) == 5


def test_pinned_memories_get_the_whole_budget_if_there_is_nothing_else() -> None:
    candidates = [found_memory(f"pin {n}", 20, n / 10, pinned=True) for n in range(3)]
    assert texts(packed(candidates, 69, pinned_share=0.1, minimum_score=1.0)) == ["pin 2", "pin 1", "pin 0"]


def test_pinned_memory_beyond_its_share_needs_the_minimum_score() -> None:
    candidates = [
        found_memory("best", 20, 1.0),
        found_memory("pin a", 20, 0.2, pinned=True),
        found_memory("pin b", 20, 0.1, pinned=True),
    ]
    section = packed(candidates, 100, pinned_share=0.3, minimum_score=0.7)
    assert texts(section) == ["pin a", "best"]
    assert [left.reason for left in section.omitted] == [BELOW_MINIMUM_SCORE]


@pytest.mark.parametrize(("share", "expected"), [(0.5, ["pin"]), (0.2, ["best"])])
def test_pinned_memory_and_its_near_duplicate_are_not_both_included(share: float, expected: list[str]) -> None:
    best, pin = found_memory("best", 20, 1.0), found_memory("pin", 20, 0.2, pinned=True)
    vectors = dict.fromkeys((best.id, pin.id), np.array([1.0, 0.0]))
    alike = NearDuplicates(vectors, 0.97, lambda _: "the same")
    section = packed([best, pin], 100, pinned_share=share, likeness=alike)
    assert texts(section) == expected
    assert [(left.reason, left.twin) for left in section.omitted] == [
        (EXCLUDED_NEAR_DUPLICATE, section.blocks[0].anchor)
    ]


@given(
    st.lists(st.tuples(st.integers(1, 120), st.floats(0, 1), st.booleans()), max_size=25),
    st.integers(0, 400),
    st.sampled_from(PACKERS),
    st.floats(0, 1),
)
def test_share_of_pinned_memories_leaves_the_rest_of_the_budget_to_the_best(
    drawn: list[tuple[int, float, bool]], tokens: int, packer: str, share: float
) -> None:
    candidates = [found_memory("word " * size, size, alike, pinned) for size, alike, pinned in drawn]
    whole = SectionBudget(tokens, 3, "gpt-4o", WordCounter())
    ranked = rank_candidates(candidates, SCORING)
    section = pack_memories(ranked, whole, PackingSettings(packer=packer, pinned_share=share, is_explained=True))
    assert sum(block.tokens + 3 for block in section.blocks) <= section.tokens <= tokens
    assert {row.anchor.id for row in section.candidates} == {str(one.id) for one in candidates}
    assert len(section.blocks) + len(section.omitted) == len(candidates)
    assert packer == "elastic" or section.optimality["gap"] >= -1e-6
    outcomes = {row.anchor.id: row for row in section.candidates}
    highest = max((row.score for row in outcomes.values()), default=None)
    # Ids decide between equal scores, and ids are random: any of the best may be the one.
    best = [row for row in outcomes.values() if row.score == highest]
    if best and packer != "optimal" and all(0 < row.tokens + 3 <= tokens - int(tokens * share) for row in best):
        assert any(row.outcome == KEPT for row in best)


@given(
    st.lists(st.tuples(st.integers(1, 300), st.floats(0, 1), st.booleans()), max_size=25),
    st.integers(0, 3_000),
    st.floats(0, 1),
    st.booleans(),
)
def test_elastic_packing_excludes_nothing_that_fits_without_saying_why(
    drawn: list[tuple[int, float, bool]], tokens: int, share: float, fills: bool
) -> None:
    candidates = [found_memory(("word " * size).strip(), size, alike, pinned) for size, alike, pinned in drawn]
    whole = SectionBudget(tokens, 3, "gpt-4o", WordCounter())
    packing = PackingSettings(packer="elastic", pinned_share=share, fills_budget=fills)
    section = pack_memories(rank_candidates(candidates, SCORING), whole, packing)
    warning = unused_tokens_warning("memories", section, packing, 3)
    unused = tokens - section.tokens
    fitting = [row for row in section.omitted if min(row.tokens, packing.max_tokens) + 3 <= unused]
    assert (section.tokens <= tokens, len(section.blocks) + len(section.omitted)) == (True, len(candidates))
    if fills:
        assert fitting == []
        assert warning is None or section.omitted == []
    if fitting:
        assert warning is not None
        assert f"{unused:,} of {tokens:,} tokens for memories" in warning.detail


def test_everything_that_fits_in_the_section_is_whole_in_a_filled_elastic_one() -> None:
    candidates = [found_memory(("word " * size).strip(), size, size / 500, size > 200) for size in (50, 150, 250, 350)]
    packing = PackingSettings(packer="elastic", pinned_share=0.1, fills_budget=True)
    ranked, counter = rank_candidates(candidates, SCORING), WordCounter()
    section = pack_memories(ranked, SectionBudget(812, 3, "gpt-4o", counter), packing)
    assert [block.truncated for block in section.blocks] == [False] * 4
    narrow = pack_memories(ranked, SectionBudget(600, 3, "gpt-4o", counter), packing)
    assert sorted(block.truncated for block in narrow.blocks) == [False, False, True, True]
    assert 590 <= sum(block.tokens + 3 for block in narrow.blocks) <= narrow.tokens <= 600


@pytest.mark.parametrize(("model", "factor"), [("gpt-4o", 1.0), ("claude-sonnet-4-6", 1.2), ("claude-opus-4-7", 1.6)])
@pytest.mark.parametrize("tokens", [-5, 0, 60, 300, 2_000])
def test_gate_admits_the_same_pool_for_the_same_budget_in_any_unit_of_the_model(
    model: str, factor: float, tokens: int
) -> None:
    pool = [found_memory(f"memory {n}", 10 + n % 40, 1 - n / 100) for n in range(100)]
    exact, scaled = (
        SectionBudget(tokens, 3, "gpt-4o", WordCounter()),
        SectionBudget(round(tokens * factor), 3, model, WordCounter()),
    )

    def admitted(section_budget: SectionBudget) -> list[object]:
        ranked = rank_candidates(pool, SCORING)
        places = admitted_places([item.memory for item in ranked], section_budget, overfetch_ratio=1.25)
        return [ranked[place].memory["id"] for place in places]

    assert admitted(scaled) == admitted(exact)
    assert len(admitted(exact)) == {-5: 5, 0: 5, 60: 5, 300: 18, 2_000: 79}[tokens]


def test_minimum_score_leaves_out_what_is_below_but_never_a_pinned_memory() -> None:
    candidates = [
        found_memory("good", 5, 1.0),
        found_memory("poor", 5, 0.0, age_days=1000),
        found_memory("pinned poor", 5, 0.0, pinned=True, age_days=1000),
    ]
    section = packed(candidates, 100, minimum_score=0.5)
    assert texts(section) == ["pinned poor", "good"]
    assert [(left.reason, left.tokens) for left in section.omitted] == [(BELOW_MINIMUM_SCORE, 5)]


def test_a_memory_at_the_minimum_score_is_kept() -> None:
    candidate = found_memory("exact", 5, 0.5)
    score = packed([candidate], 100).blocks[0].score
    assert texts(packed([candidate], 100, minimum_score=score)) == ["exact"]


def test_top_k_counts_pinned_memories_and_drops_the_rest() -> None:
    candidates = [found_memory(f"m{n}", 5, n / 10) for n in range(5)] + [found_memory("pin", 5, 0, pinned=True)]
    section = packed(candidates, 1000, top_k=3)
    assert texts(section) == ["pin", "m4", "m3"]
    assert section.omitted == []
    assert len(section.candidates) == 3


def test_every_candidate_is_either_kept_or_left_out_with_its_reason() -> None:
    sizes = [10, 500, 500, 500, 5]
    candidates = [found_memory(f"m{n}", size, 1 - n / 10) for n, size in enumerate(sizes)]
    section = packed(candidates, 60)
    assert [candidate.outcome for candidate in section.candidates] == [KEPT, *[OVER_BUDGET] * 3, AFTER_SKIP_LIMIT]
    assert [left.tokens for left in section.omitted] == sizes[1:]
    assert all(left.score is not None for left in section.omitted)


def test_score_breakdown_contains_the_five_unweighted_components() -> None:
    (block,) = packed([found_memory("one", 5, 0.25)], 100).blocks
    assert block.score_breakdown == {
        "relevance": 0.25,
        "recency": 1.0,
        "usefulness": 0.5,
        "confidence": 0.8,
        "frequency": 0.0,
    }
    assert block.score == pytest.approx(0.4 * 0.25 + 0.25 + 0.2 * 0.5 + 0.1 * 0.8)


def test_unknown_similarity_counts_as_none_at_all() -> None:
    (block,) = packed([found_memory("one", 5, None)], 100).blocks
    assert block.score_breakdown is not None
    assert block.score_breakdown["relevance"] == 0


def test_counts_of_the_models_own_encoding_are_used() -> None:
    candidate = found_memory("one", 10)
    ranked = rank_candidates([candidate], SCORING)
    section = pack_memories(ranked, section_budget(100, "gpt-4"), PackingSettings())
    assert [block.tokens for block in section.blocks] == [11]


def test_counts_of_a_model_without_an_exact_encoding_carry_its_safety_factor() -> None:
    whole = section_budget(100, "claude-sonnet-4-5")
    section = pack_memories(
        rank_candidates([found_memory("one", 100)], SCORING),
        whole,
        PackingSettings(),
    )
    assert section.blocks == []
    assert section.omitted[0].tokens > 100


@pytest.mark.parametrize("tokens", [0, -40])
def test_budget_of_zero_keeps_nothing_and_names_every_candidate(tokens: int) -> None:
    section = packed([found_memory("one", 5), found_memory("two", 5)], tokens)
    assert section.blocks == []
    assert {left.reason for left in section.omitted} == {OVER_BUDGET}


def test_memory_is_one_object_from_retrieval_to_packing() -> None:
    candidates = [found_memory(f"m{n}", 5, n / 10) for n in range(3)]
    ranked = rank_candidates(candidates, SCORING)
    assert {id(item.memory) for item in ranked} == {id(vars(candidate)) for candidate in candidates}, "no copies"
    packed = PackingSettings().packer_for(section_budget(100)).pack(ranked, 100, "gpt-4o")
    assert [id(item.memory) for item in packed.memories] == [id(item.memory) for item in ranked]


def test_candidate_is_the_mapping_that_scorers_read() -> None:
    candidate = found_memory("one", 5)
    assert dict(candidate) == vars(candidate)
    assert (candidate["content"], candidate.get("session"), candidate.get("absent", 1)) == ("one", "", 1)
    assert "absent" not in candidate
    with pytest.raises(KeyError):
        candidate["absent"]
