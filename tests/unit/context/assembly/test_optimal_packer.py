"""The optimal packer's own rules (ADR-0043); the solver is tested in test_knapsack.py."""

import pytest

from benchmarks import hard_knapsacks
from context.services.packer import GreedyKnapsackPacker, OmittedMemory, OptimalPacker
from context.services.scorer import ScoredMemory


class SpelledCount:
    """Counts a text that spells its own token count."""

    def count_tokens(self, content, model):
        return int(content)


def rows_of(*pairs):
    return [
        ScoredMemory({"id": place, "content": str(tokens)}, score, 0.0, 0.0, 0.0, 0.0, 0.0)
        for place, (score, tokens) in enumerate(pairs)
    ]


def optimal(*pairs, budget, **options):
    return OptimalPacker(SpelledCount(), **options).pack(rows_of(*pairs), budget)


def ids(packed):
    return [one.memory["id"] for one in packed.memories]


def test_the_best_total_wins_over_the_best_memory():
    packed = optimal((0.9, 60), (0.8, 50), (0.7, 50), budget=100)
    assert ids(packed) == [1, 2]
    assert (packed.total_tokens, packed.total_score) == (100, 1.5)
    assert packed.total_score == packed.optimal_score == packed.upper_bound
    assert packed.omitted == [OmittedMemory(0, "over_budget", 60)]
    assert packed.was_budget_reached


def test_kept_memories_are_in_score_order():
    assert ids(optimal((0.1, 5), (0.9, 5), (0.5, 5), budget=15)) == [1, 2, 0]


def test_memories_without_tokens_are_always_kept():
    packed = optimal((0.2, 0), (0.9, 10), (0.0, 0), budget=1)
    assert ids(packed) == [0, 2]
    assert packed.optimal_score == 0.2


def test_a_score_of_zero_is_kept_where_it_still_fits():
    packed = optimal((0.0, 4), (0.5, 6), (0.0, 3), (0.0, 1), budget=10)
    assert ids(packed) == [1, 0]
    packed = optimal((0.5, 6), (0.0, 5), (0.0, 3), (0.0, 1), budget=10)
    assert ids(packed) == [0, 2, 3]
    assert packed.total_tokens == 10


def test_a_negative_score_is_never_kept():
    packed = optimal((0.5, 1), (-0.1, 1), (-0.1, 0), budget=10)
    assert ids(packed) == [0]


@pytest.mark.parametrize("budget", [0, -1])
def test_without_a_budget_the_optimum_is_nothing(budget):
    packed = optimal((0.5, 0), budget=budget)
    assert (ids(packed), packed.optimal_score, packed.upper_bound) == ([], 0.0, 0.0)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_not_a_number_is_refused(score):
    with pytest.raises(ValueError, match=r"composite_score must be finite \(memory 0\)"):
        optimal((score, 1), budget=5)


def test_a_negative_work_limit_is_refused():
    with pytest.raises(ValueError, match="work_limit must not be negative"):
        OptimalPacker(SpelledCount(), work_limit=-1)


def test_beyond_the_work_limit_the_bound_on_better_selections_is_reported():
    instance = hard_knapsacks.make("circle", 200, seed=3)
    rows = rows_of(*((score / 1e6, tokens) for score, tokens in zip(instance.scores, instance.tokens, strict=True)))
    best = OptimalPacker(SpelledCount()).pack(rows, 20_000)
    limited = OptimalPacker(SpelledCount(), work_limit=100).pack(rows, 20_000)
    assert best.optimal_score == best.upper_bound == best.total_score
    assert limited.optimal_score is None
    assert limited.total_score <= best.total_score < limited.upper_bound
    assert limited.total_score >= GreedyKnapsackPacker(SpelledCount()).pack(rows, 20_000).total_score


def test_numbers_no_budget_has_are_packed_with_a_bound():
    packed = optimal((0.5, 2**70), (0.4, 2**69), (0.3, 2**69), budget=2**70)
    assert packed.total_tokens <= 2**70
    assert packed.total_score <= 0.7 <= packed.upper_bound
