"""Times a whole context, step by step: `python -m benchmarks.bench_context [--memories 2000] [--rounds 200]`.

Loads one made-up tenant into a database of its own, then asks for contexts, once as previews and once with receipts, in
turn. Prints the median and the 95th percentile of each step in milliseconds, its share of the whole, and the ratio of
the medians with and without receipts.
"""

import argparse
import random
from datetime import UTC, datetime, timedelta
from itertools import islice
from statistics import median, quantiles
from typing import Any

from benchmarks.database import analyse, new_benchmark_tenant, throwaway_database

_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_BATCH = 500
WARM_UP_ROUNDS = 5
_SUBJECTS = ("Alex", "Mina", "Sam", "Kim", "the warehouse", "the oven", "our supplier", "the Lisbon team")
_VERBS = ("prefers", "moved", "bought", "asked about", "cancelled", "repaired", "praised", "forgot")
_THINGS = ("rye flour", "the invoice", "a motorcycle", "the meeting", "blue paint", "a train ticket", "the contract")
_TIMES = ("on Monday", "in March", "last week", "before the holidays", "at noon", "again", "for the third time")


def made_up_memory(number: int, draw: random.Random) -> str:
    """A made-up memory of 10 to 40 tokens."""
    parts = [
        f"{draw.choice(_SUBJECTS)} {draw.choice(_VERBS)} {draw.choice(_THINGS)} {draw.choice(_TIMES)}"
        for _ in range(draw.randint(1, 3))
    ]
    return f"{'; '.join(parts)} (note {number})."


def load_context_memories(tenant: Any, memories: int) -> None:
    """Store and embed that many memories in 20 partitions over a year."""
    from memories.embeddings.indexer import index_memories
    from memories.services.partitions.paths import parse_partition
    from memories.services.store.drafts import NewMemory
    from memories.store.actions.store import store_memories
    from memories.tenancy.audit import Actor
    from memories.tenancy.scopes import tenant_scope

    draw = random.Random(7)
    rows = (
        NewMemory(
            content=made_up_memory(number, draw),
            partition=parse_partition(f"user=u{number % 20}"),
            created_at=_NOW - timedelta(minutes=draw.randrange(365 * 24 * 60)),
            pinned=number % 400 == 0,
        )
        for number in range(memories)
    )
    while batch := list(islice(rows, _BATCH)):
        with tenant_scope(tenant.pk):
            results = store_memories(tenant=tenant, rows=batch, by=Actor.system("benchmark"), now=_NOW)
        index_memories(tenant.pk, [result.memory.pk for result in results if result.memory])
    analyse()


def measure_contexts(tenant: Any, rounds: int, max_tokens: int) -> dict[bool, list[dict[str, float]]]:
    """The timings of every round, by whether it was a preview; previews and real ones take turns."""
    from context.assembly.orchestrator import assemble_context
    from context.receipts.results import ContextRequest
    from memories.tenancy.audit import Actor

    draw = random.Random(8)
    timings: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for number in range(WARM_UP_ROUNDS + rounds):
        query = f"What did {draw.choice(_SUBJECTS)} do with {draw.choice(_THINGS)} {draw.choice(_TIMES)}?"
        for is_preview in (True, False) if number % 2 else (False, True):
            context = assemble_context(
                ContextRequest(query=query, max_tokens=max_tokens, preview=is_preview),
                tenant_id=tenant.pk,
                reach="",
                actor=Actor.system("benchmark"),
                now=_NOW,
            )
            if number >= WARM_UP_ROUNDS:
                timings[is_preview].append(dict(context.timings))
    return timings


def report_contexts(timings: dict[bool, list[dict[str, float]]]) -> None:
    """Print a line for each step of the real contexts, then the two totals and their ratio."""
    whole = median(row["total"] for row in timings[False])
    print(f"{'step':<12}{'p50 ms':>9}{'p95 ms':>9}{'of p50':>9}")
    for name in timings[False][0]:
        values = [row[name] for row in timings[False]]
        print(f"{name:<12}{median(values):>9.2f}{quantiles(values, n=20)[-1]:>9.2f}{median(values) / whole:>9.0%}")
    preview = median(row["total"] for row in timings[True])
    print(f"preview (no receipt): p50 {preview:.2f} ms; with receipt {whole:.2f} ms; ratio {whole / preview:.2f}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=2_000)
    wanted = parser.parse_args()
    with throwaway_database():
        tenant = new_benchmark_tenant("benchmark")
        load_context_memories(tenant, wanted.memories)
        print(f"{wanted.memories:,} memories, budget {wanted.max_tokens:,} tokens, {wanted.rounds} rounds of each kind")
        report_contexts(measure_contexts(tenant, wanted.rounds, wanted.max_tokens))


if __name__ == "__main__":
    main()
