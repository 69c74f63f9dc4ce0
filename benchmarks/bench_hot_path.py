"""Compare a context over HTTP with the bare query: `python -m benchmarks.bench_hot_path [--memories 100000]`.

Starts the servers as `make run` does, with one tenant of that many memories. Times two calls alternately, so that other
work on the machine delays both equally: reading the nearest 200 memories over a plain psycopg connection, and
`POST /api/v1/context` with a receipt. Prints median and 95th percentile of both, their ratios, the server's own time by
step, and the same for `--profile`. Then eight clients that send contexts alternate with eight connections that send the
bare query, for `--seconds` in total: calls per second, and processor milliseconds per call of the web processes, of
Postgres and of the clients.

`--keep FOLDER` keeps the filled database in that folder; a later run starts from it.
"""

import argparse
import http.client
import json
import os
import random
import socket
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.database import (
    analyse,
    new_benchmark_tenant,
    new_key,
    store_in_batches,
    throwaway_database,
    without_vector_index,
)
from benchmarks.texts import BENCHMARK_NOW, note_with_rare_words, question_with_rare_words
from benchmarks.timing import Usage, argument_parser, in_turn, p95, timed
from memory_platform.embedded.processes import spawn_process, stop_processes, wait_until_ready
from memory_platform.embedded.redis import start_redis

WANTED_ROWS = 200
CLIENTS = 8
THROUGHPUT_TURNS = 3
#: The processes whose processor time a call takes.
PURPOSES = ("web", "postgres", "client")
WARM_UP_ROUNDS = 20
_TENANT = "hot path"
#: What a vector store returns: the nearest rows of one tenant with their texts.
_BARE = """
SELECT memory.id, memory.content, memory.kind, memory.created_at, memory.confidence, memory.metadata, near.distance
FROM (
    SELECT memory_id, version, vector::halfvec({dimension}) <=> %(vector)s AS distance
    FROM memories_memoryembedding
    WHERE tenant_id = %(tenant)s AND model = '{model}' AND is_current AND {part}
    ORDER BY vector::halfvec({dimension}) <=> %(vector)s LIMIT {wanted}
) AS near
JOIN memories_memory AS memory ON memory.id = near.memory_id AND memory.tenant_id = %(tenant)s
ORDER BY near.distance
"""


def load_memories(memories: int) -> UUID:
    """Return a tenant with that many memories; fill it unless an earlier run did."""
    from memories.models import Memory, Tenant
    from memories.partitions.maintenance import fold_partition_counts
    from memories.search.languages import recount_common_lexemes
    from memories.services.partitions.paths import parse_partition
    from memories.services.store.drafts import NewMemory
    from memories.tenancy.scopes import admin_write_scope, tenant_scope

    name = f"{_TENANT} {memories}"
    with admin_write_scope():
        found: Any = Tenant.objects.filter(name=name).first()
    if found is not None:
        with tenant_scope(found.pk):
            if Memory.objects.for_tenant(found.pk).count() == memories:
                return UUID(str(found.pk))
        raise SystemExit("An earlier run was ended while it filled the folder: delete the folder.")
    tenant, draw = new_benchmark_tenant(name), random.Random(11)
    rows = (
        NewMemory(
            content=note_with_rare_words(number, draw),
            partition=parse_partition(f"user=u{number % 100}"),
            created_at=BENCHMARK_NOW - timedelta(minutes=draw.randrange(365 * 24 * 60)),
            pinned=number % 20_000 == 0,
            kind="episode" if number % 3 else "fact",
            session=f"s{number // 40}",
            position=number % 40,
        )
        for number in range(memories)
    )
    with without_vector_index():
        store_in_batches(tenant, rows, now=BENCHMARK_NOW, batch=1_000)
    fold_partition_counts()
    recount_common_lexemes(tenant.pk)
    analyse()
    return UUID(str(tenant.pk))


class HttpClient:
    """Sends requests to the API of one tenant, on a connection for each thread."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._local = port, threading.local()
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: Any) -> bytes:
        """Return the body of the response; a text is sent unchanged. Raises `RuntimeError` unless it is 200 or 201."""
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
        sent = body if isinstance(body, str) else json.dumps(body)
        self._local.connection.request("POST", f"/api/v1/{path}", sent, self._headers)
        answer: http.client.HTTPResponse = self._local.connection.getresponse()
        read = answer.read()
        if answer.status not in (200, 201):
            raise RuntimeError(f"{answer.status}: {read[:300]!r}")
        return read


def free_port() -> int:
    """Return a port that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def web_server(folder: Path, more: Mapping[str, str] | None = None) -> Iterator[int]:
    """Run gunicorn with the options of `make run`, with a Redis for its cache; yield its port.

    `more` are the arguments of other Python processes by name.
    """
    from memory_platform.embedded.supervisor import web_command

    store = start_redis(folder)
    children = [] if store.child is None else [store.child]
    try:
        port = free_port()
        env = {**os.environ, "CACHE_URL": store.cache_url, "CELERY_BROKER_URL": store.broker_url}
        command = [sys.executable, *web_command(f"127.0.0.1:{port}", processes=2)]
        web = spawn_process("web", command, log=folder / "logs" / "web.log", env=env)
        children.append(web)

        def probe_web() -> None:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as client:
                client.request("GET", "/healthz")
                client.getresponse().read()

        wait_until_ready(web, probe_web, errors=(OSError,), timeout_seconds=60)
        for name, arguments in (more or {}).items():
            log = folder / "logs" / f"{name}.log"
            children.append(spawn_process(name, [sys.executable, *arguments.split()], log=log, env=env))
        yield port
    finally:
        stop_processes(children, timeout_seconds=10)


class BareQuery:
    """The nearest rows of a tenant, on a psycopg connection with its defaults."""

    def __init__(self, tenant_id: UUID, model: str, dimension: int) -> None:
        from memories.search.vector_index import vector_index
        from memories.tenancy.row_scope_tokens import row_scope_token

        self._connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
        index = vector_index(model)
        part = index.contains("") if index else "TRUE"
        self._statement = _BARE.format(dimension=dimension, model=model, wanted=WANTED_ROWS, part=part)
        self._tenant_id = tenant_id
        token = row_scope_token("tenant", str(tenant_id), self._connection.info.backend_pid)
        self._connection.execute("SELECT set_config('app.scope', %s, false)", [token])
        self._connection.execute(f"SET hnsw.ef_search = {WANTED_ROWS}")

    def run(self, question: "Question") -> list[Any]:
        """Return the rows nearest to a question."""
        values = {"vector": question.vector, "tenant": self._tenant_id}
        rows = self._connection.execute(self._statement, values).fetchall()
        if len(rows) != WANTED_ROWS:
            raise RuntimeError(f"{len(rows)} rows")
        return rows

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class Question:
    """A question and its vector as text."""

    text: str
    vector: str


def new_questions(count: int) -> list[Question]:
    """Return questions with vectors."""
    from memories.embeddings.providers import get_embedder

    draw = random.Random(12)
    texts = [question_with_rare_words(draw) for _ in range(count)]
    vectors = get_embedder().embed(texts)
    return [
        Question(text, f"[{','.join(map(str, vector.tolist()))}]") for text, vector in zip(texts, vectors, strict=True)
    ]


@dataclass(frozen=True)
class Throughput:
    """The calls of `CLIENTS` clients, and the processor time of one by `PURPOSES`."""

    per_second: float
    milliseconds: Sequence[float]


@dataclass(frozen=True)
class Bench:
    """The servers and questions of one run."""

    port: int
    key: str
    max_tokens: int
    new_bare: Callable[[], BareQuery]
    questions: Sequence[Question]

    def compare_latencies(self, profile: str) -> None:
        """Print the times of both, measured alternately, and of contexts with `profile`."""
        client, bare = HttpClient(self.port, self.key), self.new_bare()
        steps: list[dict[str, float]] = []

        def post(number: int, **more: Any) -> float:
            body = {"query": self.questions[number].text, "max_tokens": self.max_tokens, **more}
            milliseconds, answer = timed(partial(client.post, "context", body))
            if not more:
                steps.append(json.loads(answer)["timings"])
            return milliseconds

        calls: dict[str, Callable[[int], float]] = {
            "bare query": lambda number: timed(partial(bare.run, self.questions[number]))[0],
            "context": post,
            f"context, {profile}": partial(post, profile=profile),
        }
        times = in_turn(calls, len(self.questions) - WARM_UP_ROUNDS, warm_up=WARM_UP_ROUNDS)
        steps = steps[WARM_UP_ROUNDS:]
        bare.close()
        base = times["bare query"]
        print(f"{'':<28}{'p50 ms':>9}{'p95 ms':>9}{'p50 / bare':>12}{'p95 / bare':>12}")
        for name, values in times.items():
            ratios = f"{median(values) / median(base):>12.2f}{p95(values) / p95(base):>12.2f}"
            print(f"{name:<28}{median(values):>9.2f}{p95(values):>9.2f}{ratios}")
        print("\nServer, p50 ms by step: ", end="")
        print(", ".join(f"{name} {median(row.get(name, 0.0) for row in steps):.2f}" for name in steps[0]))

    def compare_throughput(self, seconds: float) -> None:
        """Print calls per second with concurrent clients and connections, and processor time per call.

        If other work keeps the processors busy, calls per second depend on the number of competing processes, so the
        ratio of the processor times is printed as well.
        """
        measured = self.throughput(seconds)
        parts = "".join(f"{f'{purpose} CPU ms':>17}" for purpose in PURPOSES)
        print(f"\n{CLIENTS} clients{'':<19}{'calls/s':>9}{parts}")
        for name, one in measured.items():
            print(f"{name:<28}{one.per_second:>9.1f}" + "".join(f"{each:>17.2f}" for each in one.milliseconds))
        bare, context = measured.values()
        print(f"throughput, context / bare {context.per_second / bare.per_second:.3f}")
        print(f"processor time, bare / context {sum(bare.milliseconds) / sum(context.milliseconds):.3f}")

    def throughput(self, seconds: float) -> dict[str, Throughput]:
        """Return the throughput of the bare query and of contexts, measured alternately because other work varies.

        The first round does not count, because new connections plan their statements in it.
        """
        client = HttpClient(self.port, self.key)

        def post(question: Question) -> bytes:
            return client.post("context", {"query": question.text, "max_tokens": self.max_tokens})

        # kept open: the time of a process that ends is known only when its parent has collected it
        queries = [self.new_bare() for _ in range(CLIENTS)]
        calls: dict[str, list[Callable[[Question], Any]]] = {
            "bare query": [bare.run for bare in queries],
            "context": [post] * CLIENTS,
        }
        counts, used = dict.fromkeys(calls, 0), defaultdict[tuple[str, str], float](float)
        for turn in range(THROUGHPUT_TURNS + 1):
            for name, clients in calls.items():
                before, deadline = Usage(), time.monotonic() + seconds / THROUGHPUT_TURNS
                with ThreadPoolExecutor(CLIENTS) as pool:
                    count = sum(pool.map(partial(self._repeat, deadline=deadline), clients))
                if turn == 0:
                    continue
                counts[name] += count
                after = Usage()
                for purpose in PURPOSES:
                    used[name, purpose] += after.seconds[purpose] - before.seconds[purpose]
        return {
            name: Throughput(count / seconds, [used[name, purpose] * 1_000 / count for purpose in PURPOSES])
            for name, count in counts.items()
        }

    def _repeat(self, call: Callable[[Question], Any], deadline: float) -> int:
        done = 0
        while time.monotonic() < deadline:
            call(self.questions[done % len(self.questions)])
            done += 1
        return done


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Fill the folder's database, start the web server and print all tables."""
    from memories.embeddings.providers import default_model

    tenant_id = load_memories(options.memories)
    model = default_model()
    with web_server(folder) as port:
        new_bare = partial(BareQuery, tenant_id, model.name, model.dimension)
        questions = new_questions(WARM_UP_ROUNDS + options.rounds)
        bench = Bench(port, new_key(tenant_id), options.max_tokens, new_bare, questions)
        print(f"{options.memories:,} memories, {options.max_tokens:,} tokens, {options.rounds} rounds\n")
        bench.compare_latencies(options.profile)
        if options.seconds:
            bench.compare_throughput(options.seconds)


def main() -> None:
    defaults = {"memories": 100_000, "rounds": 200, "max_tokens": 4_000, "seconds": 15.0, "profile": "adr-0040"}
    options = argument_parser(__doc__, **defaults, keep=Path).parse_args()
    with throwaway_database(options.keep) as folder:
        measure(folder, options)


if __name__ == "__main__":
    main()
