"""Time and check the search by vector: `python -m benchmarks.bench_search [--memories 100000] [--rounds 20]`.

Loads one large tenant with partitions of many sizes and fifty tenants of a hundredth of its size, all in one index. For
scopes from small to large it prints, of the search as it is planned, of reading every vector in scope, and of comparing
memory by memory: the median and the 95th percentile in milliseconds, the ratio of the medians to the planned one, and
which share of the truly nearest the planned search found. Then the same of whole retrievals, by default and with a pool
of 200 and its neighbours. Milliseconds are processor time of the client and of its database process together, so that
neighbours on the machine do not count; `--wall` takes the clock instead.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from hashlib import sha256
from statistics import mean, median
from typing import Any

from benchmarks.database import analyse, new_benchmark_tenant, throwaway_database
from benchmarks.texts import BENCHMARK_NOW, generated_memory, generated_question
from benchmarks.timing import Stopwatch, argument_parser, p95

_BATCH = 2_000
TOKENS = "tokens_o200k_base"
WANTED = 200
SMALL_TENANTS = 50
#: Partitions of the large tenant, as shares of its memories; the rest stands in a hundred others.
_SHARES = {"user=half": 0.5, "user=fifth": 0.2, "user=tenth": 0.1, "user=twentieth": 0.05, "user=hundredth": 0.01}


def memory_partitions(memories: int) -> list[str]:
    """Return the partition of each memory of the large tenant."""
    paths = [path for path, share in _SHARES.items() for _ in range(int(memories * share))]
    return paths + [f"user=u{number % 100}" for number in range(memories - len(paths))]


def load_search_memories(tenant: Any, paths: list[str]) -> None:
    """Insert a memory with its vector at each of the paths."""
    from memories.embeddings.providers import get_embedder
    from memories.models import Memory, MemoryEmbedding
    from memories.services.partitions.paths import parse_partition
    from memories.store.live_rows import ensure_partitions
    from memories.tenancy.scopes import tenant_scope

    draw, embedder = random.Random(str(tenant.name)), get_embedder()
    with tenant_scope(tenant.pk):
        partitions = ensure_partitions(tenant.pk, [parse_partition(path) for path in dict.fromkeys(paths)])
    for start in range(0, len(paths), _BATCH):
        numbers = range(start, min(start + _BATCH, len(paths)))
        texts = [generated_memory(number, draw) for number in numbers]
        rows = [
            _memory(tenant, partitions[paths[number]], text, number)
            for number, text in zip(numbers, texts, strict=True)
        ]
        own = {"tenant_id": tenant.pk, "version": 1, "model": embedder.name, "dimension": embedder.dimension}
        vectors = [
            MemoryEmbedding(memory_id=row.pk, vector=vector, **own)
            for row, vector in zip(rows, embedder.embed(texts), strict=True)
        ]
        with tenant_scope(tenant.pk):
            Memory.objects.bulk_create(rows)
            MemoryEmbedding.objects.bulk_create(vectors)


def _memory(tenant: Any, partition: Any, text: str, number: int) -> Any:
    from memories.models import Memory
    from memories.services.search.lexemes import search_columns

    tokens, at = len(text) // 4, BENCHMARK_NOW - timedelta(minutes=number % 525_600)
    return Memory(
        tenant_id=tenant.pk, partition=partition, partition_path=partition.path, content=text,
        content_hash=sha256(text.encode()).hexdigest(), created_at=at, valid_from=at, recorded_from=BENCHMARK_NOW,
        tokens_o200k_base=tokens, tokens_cl100k_base=tokens, embedding_state="ready",
        session=f"s{number // 40}", position=number % 40, kind="episode" if number % 3 else "fact",
        **search_columns(text),
    )  # fmt: skip


def measure_scope(scope: Any, vectors: Mapping[str, Any], model: str, *, is_wall: bool) -> dict[str, Any]:
    """Return times of the three methods, the share of the nearest that was found, and the plan of the search."""
    from django.db import connection

    from memories.search.retrievers import execute_vector_plan, find_nearest
    from memories.services.search.plan import SearchMethod, SearchPlanReason, VectorPlan
    from memories.tenancy.scopes import tenant_scope

    times: dict[str, list[float]] = {"planned": [], "exact": [], "compared": []}
    recalls: list[float] = []
    with tenant_scope(scope.tenant_id):
        with connection.cursor() as cursor:  # processes beside would not be timed
            cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        watch = Stopwatch(is_wall=is_wall)
        for vector in vectors.values():
            taken, planned = watch.measure(partial(find_nearest, scope, vector, model, TOKENS, wanted=WANTED))
            whole = VectorPlan(
                SearchMethod.EXACT,
                SearchPlanReason.FEW_ROWS,
                planned.plan["limit"],
                reads_memories=bool(scope.conditions),
            )
            times["planned"].append(taken)
            taken, exact = watch.measure(partial(execute_vector_plan, whole, scope, vector, model, TOKENS))
            times["exact"].append(taken)
            rows = scope.sources()[0].nearest_to(vector, model).values_list("id", TOKENS)[: whole.limit]
            times["compared"].append(watch.measure(partial(list, rows))[0])
            found = {pk for pk, _ in planned.rows} & {pk for pk, _ in exact.rows}
            recalls.append(len(found) / len(exact.rows) if exact.rows else 1.0)
    return {"times": times, "recalls": recalls, "told": planned.plan}


def report_scope(name: str, result: Mapping[str, Any]) -> None:
    """Print one line."""
    told, times = result["told"], result["times"]
    parts = [f"{median(values):>7.1f}{p95(values):>7.1f}" for values in times.values()]
    ratios = [f"{median(times[way]) / median(times['planned']):>6.1f}x" for way in ("exact", "compared")]
    print(
        f"{name:<22}{told['rows_in_scope']:>8,} {told['search']:<6}{told['reason']:<14}{''.join(parts)}"
        f"{''.join(ratios)}{mean(result['recalls']):>8.4f}{min(result['recalls']):>7.3f}"
    )


def measure_retrievals(tenant: Any, questions: list[str], *, is_wall: bool) -> dict[str, list[float]]:
    """Return times of whole retrievals at 4,000 tokens, by default and with the pool of a profile."""
    from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve
    from memories.services.store.moments import PointInTime
    from memories.store.readings import SearchScope

    ways: dict[str, dict[str, Any]] = {
        "default": {},
        "pool of 200": {"neighbour_reach": 2, "with_vectors": True},
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    watch = Stopwatch(is_wall=is_wall)
    scope = SearchScope(tenant.pk, "", PointInTime.now(BENCHMARK_NOW))
    for query in questions:
        for name, options in ways.items():
            gate = CandidateGate(4_000, 1.25, marker_tokens=1, pool_size=200 if options else 0)
            request = RetrievalRequest(scope, query, gate, with_pinned=True, **options)
            taken, _ = watch.measure(partial(retrieve, request))
            times[name].append(taken)
    return times


def report_searches(tenant: Any, small: Any, rounds: int, *, is_wall: bool) -> None:
    """Print all tables."""
    from memories.embeddings.providers import get_embedder
    from memories.services.search.filters import parse_filters
    from memories.services.store.moments import PointInTime
    from memories.store.readings import SearchScope

    draw, embedder = random.Random(9), get_embedder()
    questions = [generated_question(draw) for _ in range(rounds)]
    vectors = dict(zip(questions, embedder.embed(questions), strict=True))
    whole = SearchScope(tenant.pk, "", PointInTime.now(BENCHMARK_NOW))
    scopes = {"whole tenant": whole} | {path: replace(whole, path=path) for path in _SHARES}
    scopes |= {
        "segment half": replace(whole, segments={"user": "half"}),
        "small tenant": replace(whole, tenant_id=small.pk),
    }
    scopes |= {"filter of two thirds": replace(whole, conditions=parse_filters({"kind": "episode"}))}
    scopes |= {"filter of nothing": replace(whole, conditions=parse_filters({"kind": "procedure"}))}
    print(
        f"{'scope':<22}{'rows':>8} {'search':<6}{'reason':<14}{'planned':>14}{'exact':>14}{'compared':>14}"
        f"{'exact':>7}{'comp.':>7}  recall    min"
    )
    for name, scope in scopes.items():
        report_scope(name, measure_scope(scope, vectors, embedder.name, is_wall=is_wall))
    times = measure_retrievals(tenant, questions, is_wall=is_wall)
    for name, values in times.items():
        ratio = median(values) / median(times["default"])
        print(f"retrieve, {name:<12} p50 {median(values):.1f} p95 {p95(values):.1f} ms; ratio {ratio:.2f}")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--wall", action="store_true")
    options = parser.parse_args()
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
