"""Time the three packers: `python -m benchmarks.bench_packers [instances of each class]`.

Times every packer with 50, 70 and 500 memories, and the optimal one also with every class of hard knapsacks: each
instance once, 500 items and a budget of 80,000 tokens. Prints median, 99th percentile and maximum in milliseconds of
processor time, which other work on the machine hardly changes. Exits with 1 if a median exceeds its limit.
"""

import sys
import time
from collections.abc import Iterator
from functools import partial

from benchmarks import hard_knapsacks
from benchmarks.bench_rules import NoCalculator, make_memories
from benchmarks.texts import BENCHMARK_NOW
from benchmarks.timing import TimedCase, report_cases
from context.services.budget import BudgetCalculator
from context.services.packer import ElasticPacker, GreedyKnapsackPacker, OptimalPacker
from context.services.scorer import MemoryScorer, ScoredMemory

ROUNDS = 200
DEFAULT_INSTANCES = 25
ITEMS = 500
BUDGET = 80_000
LIMIT_MS = 5.0


def packer_cases(instances: int) -> Iterator[TimedCase]:
    """Yield every case with its inputs."""
    timed_case = partial(TimedCase, limit_ms=LIMIT_MS)
    many = MemoryScorer(clock=lambda: BENCHMARK_NOW).score(make_memories(ITEMS), None)
    packers = {
        "greedy": GreedyKnapsackPacker(NoCalculator()).pack,
        "elastic, characters": ElasticPacker(NoCalculator()).pack,
        "elastic, tokens": ElasticPacker(BudgetCalculator(), min_item=20, max_item=40, unit="tokens").pack,
        "optimal": OptimalPacker(NoCalculator()).pack,
    }
    for name, pack in packers.items():
        for items in (50, 70, ITEMS):
            for budget in (1_000, BUDGET):
                yield timed_case(f"{name}: {items} into {budget:,}", [partial(pack, many[:items], budget)], ROUNDS)
    for name in hard_knapsacks.KNAPSACK_CLASS_NAMES:
        made = (hard_knapsacks.make(name, ITEMS, seed) for seed in range(instances))
        optimal = OptimalPacker(NoCalculator()).pack
        yield timed_case(f"optimal: {name}", [partial(optimal, as_scored(one), BUDGET) for one in made])


def as_scored(instance: hard_knapsacks.Instance) -> list[ScoredMemory]:
    """Return the instance as memories with stored token counts."""
    return [
        ScoredMemory({"id": place, "content": "", "token_counts": {"o200k_base": tokens}}, score / 1e6, *(0.0,) * 5)
        for place, (score, tokens) in enumerate(zip(instance.scores, instance.tokens, strict=True))
    ]


if __name__ == "__main__":
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_INSTANCES
    sys.exit(report_cases(packer_cases(instances), time.thread_time))
