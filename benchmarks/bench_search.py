"""Time and check vector search: `python -m benchmarks.bench_search [--memories 100000] [--rounds 20]`.

Loads one large tenant with partitions of many sizes, and fifty tenants of a hundredth of its size, all in one index.
For search scopes from small to large, compares three methods: the planned search, reading every vector in the scope,
and comparing memory by memory. Prints the median and the 95th percentile of each in milliseconds, the ratio of its
median to that of the planned search, and the share of the nearest memories that the planned search found. Then prints
the times of whole retrievals, with the default profile and with a pool of 200 candidates and their adjacent messages.

Milliseconds are processor time of the client and of its database process together, so that other work on the machine
does not count; `--wall` measures wall-clock time instead.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from statistics import mean, median
from typing import Any

from benchmarks.database import analyse, benchmark_scope, new_benchmark_tenant, store_in_batches, throwaway_database
from benchmarks.texts import BENCHMARK_NOW, generated_memory, generated_question
from benchmarks.timing import Stopwatch, argument_parser, p95

TOKENS = "tokens_o200k_base"
WANTED = 200
SMALL_TENANTS = 50
#: Partitions of the large tenant, as shares of its memories; the rest is spread over a hundred others.
_SHARES = {"user=half": 0.5, "user=fifth": 0.2, "user=tenth": 0.1, "user=twentieth": 0.05, "user=hundredth": 0.01}


def memory_partitions(memories: int) -> list[str]:
    """Return the partition of each memory of the large tenant."""
    paths = [path for path, share in _SHARES.items() for _ in range(int(memories * share))]
    return paths + [f"user=u{number % 100}" for number in range(memories - len(paths))]


def load_search_memories(tenant: Any, paths: list[str]) -> None:
    """Store a memory with its vector in each of the partitions."""
    from memories.services.partitions.paths import parse_partition
    from memories.services.store.drafts import NewMemory

    draw = random.Random(str(tenant.name))
    rows = (
        NewMemory(
            content=generated_memory(number, draw),
            partition=parse_partition(path),
            kind="episode" if number % 3 else "fact",
            created_at=BENCHMARK_NOW - timedelta(minutes=number % 525_600),
            session=f"s{number // 40}",
            position=number % 40,
        )
        for number, path in enumerate(paths)
    )
    store_in_batches(tenant, rows, now=BENCHMARK_NOW)


def measure_scope(scope: Any, vectors: Mapping[str, Any], model: str, *, is_wall: bool) -> dict[str, Any]:
    """Return the times of the three methods, the share of the nearest that was found, and the plan of the search."""
    from django.db import connection

    from memories.search.queries.scope_size import send_scope_size
    from memories.search.retrievers import NearestResult, SentVectorSearch, send_nearest
    from memories.services.search.planner import SearchMethod, SearchPlanReason, VectorPlan
    from memories.tenancy.scopes import tenant_scope

    def find_as_planned(vector: Any) -> NearestResult:
        size = send_scope_size(scope.present(), model)
        return send_nearest(scope, vector, model, TOKENS, wanted=WANTED, read_size=size).read()

    def find_with(plan: VectorPlan, vector: Any) -> NearestResult:
        return SentVectorSearch.send(plan, scope, vector, model, TOKENS).read()

    times: dict[str, list[float]] = {"planned": [], "exact": [], "compared": []}
    recalls: list[float] = []
    with tenant_scope(scope.tenant_id):
        with connection.cursor() as cursor:  # parallel workers would not be timed
            cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        watch = Stopwatch(is_wall=is_wall)
        for vector in vectors.values():
            elapsed, planned = watch.measure(partial(find_as_planned, vector))
            limit, reads_memories = planned.plan["limit"], bool(scope.conditions)
            whole = VectorPlan(SearchMethod.EXACT, SearchPlanReason.FEW_ROWS, limit, reads_memories=reads_memories)
            times["planned"].append(elapsed)
            elapsed, exact = watch.measure(partial(find_with, whole, vector))
            times["exact"].append(elapsed)
            rows = scope.sources()[0].nearest_to(vector, model).values_list("id", TOKENS)[: whole.limit]
            times["compared"].append(watch.measure(partial(list, rows))[0])
            found = planned.rows.keys() & exact.rows.keys()
            recalls.append(len(found) / len(exact.rows) if exact.rows else 1.0)
    return {"times": times, "recalls": recalls, "plan": planned.plan}


def report_scope(name: str, result: Mapping[str, Any]) -> None:
    """Print one line."""
    plan, times = result["plan"], result["times"]
    parts = [f"{median(values):>7.1f}{p95(values):>7.1f}" for values in times.values()]
    ratios = [f"{median(times[method]) / median(times['planned']):>6.1f}x" for method in ("exact", "compared")]
    print(
        f"{name:<22}{plan['rows_in_scope']:>8,} {plan['search']:<6}{plan['reason']:<14}{''.join(parts)}"
        f"{''.join(ratios)}{mean(result['recalls']):>8.4f}{min(result['recalls']):>7.3f}"
    )


def measure_retrievals(tenant: Any, questions: list[str], *, is_wall: bool) -> dict[str, list[float]]:
    """Return the times of whole retrievals at 4,000 tokens, with the default profile and with the pool of a profile."""
    from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve

    options_by_name: dict[str, dict[str, Any]] = {
        "default": {},
        "pool of 200": {"adjacent_turn_reach": 2, "with_vectors": True},
    }
    times: dict[str, list[float]] = {name: [] for name in options_by_name}
    watch = Stopwatch(is_wall=is_wall)
    scope = benchmark_scope(tenant.pk)
    for query in questions:
        for name, options in options_by_name.items():
            gate = CandidateGate(4_000, 1.25, marker_tokens=1, pool_size=200 if options else 0)
            request = RetrievalRequest(scope, query, gate, with_pinned=True, **options)
            elapsed, _ = watch.measure(partial(retrieve, request))
            times[name].append(elapsed)
    return times


def report_searches(tenant: Any, small: Any, rounds: int, *, is_wall: bool) -> None:
    """Print all tables."""
    from memories.embeddings.providers import get_embedder
    from memories.services.search.filters import parse_filters

    draw, embedder = random.Random(9), get_embedder()
    questions = [generated_question(draw) for _ in range(rounds)]
    vectors = dict(zip(questions, embedder.embed(questions), strict=True))
    whole = benchmark_scope(tenant.pk)
    scopes = {"whole tenant": whole} | {path: replace(whole, path=path) for path in _SHARES}
    scopes |= {"segment half": replace(whole, segments={"user": "half"}), "small tenant": benchmark_scope(small.pk)}
    for name, kind in (("filter of two thirds", "episode"), ("filter of nothing", "procedure")):
        scopes[name] = replace(whole, conditions=parse_filters({"kind": kind}))
    columns = "".join(f"{name:>14}" for name in ("planned", "exact", "compared"))
    print(f"{'scope':<22}{'rows':>8} {'search':<6}{'reason':<14}{columns}{'exact':>7}{'comp.':>7}  recall    min")
    for name, scope in scopes.items():
        report_scope(name, measure_scope(scope, vectors, embedder.name, is_wall=is_wall))
    times = measure_retrievals(tenant, questions, is_wall=is_wall)
    for name, values in times.items():
        ratio = median(values) / median(times["default"])
        print(f"retrieve, {name:<12} p50 {median(values):.1f} p95 {p95(values):.1f} ms; ratio {ratio:.2f}")


def main() -> None:
    options = argument_parser(__doc__, memories=100_000, rounds=20, wall=False).parse_args()
    with throwaway_database():
        from memories.partitions.maintenance import fold_partition_counts

        tenant = new_benchmark_tenant("large")
        load_search_memories(tenant, memory_partitions(options.memories))
        small = [new_benchmark_tenant(f"small {number}") for number in range(SMALL_TENANTS)]
        for each in small:
            load_search_memories(each, [f"user=u{number % 10}" for number in range(max(options.memories // 100, 1))])
        fold_partition_counts()
        analyse()
        print(f"{options.memories:,} memories and {SMALL_TENANTS} tenants of a hundredth, {options.rounds} questions")
        report_searches(tenant, small[0], options.rounds, is_wall=options.wall)


if __name__ == "__main__":
    main()
