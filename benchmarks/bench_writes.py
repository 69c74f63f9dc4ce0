"""Load memories over HTTP and compare with the database alone: `python -m benchmarks.bench_writes [--memories 100000]`.

Starts the servers as `make run` does, with worker and beat. `--clients` clients send bulk requests of 1,000 memories;
meanwhile, searches for the nearest 200 are compared with exact searches. Then:

- **COPY + CREATE INDEX**: the finished rows and vectors are copied in binary format into tables without constraints;
  then the primary keys, the text index and the vector index are created. The goal limits the ratio of this time to that
  of the load.
- **single write**: `POST memories`, alternating with an INSERT of a finished row and its vector into those tables.
- **append**: `POST sessions/{id}/messages` with one message, and the contexts of sessions of 10,000 and 100 messages.

Prints times, processor time by process, and the memory of the web processes. `--keep FOLDER` keeps the database there.
"""

import argparse
import io
import json
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg

from benchmarks.bench_hot_path import HttpClient, web_server
from benchmarks.database import new_benchmark_tenant, new_key, throwaway_database
from benchmarks.texts import note_with_rare_words, question_with_rare_words
from benchmarks.timing import Usage, argument_parser, in_turn, p95, timed

BULK_ROWS = 1_000
NEAREST = 200
QUESTIONS_AT_ONCE = 4
WORKER = "-m celery -A memory_platform worker --pool threads --concurrency 4 --without-gossip --without-mingle"
BEAT = "-m celery -A memory_platform beat --pidfile= --schedule"
_TABLES = ("memories_memory", "memories_memoryembedding")
_INDEXES = (
    "ALTER TABLE copied_memory ADD PRIMARY KEY (id)",
    "ALTER TABLE copied_memoryembedding ADD PRIMARY KEY (id)",
    "CREATE INDEX copied_text ON copied_memory USING gin (search_vector)",
    "CREATE INDEX copied_near ON copied_memoryembedding USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops)",
)


def bulk_bodies(memories: int) -> list[str]:
    """Return the bodies of the bulk requests."""
    draw = random.Random(21)

    def row(number: int) -> dict[str, Any]:
        place = {"partition": f"user=u{number % 100}", "session": f"s{number // 40}", "position": number % 40}
        return {"content": note_with_rare_words(number, draw), "kind": "fact", **place, "metadata": {"n": number}}

    return [
        json.dumps({"memories": [row(number) for number in range(start, min(start + BULK_ROWS, memories))]})
        for start in range(0, memories, BULK_ROWS)
    ]


class RecallProbe(threading.Thread):
    """Compares searches with exact ones of the same snapshot until `stop` is called."""

    def __init__(self, tenant_id: UUID) -> None:
        super().__init__(daemon=True)
        self._tenant_id, self._ended = tenant_id, threading.Event()
        self.found: list[tuple[int, float, str]] = []

    def run(self) -> None:
        draw = random.Random(22)
        while not self._ended.wait(0.5):
            rows, share, search = recall_now(self._tenant_id, draw)
            self.found.append((rows, share, search))

    def stop(self) -> None:
        """End after the current comparison."""
        self._ended.set()
        self.join()


def recall_now(tenant_id: UUID, draw: random.Random) -> tuple[int, float, str]:
    """Return the memories in scope, the mean share of the nearest that a search finds, and the method of the search."""
    from datetime import UTC, datetime

    from django.db import connection, transaction

    from benchmarks.database import benchmark_scope
    from memories.embeddings.providers import get_embedder
    from memories.search.queries.scope_size import send_scope_size
    from memories.search.retrievers import SentVectorSearch, send_nearest
    from memories.services.search.planner import SearchMethod, SearchPlanReason, VectorPlan
    from memories.tenancy.scopes import tenant_scope

    embedder = get_embedder()
    exact = VectorPlan(SearchMethod.EXACT, SearchPlanReason.FEW_ROWS, NEAREST)
    vectors = embedder.embed([question_with_rare_words(draw) for _ in range(QUESTIONS_AT_ONCE)])
    scope = benchmark_scope(tenant_id, at=datetime.now(UTC))
    shares, plan = [], {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with tenant_scope(tenant_id):
            for vector in vectors:
                values = (scope, vector, embedder.name, "tokens_o200k_base")
                size = send_scope_size(scope.present(), embedder.name)
                found = send_nearest(*values, wanted=NEAREST, read_size=size).read()
                nearest = SentVectorSearch.send(exact, *values).read().rows
                plan = found.plan
                if nearest:
                    shares.append(len(nearest.keys() & found.rows.keys()) / len(nearest))
    return int(plan["rows_in_scope"]), float(np.mean(shares)) if shares else 1.0, str(plan["search"])


def load(client: HttpClient, tenant_id: UUID, options: argparse.Namespace) -> float:
    """Load the memories; return the seconds."""
    from memories.search.vector_index import tail_lengths

    bodies = bulk_bodies(options.memories)
    probe = RecallProbe(tenant_id) if options.recall else None
    before, start = Usage(), time.perf_counter()
    if probe:
        probe.start()
    with ThreadPoolExecutor(options.clients) as pool:
        answers = list(pool.map(partial(client.post, "memories/bulk"), bodies))
    seconds, after = time.perf_counter() - start, Usage()
    if any(row["status"] != "created" for answer in answers for row in json.loads(answer)["results"]):
        raise RuntimeError("not every memory was created")
    print(f"load: {options.memories / seconds:,.0f} rows/s, {seconds:.1f} s with {options.clients} clients")
    print(f"processor ms of a row: {after.since(before, options.memories)}")
    print(f"vectors not yet in the index: {sum(tail_lengths().values()):,}")
    while (tail := sum(tail_lengths().values())) and time.perf_counter() - start < 600:
        time.sleep(0.5)
    settled, waited = Usage(), time.perf_counter() - start
    print(f"in the index after {waited:.1f} s (left {tail:,}); {settled.since(before, options.memories)}")
    print(f"MiB of web processes: {sorted(settled.web_mebibytes)}")
    if probe:
        probe.stop()
        worst = min(share for _, share, _ in probe.found)
        print(f"recall of the nearest {NEAREST}: {len(probe.found)} looks, lowest {worst:.3f}, last {probe.found[-1]}")
        print("  " + ", ".join(f"{rows:,} {share:.3f} {search}" for rows, share, search in probe.found))
    return seconds


class Copies:
    """Plain tables with the finished rows, on a connection of the tables' owner."""

    def __init__(self, tenant_id: UUID, dimension: int) -> None:
        from memories.tenancy.row_scope_tokens import row_scope_token

        self._owner = psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True)
        self._dimension = dimension
        token = row_scope_token("tenant", str(tenant_id), self._owner.info.backend_pid)
        self._owner.execute("SELECT set_config('app.scope', %s, false)", [token])

    def fill(self) -> float:
        """Copy the rows and create the indexes; return the seconds."""
        sent = {}
        for table in _TABLES:
            name = table.replace("memories_", "copied_")
            self._owner.execute(f"DROP TABLE IF EXISTS {name}")
            self._owner.execute(f"CREATE TABLE {name} (LIKE {table})")
            buffer = io.BytesIO()
            with self._owner.cursor().copy(f"COPY (SELECT * FROM {table}) TO STDOUT (FORMAT BINARY)") as copy:
                for piece in copy:
                    buffer.write(piece)
            sent[name] = buffer.getvalue()
        start = time.perf_counter()
        for name, rows in sent.items():
            with self._owner.cursor().copy(f"COPY {name} FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(rows)
        for statement in _INDEXES:
            self._owner.execute(statement.format(dimension=self._dimension))
        return time.perf_counter() - start

    def insert(self) -> None:
        """Insert one more row and its vector, derived from stored ones, in one transaction."""
        with self._owner.transaction():
            for name, number in (("copied_memory", "%(id)s"), ("copied_memoryembedding", "%(number)s")):
                described = self._owner.execute(f"SELECT * FROM {name} LIMIT 0").description or ()
                columns = [column.name for column in described]
                values = [number if column == "id" else column for column in columns]
                statement = f"INSERT INTO {name} SELECT {', '.join(values)} FROM {name} OFFSET %(at)s LIMIT 1"
                at = random.randrange(1_000)
                self._owner.execute(statement, {"id": uuid4(), "number": random.getrandbits(62), "at": at})


def single_writes(client: HttpClient, copies: Copies, rounds: int) -> None:
    """Print the times of single writes, measured alternately with plain insertions."""
    draw = random.Random(23)

    def write(number: int) -> float:
        body = {"content": note_with_rare_words(10_000_000 + number, draw), "user_id": f"u{number % 100}"}
        return timed(partial(client.post, "memories", body))[0]

    before = Usage()
    times = in_turn({"POST memories": write, "INSERT": lambda _: timed(copies.insert)[0]}, rounds)
    report(times, Usage().since(before, rounds))


def session_times(client: HttpClient, rounds: int) -> tuple[dict[str, list[float]], str]:
    """Return the times of appending a message and of the contexts of a short and a long session.

    The processor time is that of an append, by process.
    """
    draw = random.Random(24)
    made = {}
    for count in (100, 10_000):
        session = {"model": "gpt-4o", "user_id": f"session-{count}"}
        made[count] = json.loads(client.post("sessions", session))["id"]
        for start in range(0, count, 100):
            rows = [
                {"role": "user" if turn % 2 else "assistant", "content": note_with_rare_words(start + turn, draw)}
                for turn in range(100)
            ]
            client.post(f"sessions/{made[count]}/messages", {"messages": rows})

    def append(number: int) -> float:
        row = {"role": "user", "content": note_with_rare_words(number, draw)}
        return timed(partial(client.post, f"sessions/{made[100]}/messages", {"messages": [row]}))[0]

    def context(session: str, _: int) -> float:
        body = {"max_tokens": 2_000, "query": question_with_rare_words(draw), "preview": True}
        return timed(partial(client.post, f"sessions/{session}/context", body))[0]

    before = Usage()
    appends = in_turn({"append": append}, rounds)
    used = Usage().since(before, rounds)
    contexts = {f"context of {count:,}": partial(context, session) for count, session in made.items()}
    return appends | in_turn(contexts, max(rounds // 5, 10)), used


def report(times: dict[str, list[float]], used: str) -> None:
    """Print median and 95th percentile of each, and the processor time of a round."""
    for name, values in times.items():
        print(f"{name:<20} p50 {median(values):7.2f} ms   p95 {p95(values):7.2f} ms")
    print(f"processor ms: {used}")


def main() -> None:
    options = argument_parser(__doc__, memories=100_000, clients=2, rounds=200, recall=False, keep=Path).parse_args()
    with throwaway_database(options.keep) as folder:
        from memories.embeddings.providers import default_model

        tenant = new_benchmark_tenant(f"writes {time.time()}")
        with web_server(folder, {"worker": WORKER, "beat": f"{BEAT} {folder / 'beat'}"}) as port:
            client = HttpClient(port, new_key(tenant.pk))
            seconds = load(client, tenant.pk, options) if options.memories else 0.0
            copies = Copies(tenant.pk, default_model().dimension)
            before = Usage()
            copied = copies.fill()
            if seconds:
                print(f"COPY + CREATE INDEX {copied:.1f} s; / load {copied / seconds:.2f}")
                print(f"processor ms of a row: {Usage().since(before, options.memories)}")
            single_writes(client, copies, options.rounds)
            report(*session_times(client, options.rounds))


if __name__ == "__main__":
    main()
