"""The greedy packer's own rules (ADR-0041); tests/contracts/context/test_packers.py tests those of every packer."""

import pytest

from context.services.packer import MAX_CONSECUTIVE_SKIPS, GreedyKnapsackPacker, OmittedMemory, PackedMemories
from context.services.scorer import ScoredMemory


class RecordingCalculator:
    """Counts a text that spells its own token count, and records every call."""

    def __init__(self):
        self.calls = []

    def count_tokens(self, content, model):
        self.calls.append((content, model))
        return int(content)


def scored(name, score, tokens, **extra):
    return ScoredMemory({"id": name, "content": str(tokens), **extra}, score, 0.0, 0.0, 0.0, 0.0, 0.0)


def items(*rows):
    return [scored(*row) for row in rows]


def ids(packed: PackedMemories):
    return [one.memory["id"] for one in packed.memories]


def greedy(rows, budget, **options):
    return GreedyKnapsackPacker(RecordingCalculator()).pack(rows, budget, **options)


#: rows (id, score, tokens), budget -> kept, tokens, score, skipped, budget reached
GOLDEN = [
    ([("a", 0.9, 50), ("b", 0.8, 500), ("c", 0.7, 40)], 100, (["a", "c"], 90, 1.6, 1, True)),
    ([("a", 0.9, 60)], 60, (["a"], 60, 0.9, 0, False)),
    ([("a", 0.9, 61)], 60, ([], 0, 0.0, 1, True)),
    ([("z", 0.9, 0), ("a", 0.5, 60)], 60, (["z", "a"], 60, 1.4, 0, False)),
    ([("a", 0.9, 10), ("b", 0.8, 99), ("c", 0.7, 99), ("d", 0.6, 99), ("e", 0.5, 5)], 60, (["a"], 10, 0.9, 4, True)),
    (
        [("a", 0.9, 10), ("b", 0.8, 99), ("c", 0.7, 99), ("e", 0.5, 5), ("d", 0.4, 99), ("f", 0.3, 99), ("g", 0.2, 5)],
        60,
        (["a", "e", "g"], 20, 1.6, 4, True),
    ),
    ([("a", 0.9, 5), ("b", 0.8, 0)], 0, ([], 0, 0.0, 2, True)),
    ([("a", 0.9, 5)], -5, ([], 0, 0.0, 1, True)),
    ([("a", 0.1, 1), ("b", 0.2, 1), ("c", 0.3, 1)], 2, (["c", "b"], 2, 0.5, 1, True)),
]


@pytest.mark.parametrize(("rows", "budget", "expected"), GOLDEN)
def test_golden_table(rows, budget, expected):
    packed = greedy(items(*rows), budget)
    assert (
        ids(packed),
        packed.total_tokens,
        packed.total_score,
        packed.skipped_count,
        packed.was_budget_reached,
    ) == expected


def test_packer_stops_after_three_consecutive_skips():
    assert MAX_CONSECUTIVE_SKIPS == 3
    calculator = RecordingCalculator()
    rows = items(("a", 0.9, 10), ("b", 0.8, 99), ("c", 0.7, 98), ("d", 0.6, 97), ("e", 0.5, 5), ("f", 0.4, 6))
    packed = GreedyKnapsackPacker(calculator).pack(rows, 60)
    assert ids(packed) == ["a"]
    assert [content for content, _ in calculator.calls] == ["10", "99", "98", "97"]


def test_a_take_resets_the_misses():
    rows = [(f"{n}", 1 - n / 100, tokens) for n, tokens in enumerate([99, 99, 5, 99, 99, 5, 99, 99, 5])]
    assert ids(greedy(items(*rows), 60)) == ["2", "5", "8"]


def test_omitted_contains_id_reason_and_tokens():
    rows = items(("a", 0.9, 10), ("b", 0.8, 99), ("c", 0.7, 98), ("d", 0.6, 97), ("e", 0.5, 5))
    rows.append(scored("f", 0.4, 6, token_counts={"o200k_base": 6}))
    assert list(greedy(rows, 60).omitted) == [
        OmittedMemory("b", "over_budget", 99),
        OmittedMemory("c", "over_budget", 98),
        OmittedMemory("d", "over_budget", 97),
        OmittedMemory("e", "after_skip_limit", None),
        OmittedMemory("f", "after_skip_limit", 6),
    ]


@pytest.mark.parametrize("budget", [0, -1])
def test_without_a_budget_nothing_is_counted(budget):
    calculator = RecordingCalculator()
    packed = GreedyKnapsackPacker(calculator).pack(items(*[(n, 0.5, 0) for n in range(6)]), budget)
    assert calculator.calls == []
    assert packed.skipped_count == 6
    assert packed.was_budget_reached
    assert {(one.reason, one.tokens) for one in packed.omitted} == {("over_budget", None)}


def test_greedy_leaves_the_fields_of_other_packers_empty():
    packed = greedy(items(("a", 0.9, 10)), 60)
    assert (packed.allotted, packed.snippets, packed.optimal_score, packed.upper_bound) == (None, None, None, None)


def test_equal_scores_keep_the_scorers_order():
    assert ids(greedy(items(("z", 0.5, 1), ("a", 0.5, 1)), 10)) == ["z", "a"]
