"""Bars begin at 0, have no gaps, and end at their value."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.profiles.bars import PATTERNS, budget_parts, score_parts
from context.services.profiles.scoring_profiles import ADR_0040

SCORE_WEIGHTS = ADR_0040.weights

shares = st.floats(0, 1, allow_nan=False)


@given(st.fixed_dictionaries(dict.fromkeys(SCORE_WEIGHTS, shares)))
def test_widths_of_a_score_sum_to_the_composite(breakdown: dict[str, float]) -> None:
    parts = score_parts(breakdown, None, SCORE_WEIGHTS)
    composite = sum(weight * breakdown[name] for name, weight in SCORE_WEIGHTS.items())
    assert sum(part.width_percent for part in parts) == pytest.approx(100 * composite, abs=0.01)
    assert sum(part.weighted for part in parts) == pytest.approx(composite)


@given(st.fixed_dictionaries(dict.fromkeys(SCORE_WEIGHTS, shares)))
def test_components_of_a_score_are_drawn_side_by_side(breakdown: dict[str, float]) -> None:
    parts = score_parts(breakdown, None, SCORE_WEIGHTS)
    assert parts[0].start_percent == 0
    for left, right in pairwise(parts):
        assert right.start_percent == pytest.approx(left.start_percent + left.width_percent, abs=0.01)


def test_every_part_but_the_first_has_a_pattern_of_its_own() -> None:
    patterns = [PATTERNS.get(name, "") for name in SCORE_WEIGHTS]
    assert len(set(patterns)) == len(patterns)


@given(
    st.lists(st.tuples(st.sampled_from(["tenant_memo", "memory", "linked_memory"]), st.integers(1, 500)), max_size=20),
    st.integers(0, 100),
    st.integers(0, 5000),
)
def test_budget_bar_is_full_and_counts_every_token(blocks: list[tuple[str, int]], fence: int, free: int) -> None:
    used = sum(tokens for _, tokens in blocks) + fence
    parts = budget_parts(blocks, used=used, max_tokens=used + free)
    assert sum(part.value for part in parts) == used + free
    if used + free:
        assert sum(part.width_percent for part in parts) == pytest.approx(100, abs=0.05)


def test_budget_bar_names_its_parts_in_reading_order() -> None:
    parts = budget_parts([("memory", 50), ("tenant_memo", 20)], used=80, max_tokens=100)
    assert [(part.name, part.value) for part in parts] == [("memo", 20), ("memories", 50), ("fence", 10), ("free", 20)]
