"""The bar of a window is full, counts every token once, and marks the parts that are not to scale."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.profiles.bars import REST, WORDS, timed_steps, window_bar

blocks = st.lists(
    st.tuples(st.sampled_from(["tenant_memo", "partition_summary", "memory", "linked_memory"]), st.integers(1, 400)),
    max_size=12,
)


@given(blocks, st.integers(0, 60), st.integers(0, 4_000), st.sampled_from([8_192, 128_000]), st.integers(0, 900))
def test_bar_is_full_and_counts_every_token(
    kept: list[tuple[str, int]], fence: int, free: int, window: int, directive: int
) -> None:
    used = sum(tokens for _, tokens in kept) + fence
    bar = window_bar(
        kept, used=used, max_tokens=used + free, window=window, reserve=500, safety=100, directive=directive
    )
    assert sum(part.tokens for part in bar.parts) == window + bar.lacking
    assert bar.parts[-1].start_percent + bar.parts[-1].width_percent == pytest.approx(100, abs=0.1) or not used + free
    for left, right in pairwise(bar.parts):
        assert right.start_percent >= left.start_percent + left.width_percent - 0.01
    assert {part.name for part in bar.parts} <= set(WORDS)


def test_large_budget_is_drawn_to_scale_and_a_small_one_is_not() -> None:
    large = window_bar([("memory", 4_000)], used=4_000, max_tokens=5_000, window=8_192, reserve=1_000)
    assert large.is_to_scale
    widths = {part.name: part.width_percent / part.tokens for part in large.parts}
    assert max(widths.values()) == pytest.approx(min(widths.values()), rel=0.01)
    small = window_bar([("memory", 400)], used=400, max_tokens=600, window=128_000, reserve=4_096)
    assert not small.is_to_scale
    inside = [part for part in small.parts if not part.is_outside]
    assert sum(part.width_percent for part in inside) > 70
    assert [round(part.share, 3) for part in inside] == [0.667, 0.333]


def test_steps_follow_each_other_and_sum_to_the_whole() -> None:
    steps = timed_steps({"resolve": 5.0, "retrieve": 20.0, "embed": 4.0, "read": 6.0, "pack": 0.01, "total": 30.0})
    assert [(step.name, step.milliseconds) for step in steps] == [
        ("Profile, memo, summaries", 5.0),
        ("Embed query", 4.0),
        ("Read candidates", 6.0),
        ("Rest of the search", 10.0),
        (REST, pytest.approx(4.99)),
    ]
    assert steps[-1].start_percent + steps[-1].width_percent == pytest.approx(100, abs=0.01)
    assert timed_steps({}) == []
