"""Time a context step by step: `python -m benchmarks.bench_context [--memories 2000] [--rounds 200]`.

Loads generated memories into a temporary database, then assembles contexts, alternately as previews and with receipts.
Prints the median and the 95th percentile of each step in milliseconds, its share of the whole, and the ratio of the
medians with and without receipts.
"""

import random
from datetime import timedelta
from statistics import median
from typing import Any

from benchmarks.database import analyse, benchmark_actor, new_benchmark_tenant, store_in_batches, throwaway_database
from benchmarks.texts import BENCHMARK_NOW, generated_memory, generated_question
from benchmarks.timing import alternately, argument_parser, p95

WARM_UP_ROUNDS = 5


def load_context_memories(tenant: Any, memories: int) -> None:
    """Store that many memories with vectors, in 20 partitions over a year."""
    from memories.services.partitions.paths import parse_partition
    from memories.services.store.drafts import NewMemory

    draw = random.Random(7)
    rows = (
        NewMemory(
            content=generated_memory(number, draw),
            partition=parse_partition(f"user=u{number % 20}"),
            created_at=BENCHMARK_NOW - timedelta(minutes=draw.randrange(365 * 24 * 60)),
            pinned=number % 400 == 0,
        )
        for number in range(memories)
    )
    store_in_batches(tenant, rows, now=BENCHMARK_NOW)
    analyse()


def measure_contexts(tenant: Any, rounds: int, max_tokens: int) -> dict[bool, list[dict[str, float]]]:
    """Return the timings of all rounds, by whether it was a preview; both kinds alternate."""
    from context.assembly.orchestrator import assemble_context
    from context.assembly.sources import ContextCaller
    from context.receipts.results import ContextRequest

    draw, caller = random.Random(8), ContextCaller(tenant.pk, benchmark_actor(), BENCHMARK_NOW)
    queries = [generated_question(draw) for _ in range(WARM_UP_ROUNDS + rounds)]
    timings: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for number, is_preview in alternately((True, False), len(queries)):
        request = ContextRequest(query=queries[number], max_tokens=max_tokens, preview=is_preview)
        context = assemble_context(request, caller)
        timings[is_preview].append(dict(context.timings))
    return {is_preview: rows[WARM_UP_ROUNDS:] for is_preview, rows in timings.items()}


def report_contexts(timings: dict[bool, list[dict[str, float]]]) -> None:
    """Print a line for each step of contexts with receipts, then both totals and their ratio."""
    whole = median(row["total"] for row in timings[False])
    print(f"{'step':<12}{'p50 ms':>9}{'p95 ms':>9}{'of p50':>9}")
    for name in timings[False][0]:
        values = [row[name] for row in timings[False]]
        print(f"{name:<12}{median(values):>9.2f}{p95(values):>9.2f}{median(values) / whole:>9.0%}")
    preview = median(row["total"] for row in timings[True])
    print(f"preview (no receipt): p50 {preview:.2f} ms; with receipt {whole:.2f} ms; ratio {whole / preview:.2f}")


def main() -> None:
    options = argument_parser(__doc__, memories=2_000, rounds=200, max_tokens=2_000).parse_args()
    with throwaway_database():
        tenant = new_benchmark_tenant("benchmark")
        load_context_memories(tenant, options.memories)
        rounds, budget = options.rounds, options.max_tokens
        print(f"{options.memories:,} memories, budget {budget:,} tokens, {rounds} rounds of each kind")
        report_contexts(measure_contexts(tenant, rounds, budget))


if __name__ == "__main__":
    main()
