"""Time the pure rules: `python -m benchmarks.bench_rules`.

Prints median, 99th percentile and maximum of one call of each rule. Exits with 1 when a median is over its limit.
"""

import random
import sys
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

from benchmarks.texts import BENCHMARK_NOW
from benchmarks.timing import TimedCase, report_cases
from context.services.ordering import order_items
from context.services.packer import GreedyKnapsackPacker
from context.services.rendering import RENDER_STYLES, render_context
from context.services.scorer import MemoryScorer
from memories.services.search.fusion import fuse, gate_by_tokens
from memories.services.tokens import count_tokens, token_counts

_WORDS = (
    *("alex", "prefers", "short", "morning", "meetings", "about", "the", "budget", "and", "tea", "with", "lemon"),
    "soon",
)


class NoCalculator:
    """Fails if the packer counts tokens: every memory of the benchmark has a stored count."""

    def count_tokens(self, content: str, model: str) -> int:
        raise AssertionError(f"counted {content!r} for {model}")


def make_memories(count: int) -> list[dict[str, Any]]:
    """Return `count` memories of 6 to 60 words with all numbers that a scorer reads."""
    chance = random.Random(7)
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


def rule_cases() -> Iterator[TimedCase]:
    """Yield every timed call with its inputs."""
    scorer = MemoryScorer(clock=lambda: BENCHMARK_NOW)
    many = make_memories(10_000)
    for count, limit in ((100, None), (1_000, None), (10_000, 20.0)):
        rows = many[:count]
        yield TimedCase(f"score {count:,} candidates", [partial(scorer.score, rows, None)], 60, limit)
    packer = GreedyKnapsackPacker(NoCalculator())
    for count in (50, 70, 500):
        scored = scorer.score(many[:count], None)
        yield TimedCase(f"pack {count} greedily, 1,000 tokens", [partial(packer.pack, scored, 1_000)], 500, 5.0)
        yield TimedCase(f"pack {count} greedily, 80,000 tokens", [partial(packer.pack, scored, 80_000)], 500, 5.0)
    ids = [row["id"] for row in many[:1_000]]
    rankings = [{key: rank for rank, key in enumerate(order, start=1)} for order in (ids, ids[::-1])]
    tokens = [row["token_counts"]["o200k_base"] for row in many[:1_000]]
    yield TimedCase("fuse two rankings of 1,000", [partial(fuse, *rankings)], 200)
    gate = partial(gate_by_tokens, ids, tokens, budget=4_000, overfetch_ratio=1.25)
    yield TimedCase("gate 1,000 by tokens", [gate], 200)
    yield TimedCase("order 70 as head_tail", [lambda: order_items(ids[:70], "head_tail")], 500)
    token_counts("warm up")
    short = many[0]["content"]
    context = " ".join(row["content"] for row in many[:110])
    yield TimedCase(f"count a text of {count_tokens(short)} tokens", [lambda: count_tokens(short)], 2_000)
    yield TimedCase(f"count a text of {count_tokens(context):,} tokens", [lambda: count_tokens(context)], 200)
    items = [SimpleNamespace(kind="memory", text=row["content"]) for row in many[:70]]
    as_text = partial(render_context, items, secret=b"benchmark", tenant_id="benchmark")
    for style in RENDER_STYLES:
        yield TimedCase(f"render 70 memories as {style}", [partial(as_text, style=style)], 500)


if __name__ == "__main__":
    sys.exit(report_cases(rule_cases()))
