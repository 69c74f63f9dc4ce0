"""Times the three packers on this machine: `python -m benchmarks.bench_packers [instances of each class]`.

Every packer at 50, 70 and 500 memories; the optimal one also on every class of hard knapsacks, each instance once, 500
items against 80,000 tokens. Prints median, 99th percentile and maximum in milliseconds of processor time, so that what
else the machine does counts little. Exits with 1 when a median is over the mark.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles

from benchmarks import hard_knapsacks
from benchmarks.bench_rules import BENCHMARK_NOW, NoCalculator, make_memories
from context.services.budget import BudgetCalculator
from context.services.packer import ElasticPacker, GreedyKnapsackPacker, OptimalPacker
from context.services.scorer import MemoryScorer, ScoredMemory

ROUNDS = 200
DEFAULT_INSTANCES = 25
ITEMS = 500
BUDGET = 80_000
MARK_MS = 5.0


@dataclass(frozen=True)
class PackerCase:
    """Calls that are timed together, each `rounds` times."""

    name: str
    calls: list[Callable[[], object]]
    rounds: int = 1


def packer_cases(instances: int) -> Iterator[PackerCase]:
    """Every case, its inputs made beforehand."""
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
                yield PackerCase(f"{name}: {items} into {budget:,}", [partial(pack, many[:items], budget)], ROUNDS)
    for name in hard_knapsacks.KNAPSACK_CLASS_NAMES:
        made = (hard_knapsacks.make(name, ITEMS, seed) for seed in range(instances))
        optimal = OptimalPacker(NoCalculator()).pack
        yield PackerCase(f"optimal: {name}", [partial(optimal, as_scored(one), BUDGET) for one in made])


def as_scored(instance: hard_knapsacks.Instance) -> list[ScoredMemory]:
    """The instance as memories with stored token counts."""
    return [
        ScoredMemory(
            {"id": place, "content": "", "token_counts": {"o200k_base": tokens}}, score / 1e6, 0.0, 0.0, 0.0, 0.0, 0.0
        )
        for place, (score, tokens) in enumerate(zip(instance.scores, instance.tokens, strict=True))
    ]


def time_packer_case(case: PackerCase) -> list[float]:
    """Milliseconds of each call; the first is made once before."""
    case.calls[0]()
    gc.collect()
    times = []
    for _ in range(case.rounds):
        for call in case.calls:
            start = time.thread_time()
            call()
            times.append((time.thread_time() - start) * 1_000)
    return times


def main() -> int:
    """Time and print every case; 1 when a median is over the mark."""
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_INSTANCES
    print(f"{'packer':<46}{'median ms':>11}{'p99 ms':>9}{'max ms':>9}")
    is_over = False
    for case in packer_cases(instances):
        times = time_packer_case(case)
        slow = quantiles(times, n=100, method="inclusive")[98]
        print(f"{case.name:<46}{median(times):>11.3f}{slow:>9.3f}{max(times):>9.3f}")
        is_over = is_over or median(times) > MARK_MS
    print(f"every median is {'NOT ' if is_over else ''}within {MARK_MS:g} ms")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())
