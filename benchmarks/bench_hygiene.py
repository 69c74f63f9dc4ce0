"""Time the hygiene lists at scale: `python -m benchmarks.bench_hygiene [--memories 100000] [--rounds 40]`.

Loads generated memories into a temporary database, half of them into one partition, with one pair per two memories.
Prints p50 and p95 of each list's page and of all counts in milliseconds, and the ratio of each p50 to that of a plain
indexed page of memories; then the time to search all memories and to compare one batch. Reports every list whose plan,
made with the application's role under row-level security, reads a whole table.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from statistics import median
from typing import Any
from uuid import UUID

from benchmarks.database import analyse, new_benchmark_tenant, throwaway_database
from benchmarks.texts import BENCHMARK_NOW
from benchmarks.timing import TimedCase, argument_parser, p95, timed

_DIMENSION = 256
_PLACES = 50

_PARTITIONS = """
INSERT INTO memories_partition (tenant_id, path, depth, segments)
SELECT %(tenant)s, 'user=u' || n, 1, ARRAY['user=u' || n] FROM generate_series(0, %(places)s) AS n
"""
_MEMORIES = """
INSERT INTO memories_memory (id, tenant_id, partition_id, partition_path, kind, content, content_hash, confidence,
    pinned, metadata, created_at, valid_from, recorded_from, expires_at, source_id, session, tokens_o200k_base,
    tokens_cl100k_base, version, usefulness_score, retrieval_count, embedding_state, embedding_error, search_config,
    search_words, search_lexemes, search_of)
SELECT gen_random_uuid(), %(tenant)s, p.id, p.path, 'fact', text, md5(text), .8, n %% 400 = 0, '{}', at, at, at,
    CASE WHEN n %% 50 = 0 THEN %(now)s::timestamptz + (n %% 400) * interval '1 hour' + interval '1 minute' END, '', '',
    24, 24, 1, .5, CASE WHEN n %% 3 = 0 THEN 0 ELSE n %% 60 END, 'ready', '', 'english', '', '{}',
    left(md5(text), %(mark)s)
FROM (
    SELECT n, %(now)s::timestamptz - n * interval '4 minutes' AS at, 'Customer ' || n || ' asked about order ' || n * 7
        || ' and paid ' || n %% 900 || ' EUR for a set of brake pads' AS text
    FROM generate_series(1, %(rows)s) AS n
) AS made
JOIN memories_partition AS p ON p.tenant_id = %(tenant)s
    AND p.path = 'user=u' || CASE WHEN n %% 2 = 0 THEN 0 ELSE 1 + n / 2 %% %(places)s END
"""
# Vectors that are far from each other; every tenth memory has the vector of the one before it.
_VECTORS = """
INSERT INTO memories_memoryembedding (tenant_id, memory_id, version, model, dimension, vector)
SELECT %(tenant)s, id, 1, %(model)s, %(dimension)s, l2_normalize((
    SELECT array_agg(hashfloat8(n - (n %% 10 = 0)::int * 2 + axis * 1e6)::float8 / 2147483648)
    FROM generate_series(1, %(dimension)s) AS axis)::vector)::halfvec
FROM (SELECT id, row_number() OVER (ORDER BY created_at) AS n FROM memories_memory WHERE tenant_id = %(tenant)s) AS m
"""
_PAIRS = """
INSERT INTO memories_memorypair (tenant_id, kind, older_id, newer_id, similarity, texts_hash, found_at)
SELECT %(tenant)s, (ARRAY['near_duplicate', 'contradiction', 'recall_loop'])[1 + n %% 3], id, next,
    .92 + (n %% 80) * .001, '', %(now)s::timestamptz - n * interval '1 minute'
FROM (SELECT id, lead(id) OVER w AS next, row_number() OVER w AS n FROM memories_memory WHERE tenant_id = %(tenant)s
    WINDOW w AS (PARTITION BY partition_path ORDER BY created_at)) AS m
WHERE next IS NOT NULL AND n %% 2 = 0
"""


def load_hygiene_rows(tenant_id: UUID, rows: int) -> None:
    """Insert memories, vectors, pairs and findings of one tenant with SQL."""
    from django.db import connection

    from context.receipts.retention import find_unhelpful_memories
    from memories.embeddings.embedders import active_model_name
    from memories.embeddings.vectors import ensure_active_model
    from memories.hygiene.maintenance import find_unused_and_expiring_memories
    from memories.services.search.lexemes import MARK_DIGITS
    from memories.tenancy.scopes import tenant_scope

    values: dict[str, Any] = {"tenant": tenant_id, "rows": rows, "places": _PLACES, "now": BENCHMARK_NOW}
    values |= {"dimension": _DIMENSION, "model": active_model_name(tenant_id), "mark": MARK_DIGITS}
    with tenant_scope(tenant_id), connection.cursor() as cursor:
        cursor.execute(_PARTITIONS, values)
        ensure_active_model(tenant_id, str(values["model"]), _DIMENSION)
        cursor.execute(_MEMORIES, values)
        cursor.execute(_VECTORS, values)
        cursor.execute(_PAIRS, values)
    analyse()
    print_time("search all: never retrieved, expiring", partial(find_unused_and_expiring_memories, now=BENCHMARK_NOW))
    print_time("search all: no positive feedback", partial(find_unhelpful_memories, now=BENCHMARK_NOW))
    analyse()


def print_time(label: str, work: Callable[[], object]) -> None:
    """Print the duration of one call, and its result."""
    milliseconds, answer = timed(work)
    print(f"{label}: {milliseconds / 1_000:.2f} s{'' if answer is None else f' ({answer})'}")


def measure_hygiene(tenant_id: UUID, rounds: int) -> None:
    """Measure every list in every order, for the tenant and for a small partition, and all counts."""
    from memories.hygiene.findings import hygiene_list_lengths, hygiene_page
    from memories.search.browsing import MemoryFilter
    from memories.services.hygiene.rules import LISTS
    from memories.tenancy.scopes import tenant_scope

    def page(*arguments: Any) -> Callable[[], object]:
        return lambda: hygiene_page(tenant_id, *arguments, behind=None, now=BENCHMARK_NOW)

    works: dict[str, Callable[[], object]] = {
        "plain page of memories": lambda: list(
            MemoryFilter().rows(tenant_id, BENCHMARK_NOW).page("-created_at", count=50)
        )
    }
    for each in LISTS.values():
        for sort in each.sorts:
            works[f"{each.kind}, {sort}"] = page(each, "", sort)
        works[f"{each.kind}, one partition of {_PLACES}"] = page(each, "user=u7", next(iter(each.sorts)))
    works["all counts"] = lambda: hygiene_list_lengths(tenant_id, "", now=BENCHMARK_NOW)
    works["all counts, one partition"] = lambda: hygiene_list_lengths(tenant_id, "user=u7", now=BENCHMARK_NOW)
    plain = 0.0
    print(f"{'reading':<48}{'p50 ms':>9}{'p95 ms':>9}{'ratio':>8}  reads a whole table")
    with tenant_scope(tenant_id):
        for name, work in works.items():
            times = TimedCase(name, [work], rounds).milliseconds()
            plain = plain or median(times)
            whole = ", ".join(sorted(scanned_tables(work)))
            ratio = median(times) / plain
            print(f"{name:<48}{median(times):>9.2f}{p95(times):>9.2f}{ratio:>8.1f}  {whole}")


def scanned_tables(work: Callable[[], object]) -> set[str]:
    """Return the tables that the plans of the queries of `work` read completely."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        work()
    plans = []
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            cursor.execute(f"EXPLAIN {query['sql']}")
            plans += [line for (line,) in cursor.fetchall()]
    return {line.split("Seq Scan on ")[1].split()[0] for line in plans if "Seq Scan on " in line}


def compare(tenant_id: UUID) -> None:
    """Compare one batch in the largest partition and one in a small one."""
    from memories.hygiene.maintenance import COMPARED_BATCH, detect_pairs_in_batch
    from memories.models import Memory, UncomparedMemory
    from memories.tenancy.scopes import tenant_scope

    for path, label in (("user=u0", "half of all memories"), ("user=u7", "a fiftieth of the other half")):
        with tenant_scope(tenant_id):
            rows = Memory.objects.for_tenant(tenant_id).within(path, exact=True).order_by("id")[:COMPARED_BATCH]
            UncomparedMemory.objects.enqueue(tenant_id, rows.values_list("pk", flat=True))
        later = BENCHMARK_NOW + timedelta(hours=1)
        print_time(f"compare a batch with {label}", partial(detect_pairs_in_batch, tenant_id, now=later))


def main() -> None:
    options = argument_parser(__doc__, memories=100_000, rounds=40).parse_args()
    with throwaway_database():
        tenant = new_benchmark_tenant("benchmark")
        print(f"{options.memories:,} memories, {options.rounds} rounds")
        load_hygiene_rows(tenant.pk, options.memories)
        measure_hygiene(tenant.pk, options.rounds)
        compare(tenant.pk)


if __name__ == "__main__":
    main()
