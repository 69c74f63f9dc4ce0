"""Load a million memories and time the platform on them: `python -m benchmarks.bench_million [--memories 1000000]`.

A tenant of 1,000 memories is loaded and measured alone, then one of 10,000; then the demo tenant gets nine tenths of
all memories, and tenants of 1,000 get the rest. Between medians of a tenant at different times, the ratio to a fixed
piece of work is compared, which is timed alternately with the requests. Rows are copied in binary format as the owner
of the tables, without the ORM; texts are generated, and the platform's own rules and embedder compute their derived
columns and vectors.

Prints the times of the load and of the index, then p50 and p95 of contexts of 4,000 tokens with receipts, requested
from each tenant in turn; bulk requests of 1,000 memories; recall; searches by scope; and hygiene. Milliseconds are
processor time of the client and of Postgres together; `--wall` measures wall-clock time instead.

`--keep FOLDER` keeps the database in that folder; a later run starts from it, and
`python -m benchmarks.bench_pages --keep FOLDER` measures the console's pages on it.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb

from benchmarks.bench_hygiene import compare, measure_hygiene
from benchmarks.bench_search import memory_partitions, report_searches
from benchmarks.bench_writes import recall_now
from benchmarks.database import analyse, api_client, new_benchmark_tenant, throwaway_database, without_vector_index
from benchmarks.texts import BENCHMARK_NOW, note_with_rare_words, question_with_rare_words
from benchmarks.timing import Stopwatch, Usage, argument_parser, in_turn, p95

if TYPE_CHECKING:
    from memories.models import Tenant

COPIED_TOGETHER = 20_000
LOADERS = 4
SMALL, MIDDLE = 1_000, 10_000
WARM_UP = 5
#: The work with which contexts at different times are compared.
FIXED_WORK = "fixed work"
#: The beginnings of the lines that `benchmarks.table` shows.
RATIOS = ("context p50 at ", "a tenant of ")
_OPERATOR = "ada"
_TABLES = ("memories_memory", "memories_memoryembedding")


class RowCopier:
    """Copies memories with their vectors into the tables, as their owner."""

    def __init__(self) -> None:
        from memories.embeddings.providers import get_embedder
        from memories.models import Memory, MemoryEmbedding
        from memories.tenancy.row_scope_tokens import row_scope_token

        self._embedder = get_embedder()
        self._owner = psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True)
        register_vector(self._owner)
        # the triggers write the counts of partitions
        token = row_scope_token("admin_write", "", self._owner.info.backend_pid)
        self._owner.execute("SELECT set_config('app.scope', %s, false)", [token])
        self._columns = {
            model._meta.db_table: [
                str(field.column) for field in model._meta.local_concrete_fields if not field.generated
            ]
            for model in (Memory, MemoryEmbedding)
        }
        self._columns[_TABLES[1]].remove("id")

    def copy(self, some: "Share") -> None:
        """Copy a memory with its vector into each of the share's partitions."""
        draw = random.Random(f"{some.name} {some.start}")
        rows = [self._memory(some, number, path, draw) for number, path in enumerate(some.paths, some.start)]
        # otherwise, foreign keys and triggers keep the plans made for small tables
        self._owner.execute("DISCARD PLANS")
        with self._owner.transaction():
            self._copy(_TABLES[0], rows)
            self._copy(_TABLES[1], self._vectors(some.tenant_id, rows))

    def _memory(self, some: "Share", number: int, path: str, draw: random.Random) -> dict[str, Any]:
        from memories.store.live_rows import text_columns

        at = BENCHMARK_NOW - timedelta(minutes=draw.randrange(525_600))
        row: dict[str, Any] = dict.fromkeys(self._columns[_TABLES[0]])
        row |= {"id": uuid4(), "tenant_id": some.tenant_id, "partition_id": some.keys[path], "partition_path": path}
        row |= {"created_at": at, "valid_from": at, "recorded_from": at, "source_id": "", "embedding_error": ""}
        row |= {"kind": "episode" if number % 3 else "fact", "confidence": 0.8, "pinned": number % 20_000 == 0}
        row |= {"session": f"s{number // 40}", "position": number % 40, "metadata": Jsonb({"n": number})}
        row |= {"version": 1, "usefulness_score": 0.5, "retrieval_count": 0, "embedding_state": "ready"}
        return row | {"search_config": "english"} | text_columns(note_with_rare_words(number, draw))

    def _vectors(self, tenant_id: UUID, memories: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        own = {"tenant_id": tenant_id, "version": 1, "model": self._embedder.name, "is_current": True}
        own |= {"dimension": self._embedder.dimension, "partition_path": "", "is_indexed": False}
        for start in range(0, len(memories), 1_000):
            some = memories[start : start + 1_000]
            for row, vector in zip(some, self._embedder.embed([row["content"] for row in some]), strict=True):
                yield own | {"memory_id": row["id"], "vector": HalfVector(vector)}

    def _copy(self, table: str, rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> None:
        columns = self._columns[table]
        names = ", ".join(f'"{column}"' for column in columns)
        described = self._owner.execute(f"SELECT {names} FROM {table} LIMIT 0").description or ()
        with self._owner.cursor().copy(f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types([column.type_code for column in described])
            for row in rows:
                copy.write_row([row[column] for column in columns])


@dataclass(frozen=True)
class Share:
    """The partitions of some memories of a tenant, with their ids; `start` is the number of the first memory."""

    tenant_id: UUID
    name: str
    start: int
    paths: list[str]
    keys: dict[str, int]


@cache
def _copier() -> RowCopier:
    return RowCopier()


def copy_share(some: Share) -> None:
    """Copy a share in a separate process."""
    _copier().copy(some)


def shares(tenant: "Tenant", paths: list[str]) -> Iterator[Share]:
    """Create the partitions of a tenant and yield what to copy."""
    from memories.embeddings.providers import default_model
    from memories.embeddings.vectors import ensure_active_model
    from memories.services.partitions.paths import parse_partition
    from memories.store.live_rows import ensure_partitions
    from memories.tenancy.scopes import tenant_scope

    model = default_model()
    with tenant_scope(tenant.pk):
        found = ensure_partitions(tenant.pk, [parse_partition(path) for path in set(paths)])
        ensure_active_model(tenant.pk, model.name, model.dimension)
    keys = {path: partition.pk for path, partition in found.items()}
    for start in range(0, len(paths), COPIED_TOGETHER):
        yield Share(tenant.pk, tenant.name, start, paths[start : start + COPIED_TOGETHER], keys)


@contextmanager
def row_security_passed() -> Iterator[None]:
    """Let the owner of the tables pass row-level security: COPY refuses tables whose policies apply to it."""
    for is_end in (False, True):
        with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
            for table in _TABLES:
                owner.execute(f"ALTER TABLE {table} {'' if is_end else 'NO '}FORCE ROW LEVEL SECURITY")
        if not is_end:
            yield


def load(tenants: "dict[Tenant, list[str]]") -> None:
    """Copy memories into the partitions of each tenant, build the index, and do what the scheduler does after it."""
    from django.db import connections

    from memories.partitions.maintenance import fold_partition_counts
    from memories.search.languages import recount_common_lexemes

    rows, start = sum(map(len, tenants.values())), Spent()
    with without_vector_index():
        work = [share for tenant, paths in tenants.items() for share in shares(tenant, paths)]
        connections.close_all()
        with row_security_passed(), ProcessPoolExecutor(LOADERS, get_context("fork")) as pool:
            list(pool.map(copy_share, work))
        copied = Spent()
        print(f"{rows:,} memories copied with vectors: {copied.since(start)}", flush=True)
    built = Spent()
    print(f"index of all vectors: {built.since(copied)}", flush=True)
    fold_partition_counts()
    for tenant in tenants:
        recount_common_lexemes(tenant.pk)
    analyse()
    print(f"counts of partitions and words, VACUUM ANALYZE: {Spent().since(built)}", flush=True)


class Spent:
    """Seconds so far: of the clock, and of processor time of this process and of Postgres."""

    def __init__(self) -> None:
        times = os.times()
        self._wall, self._postgres = time.perf_counter(), Usage().seconds["postgres"]
        self._own = times.user + times.system + times.children_user + times.children_system

    def since(self, former: "Spent") -> str:
        """Return the seconds since `former`."""
        own, postgres = self._own - former._own, self._postgres - former._postgres
        return f"{self._wall - former._wall:.1f} s; processor: Python {own:.1f} s, Postgres {postgres:.1f} s"


class Tenants:
    """The API of several tenants, in this process."""

    def __init__(self, *, is_wall: bool) -> None:
        self._clients: dict[str, Any] = {}
        self._is_wall = is_wall

    def add(self, name: str, tenant_id: UUID) -> None:
        """Add a tenant under the name that the output shows."""
        self._clients[name] = api_client(tenant_id)

    def time(self, path: str, body: Callable[[], Any], rounds: int) -> dict[str, list[float]]:
        """Return the milliseconds of each tenant's requests, made in turn, and of the fixed work."""
        sent = [body() for _ in range(WARM_UP + rounds)]

        def post(client: Any, number: int) -> float:
            taken, answer = self._measure(partial(client.post, f"/api/v1/{path}", sent[number], format="json"))
            if answer.status_code >= 300:
                raise RuntimeError(f"{answer.status_code} {answer.content[:300]!r}")
            return taken

        calls: dict[str, Callable[[int], float]] = {
            FIXED_WORK: lambda _: self._measure(fixed_work)[0],
            **{name: partial(post, client) for name, client in self._clients.items()},
        }
        return in_turn(calls, rounds, warm_up=WARM_UP)

    def _measure(self, call: Callable[[], Any]) -> tuple[float, Any]:
        return Stopwatch(is_wall=self._is_wall, of_all=True).measure(call)

    def contexts(self, rounds: int) -> dict[str, float]:
        """Print the milliseconds of contexts; return their medians relative to that of the fixed work."""
        draw = random.Random(31)
        body = lambda: {"query": question_with_rare_words(draw), "max_tokens": 4_000}  # noqa: E731
        times = self.time("context", body, rounds)
        report("context", times)
        fixed = median(times[FIXED_WORK])
        return {name: median(values) / fixed for name, values in times.items()}

    def bulks(self) -> None:
        """Print the milliseconds of requests that store 1,000 memories."""
        draw = random.Random(32)

        def body() -> dict[str, Any]:
            texts = (note_with_rare_words(draw.randrange(10**9), draw) for _ in range(1_000))
            return {"memories": [{"content": text, "partition": "user=bulk"} for text in texts]}

        report("bulk of 1,000", self.time("memories/bulk", body, 2))


def fixed_work() -> None:
    """Do work whose cost does not depend on the number of rows: it shows how much other processes slow the machine."""
    from django.db import connection

    from memories.embeddings.providers import get_embedder

    get_embedder().embed([f"{number} bottles of green tea" for number in range(50)])
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(number) FROM generate_series(1, 50000) AS number")


def report(what: str, times: dict[str, list[float]]) -> None:
    """Print p50 and p95 by tenant."""
    for name, values in times.items():
        print(f"{what}, {name}: p50 {median(values):.1f} p95 {p95(values):.1f} ms", flush=True)


def load_in_stages(memories: int, tenants: Tenants, rounds: int) -> dict[str, float]:
    """Load the tenants, the small ones first; return the medians of contexts without the large one."""
    from memory_platform.postgres.roles import CONSOLE, logged_in_as
    from tests.demo_fixture import load_demo_tenant
    from tests.users import new_operator

    alone: dict[str, float] = {}
    for name, count in ((f"{SMALL:,}", SMALL), (f"{MIDDLE:,}", MIDDLE)):
        tenant = new_benchmark_tenant(name)
        load({tenant: [f"user=u{number % 10}" for number in range(count)]})
        tenants.add(name, tenant.pk)
        alone |= {name: tenants.contexts(rounds)[name]}
    with logged_in_as(CONSOLE):
        large = load_demo_tenant()
        new_operator(_OPERATOR, "admin", large)
    rest = memories - SMALL - MIDDLE - memories * 9 // 10
    others = {new_benchmark_tenant(f"other {number}"): ["user=u"] * SMALL for number in range(rest // SMALL)}
    load({large: memory_partitions(memories * 9 // 10)} | others)
    return alone


def measure(options: argparse.Namespace) -> None:
    """Load unless an earlier run did, then print everything."""
    from memories.models import Tenant
    from memories.tenancy.scopes import admin_write_scope
    from tests.demo_fixture import TENANT

    tenants, is_wall = Tenants(is_wall=options.wall), options.wall
    with admin_write_scope():
        known = {tenant.name: tenant for tenant in Tenant.objects.all()}
    alone: dict[str, float] = {}
    if TENANT in known:
        for name in (f"{SMALL:,}", f"{MIDDLE:,}"):
            tenants.add(name, known[name].pk)
    else:
        alone = load_in_stages(options.memories, tenants, options.rounds)
        with admin_write_scope():
            known = {tenant.name: tenant for tenant in Tenant.objects.all()}
    large = known[TENANT]
    tenants.add("large", large.pk)
    now, small = tenants.contexts(options.rounds), f"{SMALL:,}"
    print(f"context p50 at {options.memories:,} / at {MIDDLE:,}: {now['large'] / now[f'{MIDDLE:,}']:.2f}")
    if alone:
        among = now[small] / alone[small]
        print(f"a tenant of {small} among {options.memories:,} / alone: {among:.2f}", flush=True)
    rows, share, search = recall_now(large.pk, random.Random(33))
    print(f"recall of the nearest 200 of {rows:,} by {search}: {share:.3f}", flush=True)
    report_searches(large, known[f"{SMALL:,}"], 3, is_wall=is_wall)
    measure_hygiene(large.pk, 5)
    compare(large.pk)
    tenants.bulks()


def main() -> None:
    options = argument_parser(__doc__, memories=1_000_000, rounds=60, wall=False, keep=Path).parse_args()
    with throwaway_database(options.keep):
        measure(options)


if __name__ == "__main__":
    main()
