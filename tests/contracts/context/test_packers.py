"""The contract of every packer, over generated inputs (ADR-0041 to ADR-0043).

`PACKER_CASES` is the total number of generated inputs, 1,400 by default; `make packers` sets 100,000.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from functools import partial
from typing import Any

import pytest
import regex
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from context.services.assembly.model_catalog import scaled_count
from context.services.packer import (
    AFTER_SKIP_LIMIT,
    OVER_BUDGET,
    ElasticPacker,
    GreedyKnapsackPacker,
    OptimalPacker,
    PackedMemories,
)
from context.services.packer.results import in_score_order, stored_tokens
from context.services.scorer import ScoredMemory

CASES = int(os.environ.get("PACKER_CASES", "1400"))
PACKERS: dict[str, Callable[[Any], Any]] = {
    "greedy": GreedyKnapsackPacker,
    "optimal": OptimalPacker,
    "optimal, 20 nodes": partial(OptimalPacker, work_limit=20),
    "elastic, characters": ElasticPacker,
    "elastic, published": partial(ElasticPacker, final_pass=False, target_items=3, min_item=20, max_item=60),
    "elastic, tokens": partial(ElasticPacker, unit="tokens", min_item=5, max_item=12),
    "elastic, tiny": partial(ElasticPacker, unit="tokens", target_items=50, min_item=1, max_item=2),
}

#: Pieces of text, by script and by what goes wrong with them when cut at any code point.
PIECES = [
    "tea ",
    "a long-winded sentence about meetings, ",
    "x",
    "\n",
    "\r\n",
    " ",
    "e\u0301",
    "o\u0302\u0323",
    "\u0301",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\U0001f44d\U0001f3fd",
    "\U0001f1e9\U0001f1ea",
    "\u65e5\u672c\u8a9e",
    "\ud55c\uad6d\uc5b4",
    "\u1112\u1161\u11ab",
    "\u0915\u094d\u0937\u093f",
    "\u0600 ",
    "\u200b",
    "z" * 90,
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.sampled_from(["", " ", "\n\t "])
SCORES = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.integers(0, 10**6).map(lambda millionths: millionths / 1e6)
#: Stored token counts: none, the right one, zero, or more than any budget.
STORED = st.sampled_from(["absent", "counted", "zero", 10**9, 2**70])
ROWS = st.lists(st.tuples(TEXTS, SCORES, STORED), max_size=10)
BUDGETS = st.integers(-3, 60) | st.integers(0, 900) | st.sampled_from([10**6, 2**71])


class ByteCounter:
    """A tokenizer of three bytes a token, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count_tokens(self, content: str, model: str) -> int:
        self.asked.append(content)
        return bytes_over_three(content)


def bytes_over_three(content: str) -> int:
    return -(-len(content.encode()) // 3)


def scored(name: object, score: float, content: str, stored: Any = "absent") -> ScoredMemory:
    counts = {"absent": {}, "counted": {"o200k_base": bytes_over_three(content)}, "zero": {"o200k_base": 0}}
    memory = {"id": name, "content": content, "token_counts": counts.get(stored, {"o200k_base": stored})}
    return ScoredMemory(memory, score, 0.0, 0.0, 0.0, 0.0, 0.0)


def packed_by(name: str, rows: list[ScoredMemory], budget: int) -> PackedMemories:
    packed: PackedMemories = PACKERS[name](ByteCounter()).pack(rows, budget)
    return packed


def ids(packed: PackedMemories) -> list[Any]:
    return [one.memory["id"] for one in packed.memories]


def check_contract(name: str, rows: list[ScoredMemory], budget: int, packed: PackedMemories) -> None:
    candidates = in_score_order(rows)
    if name.startswith("elastic"):
        candidates = [one for one in candidates if one.memory["content"].strip()]
    order = [one.memory["id"] for one in candidates]
    left_out = [one.id for one in packed.omitted]
    # nothing invented, twice or lost; both lists in score order
    assert ids(packed) == [each for each in order if each in set(ids(packed))]
    assert left_out == [each for each in order if each not in set(ids(packed))]
    assert all(any(one is row for row in rows) for one in packed.memories)
    # never over the budget, and all totals are sums
    assert packed.total_tokens <= max(budget, 0)
    assert packed.total_tokens == sum(lengths_of(packed))
    assert packed.total_score == round(math.fsum(one.composite_score for one in packed.memories), 6)
    assert packed.skipped_count == len(left_out)
    assert packed.was_budget_reached == bool(left_out)
    assert {one.reason for one in packed.omitted} <= {OVER_BUDGET, AFTER_SKIP_LIMIT}
    # deterministic
    assert packed == packed_by(name, rows, budget)


def lengths_of(packed: PackedMemories) -> list[int]:
    if packed.allotted is not None:
        return list(packed.allotted.values())
    stored = [stored_tokens(one, "gpt-4o") for one in packed.memories]
    return [
        bytes_over_three(one.memory["content"]) if tokens is None else tokens
        for one, tokens in zip(packed.memories, stored, strict=True)
    ]


def check_snippets(name: str, packed: PackedMemories) -> None:
    assert packed.allotted is not None
    assert packed.snippets is not None
    assert list(packed.allotted) == list(packed.snippets) == ids(packed)
    for one in packed.memories:
        text, snippet = one.memory["content"].strip(), packed.snippets[one.memory["id"]]
        allotted = packed.allotted[one.memory["id"]]
        if snippet != text:
            assert not snippet or snippet.endswith("\u2026")
            kept = snippet[:-1]
            assert text.startswith(kept)
            assert len(kept) in {0, *(match.end() for match in regex.finditer(r"\X", text))}
            assert kept == kept.rstrip() or regex.fullmatch(r".*\p{Prepended_Concatenation_Mark}\s", kept, regex.DOTALL)
        if "tokens" in name or "tiny" in name:
            # a stored count is used for the whole text
            stored = one.memory["token_counts"].get("o200k_base", bytes_over_three(text))
            assert bytes_over_three(snippet) <= allotted or (snippet == text and stored <= allotted)
        else:
            assert len(snippet) <= allotted


@pytest.mark.parametrize("name", PACKERS)
@settings(max_examples=CASES // len(PACKERS), suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS, budget=BUDGETS, repeated=st.booleans())
@example(rows=[], budget=10, repeated=False)
@example(rows=[("", 0.5, "absent"), ("  ", 0.5, "zero")], budget=10, repeated=False)
@example(rows=[("x", 0.5, "absent")], budget=1, repeated=False)
@example(rows=[("tea " * 40, 0.5, "zero")] * 5, budget=10, repeated=False)
@example(rows=[("tea " * 40, 0.5, 2**70)] * 5, budget=2**71, repeated=False)
def test_every_packer_fulfils_the_contract(name, rows, budget, repeated):
    made = [
        scored(place // 2 if repeated else place, score, text, stored)
        for place, (text, score, stored) in enumerate(rows)
    ]
    packed = packed_by(name, made, budget)
    check_contract(name, made, budget, packed)
    if name.startswith("elastic"):
        check_snippets(name, packed)
    if name.startswith("optimal"):
        assert packed.upper_bound >= packed.total_score
        assert packed.optimal_score in (None, packed.total_score)
        assert packed.upper_bound >= packed_by("greedy", made, budget).total_score


@pytest.mark.parametrize("name", PACKERS)
class TestEveryPacker:
    def test_result_is_frozen(self, name):
        with pytest.raises(FrozenInstanceError):
            packed_by(name, [], 10).total_tokens = 1

    def test_nothing_to_pack(self, name):
        packed = packed_by(name, [], 100)
        assert (ids(packed), packed.total_tokens, packed.total_score, packed.skipped_count) == ([], 0, 0.0, 0)
        assert not packed.was_budget_reached
        assert list(packed.omitted) == []

    @pytest.mark.parametrize("budget", [0, -5])
    def test_without_a_budget_nothing_is_packed_and_nothing_counted(self, name, budget):
        counter = ByteCounter()
        packed = PACKERS[name](counter).pack([scored(n, 0.5, "tea", "zero") for n in range(6)], budget)
        assert (ids(packed), packed.skipped_count, packed.was_budget_reached) == ([], 6, True)
        assert counter.asked == []

    def test_a_repeated_id_is_kept_once(self, name):
        rows = [scored("a", 0.9, "tea"), scored("a", 0.8, "tea"), scored("b", 0.7, "tea")]
        packed = packed_by(name, rows, 100)
        assert ids(packed) == ["a", "b"]
        assert packed.memories[0] is rows[0]
        assert packed.total_tokens == (6 if "characters" in name or "published" in name else 2)

    def test_input_in_any_order_is_packed_in_score_order(self, name):
        assert ids(packed_by(name, [scored(n, n / 10, "tea") for n in (1, 3, 2)], 100)) == [3, 2, 1]

    def test_equal_scores_keep_the_order_they_came_in(self, name):
        assert ids(packed_by(name, [scored(n, 0.5, "tea") for n in "zay"], 100)) == ["z", "a", "y"]


COUNTING = [name for name in PACKERS if name not in ("elastic, characters", "elastic, published")]


@pytest.mark.parametrize("name", COUNTING)
class TestEveryPackerThatCountsTokens:
    def test_stored_count_of_the_models_encoding_is_used_and_nothing_is_counted(self, name):
        counter = ByteCounter()
        memory = {"id": "a", "content": "tea", "token_counts": {"o200k_base": 2, "cl100k_base": 1}}
        packer, rows = PACKERS[name](counter), [ScoredMemory(memory, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0)]
        assert packer.pack(rows, 100).total_tokens == 2
        assert packer.pack(rows, 100, model="gpt-4").total_tokens == 1
        if name != "elastic, tiny":
            scaled = scaled_count(2, "claude-haiku-4-5")
            assert packer.pack(rows, 100, model="claude-haiku-4-5").total_tokens == scaled > 2
        assert counter.asked == []

    @pytest.mark.parametrize("counts", [None, {}, {"cl100k_base": 3}, {"o200k_base": None}])
    def test_only_a_missing_count_is_computed(self, name, counts):
        counter = ByteCounter()
        rows = [ScoredMemory({"id": "a", "content": "tea", "token_counts": counts}, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0)]
        assert PACKERS[name](counter).pack(rows, 100).total_tokens == 1
        assert counter.asked == ["tea"]

    def test_negative_count_is_refused(self, name):
        with pytest.raises(ValueError, match="token_counts must not be negative"):
            packed_by(name, [scored("a", 0.9, "tea", -1)], 100)
