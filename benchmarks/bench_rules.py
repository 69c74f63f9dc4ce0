"""Times the pure rules on this machine: `python -m benchmarks.bench_rules`.

Prints for each rule the median and the 99th percentile of one call, and, where a mark was set for it, the mark and the
median's share of it. Exits with 1 when a median is over its mark.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from statistics import median, quantiles
from types import SimpleNamespace
from typing import Any

from context.services.ordering import order_items
from context.services.packer import GreedyKnapsackPacker
from context.services.rendering import RENDER_STYLES, render_context
from context.services.scorer import MemoryScorer
from memories.services.search.fusion import gate_by_tokens, reciprocal_rank_fusion
from memories.services.tokens import count_tokens, token_counts

BENCHMARK_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_WORDS = (
    "alex",
    "prefers",
    "short",
    "morning",
    "meetings",
    "about",
    "the",
    "budget",
    "and",
    "tea",
    "with",
    "lemon",
    "soon",
)


@dataclass(frozen=True)
class RuleCase:
    """One timed call; `mark_ms` is what its median must not exceed."""

    name: str
    call: Callable[[], object]
    rounds: int
    mark_ms: float | None = None


class NoCalculator:
    """The packer finds stored counts; being asked is a fault of the benchmark."""

    def count_tokens(self, content: str, model: str) -> int:
        raise AssertionError(f"counted {content!r} for {model}")


def make_memories(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """`count` memories of 6 to 60 words with every number a scorer reads."""
    chance = random.Random(seed)
    return [_memory(number, chance) for number in range(count)]


def _memory(number: int, chance: random.Random) -> dict[str, Any]:
    content = " ".join(chance.choices(_WORDS, k=chance.randint(6, 60)))
    return {
        "id": f"{number:08d}",
        "content": content,
        "similarity": chance.random(),
        "created_at": BENCHMARK_NOW - timedelta(days=chance.expovariate(1 / 60)),
        "usefulness_score": chance.random(),
        "confidence": chance.random(),
        "retrieval_count": chance.randint(0, 80),
        "token_counts": {"o200k_base": len(content.split()) + 2},
    }


def rule_cases() -> Iterator[RuleCase]:
    """Every timed call, inputs made beforehand."""
    scorer = MemoryScorer(clock=lambda: BENCHMARK_NOW)
    many = make_memories(10_000)
    for count, mark in ((100, None), (1_000, None), (10_000, 20.0)):
        rows = many[:count]
        yield RuleCase(f"score {count:,} candidates", partial(scorer.score, rows, None), 60, mark)
    packer = GreedyKnapsackPacker(NoCalculator())
    for count in (50, 70, 500):
        scored = scorer.score(many[:count], None)
        yield RuleCase(f"pack {count} greedily, 1,000 tokens", partial(packer.pack, scored, 1_000), 500, 5.0)
        yield RuleCase(f"pack {count} greedily, 80,000 tokens", partial(packer.pack, scored, 80_000), 500, 5.0)
    ids = [row["id"] for row in many[:1_000]]
    tokens = {row["id"]: row["token_counts"]["o200k_base"] for row in many}
    yield RuleCase("fuse two rankings of 1,000", lambda: reciprocal_rank_fusion(ids, ids[::-1]), 200)
    yield RuleCase("gate 1,000 by tokens", lambda: gate_by_tokens(ids, tokens, budget=4_000, overfetch_ratio=1.25), 200)
    yield RuleCase("order 70 as head_tail", lambda: order_items(ids[:70], "head_tail"), 500)
    yield from _text_cases(many)


def _text_cases(memories: list[dict[str, Any]]) -> Iterator[RuleCase]:
    token_counts("warm up")
    short = memories[0]["content"]
    context = " ".join(row["content"] for row in memories[:110])
    yield RuleCase(f"count a text of {count_tokens(short)} tokens", lambda: count_tokens(short), 2_000)
    yield RuleCase(f"count a text of {count_tokens(context):,} tokens", lambda: count_tokens(context), 200)
    items = [SimpleNamespace(kind="memory", text=row["content"]) for row in memories[:70]]
    for style in RENDER_STYLES:
        yield RuleCase(f"render 70 memories as {style}", _rendering(items, style), 500)


def _rendering(items: list[SimpleNamespace], style: str) -> Callable[[], object]:
    return lambda: render_context(items, style=style, secret=b"benchmark", tenant_id="benchmark")


def time_rule_case(case: RuleCase) -> list[float]:
    """Milliseconds of each round, after one that is not counted."""
    case.call()
    gc.collect()
    times = []
    for _ in range(case.rounds):
        start = time.perf_counter()
        case.call()
        times.append((time.perf_counter() - start) * 1_000)
    return times


def main() -> int:
    """Time and print every case; 1 when a median is over its mark."""
    print(f"{'rule':<36}{'median ms':>11}{'p99 ms':>11}{'mark ms':>9}{'share':>8}")
    is_over = False
    for case in rule_cases():
        times = time_rule_case(case)
        middle, slowest = median(times), quantiles(times, n=100, method="inclusive")[98]
        share = "" if case.mark_ms is None else f"{middle / case.mark_ms:.0%}"
        mark = "" if case.mark_ms is None else f"{case.mark_ms:g}"
        print(f"{case.name:<36}{middle:>11.4f}{slowest:>11.4f}{mark:>9}{share:>8}")
        is_over = is_over or (case.mark_ms is not None and middle > case.mark_ms)
    return 1 if is_over else 0


if __name__ == "__main__":
    sys.exit(main())
