"""Packing by shortening (ADR-0042): the length of each text; for the cutting itself, see test_snippets.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.budget import BudgetCalculator
from context.services.packer import ElasticPacker, OmittedMemory
from context.services.packer.elastic import MAX_ITEM, MIN_ITEM, TARGET_ITEMS, common_length
from context.services.scorer import ScoredMemory
from memories.services.tokens import count_tokens

SENTENCE = "Alex prefers short meetings in the morning, with tea and without slides. "


class NoCounter:
    def count_tokens(self, content, model):
        raise AssertionError(f"counted {content!r}")


class RecordingCalculator(BudgetCalculator):
    def __init__(self):
        super().__init__()
        self.asked = []

    def count_tokens(self, content, model="gpt-4o"):
        self.asked.append(content)
        return super().count_tokens(content, model)


def rows_of(*texts):
    return [
        ScoredMemory({"id": place, "content": text}, 1 - place / 100, 0.0, 0.0, 0.0, 0.0, 0.0)
        for place, text in enumerate(texts)
    ]


def in_characters(*texts, budget=None, **options):
    return ElasticPacker(NoCounter(), **options).pack(rows_of(*texts), budget)


def allotted(lengths, budget, **options):
    return in_characters(*["x" * length for length in lengths], budget=budget, **options).allotted


def test_the_numbers_are_those_of_the_decision():
    assert (TARGET_ITEMS, MIN_ITEM, MAX_ITEM) == (6, 80, 360)


def test_without_a_budget_of_its_own_1800_characters_are_shared():
    packed = in_characters(*["x" * 1_000] * 20)
    assert packed.allotted == {0: 253, 1: 253, 2: 253, 3: 253, 4: 253, 5: 360}
    assert packed.total_tokens == 1_625 <= 1_800


def test_in_tokens_that_is_a_quarter():
    rows = rows_of(SENTENCE * 50, SENTENCE * 50)
    packer = ElasticPacker(BudgetCalculator(), unit="tokens")
    assert packer.pack(rows, None) == packer.pack(rows, 1_800 // 4)


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("name", ["target_items", "min_item", "max_item"])
def test_a_number_that_makes_no_sense_is_its_default(name, value):
    lengths = [500, 300, 90, 700, 20, 60, 400, 1_000]
    assert allotted(lengths, 900, **{name: value}) == allotted(lengths, 900)


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="unit must be one of characters, tokens"):
        ElasticPacker(NoCounter(), unit="words")


#: lengths, budget, options -> allotments
GOLDEN = [
    # phase 1: the capped length, else the minimum, else nothing
    ([100, 500, 400], 560, {}, {0: 100, 1: 360, 2: 80 + 20 // 3}),
    ([360, 90, 30], 400, {"target_items": 2}, {0: 360, 2: 30}),
    # phase 2: fewer than aimed at, so all shrink and the rest get their turn, phase 3 hands out what remains
    ([500] * 5, 800, {"target_items": 5, "min_item": 100, "max_item": 500}, {0: 100, 1: 100, 2: 100, 3: 100, 4: 400}),
    ([200] * 6, 600, {"min_item": 50, "max_item": 200}, {0: 50, 1: 50, 2: 50, 3: 200, 4: 200, 5: 50}),
    # all are taken: nothing shrinks although fewer than aimed at
    ([386, 38], 430, {"max_item": 500}, {0: 386, 1: 38}),
    # a short one is below the minimum of phase 2; only the final pass takes it
    ([200, 110, 30], 310, {"min_item": 100, "max_item": 200, "final_pass": False}, {0: 155, 1: 110}),
    ([200, 110, 30], 310, {"min_item": 100, "max_item": 200}, {0: 155, 1: 110, 2: 30}),
    # not beyond the target
    ([200, 110, 30], 310, {"min_item": 100, "max_item": 200, "target_items": 2}, {0: 200, 1: 110}),
    # one that passed in phase 1 has its turn in phase 2, before those behind it
    ([300, 300, 200, 40], 340, {"min_item": 100, "max_item": 300}, {0: 100, 1: 200, 3: 40}),
]


@pytest.mark.parametrize(("lengths", "budget", "options", "expected"), GOLDEN)
def test_golden_table(lengths, budget, options, expected):
    assert allotted(lengths, budget, **options) == expected


def test_blank_memories_and_repeated_ids_take_no_part():
    rows = rows_of("tea", "  \n", "", "more tea")
    rows.append(ScoredMemory({"id": 0, "content": "other"}, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0))
    packed = ElasticPacker(NoCounter()).pack(rows, 100)
    assert packed.snippets == {0: "tea", 3: "more tea"}
    assert (packed.skipped_count, packed.was_budget_reached) == (0, False)


def test_text_is_trimmed_before_it_is_measured():
    packed = in_characters("  tea \n")
    assert (packed.allotted, packed.snippets) == ({0: 3}, {0: "tea"})


def test_left_out_ones_are_listed_with_their_lengths():
    packed = in_characters("x" * 300, "y" * 300, "z" * 200, budget=120)
    assert packed.allotted == {0: 120}
    assert packed.omitted == [OmittedMemory(1, "over_budget", 300), OmittedMemory(2, "over_budget", 200)]
    assert packed.was_budget_reached


def test_shortened_texts_end_at_a_word_within_their_characters():
    packed = in_characters(SENTENCE * 9, SENTENCE * 9, budget=300)
    assert packed.allotted == {0: 150, 1: 150}
    assert packed.snippets[0] == packed.snippets[1] == f"{SENTENCE * 2}".strip() + "…"


class TestInTokens:
    def test_lengths_are_the_tokenizers_own(self):
        calculator = RecordingCalculator()
        packed = ElasticPacker(calculator, unit="tokens", min_item=20, max_item=90).pack(
            rows_of(SENTENCE * 40, SENTENCE * 3, "日本語のとても長い文章。" * 30), 150
        )
        assert packed.total_tokens <= 150
        for one, snippet in packed.snippets.items():
            assert 0.75 * packed.allotted[one] <= count_tokens(snippet) <= packed.allotted[one]

    def test_few_counts_are_requested(self):
        calculator = RecordingCalculator()
        rows = rows_of(*[f"{number} {SENTENCE * 40}" for number in range(6)])
        for row in rows:
            row.memory["token_counts"] = {"o200k_base": count_tokens(row.memory["content"].strip())}
            row.memory["content"] = row.memory["content"].strip()
        packed = ElasticPacker(calculator, unit="tokens", min_item=20, max_item=90).pack(rows, 540)
        assert packed.total_tokens == 540
        assert len(calculator.asked) <= 3 * 6

    def test_a_text_that_is_not_cut_is_not_counted_again(self):
        rows = rows_of("tea")
        rows[0].memory["token_counts"] = {"o200k_base": 1}
        assert ElasticPacker(NoCounter(), unit="tokens").pack(rows, 10).snippets == {0: "tea"}

    def test_outer_white_space_has_no_stored_count(self):
        calculator = RecordingCalculator()
        rows = rows_of(" Hallo ")
        rows[0].memory["token_counts"] = {"o200k_base": 1}
        packed = ElasticPacker(calculator, unit="tokens").pack(rows, 10)
        assert packed.allotted == {0: count_tokens("Hallo")}
        assert calculator.asked == ["Hallo"]


def test_filled_budget_takes_more_than_the_target_at_the_cap_and_then_at_the_minimum():
    assert allotted([500] * 12, 1_000, fills_budget=False, target_items=2, max_item=100) == {0: 100, 1: 100}
    filled = allotted([500] * 12, 1_000, fills_budget=True, target_items=2, max_item=100, min_item=40)
    assert filled == dict.fromkeys(range(10), 100)
    assert allotted([500] * 3, 250, fills_budget=True, target_items=2, max_item=100, min_item=40) == {
        0: 100,
        1: 100,
        2: 50,
    }


def test_filled_budget_divides_what_remains_until_it_is_used():
    options = {"fills_budget": True, "target_items": 2, "min_item": 50, "max_item": 110}
    assert allotted([300, 300, 300, 52], 320, **options) == {0: 110, 1: 110, 2: 50, 3: 50}
    assert allotted([300, 300, 300, 52], 325, **options) == {0: 110, 1: 110, 2: 53, 3: 52}


@given(
    st.lists(st.integers(1, 200), max_size=30),
    st.integers(-5, 2_000),
    st.integers(1, 40),
    st.integers(1, 60),
    st.integers(0, 120),
)
def test_filled_budget_leaves_out_only_what_does_not_fit(lengths, budget, target, min_item, more):
    max_item = min_item + more
    shares = allotted(lengths, budget, fills_budget=True, target_items=target, min_item=min_item, max_item=max_item)
    unused = max(budget, 0) - sum(shares.values())
    assert unused >= 0
    for place, length in enumerate(lengths):
        if place in shares:
            assert shares[place] == min(length, max_item) or unused == 0
        else:
            assert min(length, max_item) > unused


@given(st.lists(st.integers(1, 200), max_size=30), st.integers(0, 3_000))
def test_common_length_is_the_greatest_at_which_all_fit(lengths, budget):
    limit = common_length(lengths, budget)
    if limit is None:
        assert sum(lengths) <= budget
    else:
        assert sum(min(length, limit) for length in lengths) <= budget
        assert sum(min(length, limit + 1) for length in lengths) > budget
