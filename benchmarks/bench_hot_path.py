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
import tempfile
import time
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

import psutil
import psycopg

from benchmarks.database import (
    analyse,
    benchmark_actor,
    new_benchmark_tenant,
    store_in_batches,
    throwaway_database,
    without_vector_index,
)
from benchmarks.texts import BENCHMARK_NOW, note_with_rare_words, question_with_rare_words
from benchmarks.timing import argument_parser, p95
from memory_platform.embedded.processes import spawn_process, stop_processes, wait_until_ready
from memory_platform.embedded.redis import start_redis

WANTED_ROWS = 200
CLIENTS = 8
THROUGHPUT_TURNS = 3
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


def new_key(tenant_id: UUID) -> str:
    """Return the text of a new key that may read and write."""
    from datetime import UTC, datetime

    from memories.models import Tenant
    from memories.tenancy.actions.api_keys import create_api_key
    from memories.tenancy.scopes import admin_write_scope

    with admin_write_scope():
        tenant = Tenant.objects.get(pk=tenant_id)
        scopes = ["read", "write"]
        by, now = benchmark_actor(), datetime.now(UTC)
        return create_api_key(tenant=tenant, name="bench", scopes=scopes, by=by, now=now)[1]


@dataclass(frozen=True)
class HttpClient:
    """Sends context requests on one connection."""

    connection: http.client.HTTPConnection
    headers: dict[str, str]

    @classmethod
    def open(cls, port: int, key: str, timeout: float = 60) -> "HttpClient":
        return cls(
            http.client.HTTPConnection("127.0.0.1", port, timeout=timeout),
            {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        )

    def post_context(self, **body: Any) -> bytes:
        """Return the body of the response. Raises `RuntimeError` if its status is not 200."""
        self.connection.request("POST", "/api/v1/context", json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        read = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {read[:300]!r}")
        return read


@contextmanager
def web_server(folder: Path, more: Mapping[str, str] | None = None) -> Iterator[int]:
    """Run gunicorn with the options of `make run`, with a Redis for its cache; yield its port.

    `more` are the arguments of other Python processes by name.
    """
    from memory_platform.embedded.supervisor import web_command

    store = start_redis(folder)
    children = [] if store.child is None else [store.child]
    try:
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
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

    def run(self, vector: str) -> list[Any]:
        """Return the rows nearest to a vector, given as text."""
        rows = self._connection.execute(self._statement, {"vector": vector, "tenant": self._tenant_id}).fetchall()
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


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds of a call, and its result."""
    start = time.perf_counter()
    answer = call()
    return (time.perf_counter() - start) * 1_000, answer


@dataclass(frozen=True)
class Throughput:
    """The calls of `CLIENTS` clients, and the processor time of one: web processes, Postgres, client."""

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
        client, bare = HttpClient.open(self.port, self.key), self.new_bare()
        times: dict[str, list[float]] = {"bare query": [], "context": [], f"context, {profile}": []}
        steps: list[dict[str, float]] = []
        for number, question in enumerate(self.questions):
            post = partial(client.post_context, query=question.text, max_tokens=self.max_tokens)
            calls: list[Callable[[], Any]] = [
                partial(bare.run, question.vector),
                post,
                partial(post, profile=profile),
            ]
            results = [timed(call) for call in calls]
            if number >= WARM_UP_ROUNDS:
                for name, (milliseconds, _) in zip(times, results, strict=True):
                    times[name].append(milliseconds)
                steps.append(json.loads(results[1][1])["timings"])
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
        parts = "".join(f"{part:>17}" for part in ("web CPU ms", "Postgres CPU ms", "client CPU ms"))
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

        def query() -> Callable[[Question], Any]:
            bare = self.new_bare()
            return lambda question: bare.run(question.vector)

        def post() -> Callable[[Question], Any]:
            client = HttpClient.open(self.port, self.key)
            return lambda question: client.post_context(query=question.text, max_tokens=self.max_tokens)

        # kept open: the time of a process that ends is known only when its parent has collected it
        queries = [query() for _ in range(CLIENTS)]
        openers: dict[str, Callable[[], list[Callable[[Question], Any]]]] = {
            "bare query": lambda: queries,
            "context": lambda: [post() for _ in range(CLIENTS)],
        }
        counts, used = dict.fromkeys(openers, 0), {name: [0.0, 0.0, 0.0] for name in openers}
        for turn in range(THROUGHPUT_TURNS + 1):
            for name, opener in openers.items():
                calls = opener()
                before, deadline = processor_seconds(), time.monotonic() + seconds / THROUGHPUT_TURNS
                with ThreadPoolExecutor(CLIENTS) as pool:
                    count = sum(pool.map(partial(self._repeat, deadline=deadline), calls))
                if turn == 0:
                    continue
                counts[name] += count
                for place, (now, then) in enumerate(zip(processor_seconds(), before, strict=True)):
                    used[name][place] += now - then
        return {
            name: Throughput(count / seconds, [each * 1_000 / count for each in used[name]])
            for name, count in counts.items()
        }

    def _repeat(self, call: Callable[[Question], Any], deadline: float) -> int:
        done = 0
        while time.monotonic() < deadline:
            call(self.questions[done % len(self.questions)])
            done += 1
        return done


def processor_seconds() -> tuple[float, float, float]:
    """Return the processor time so far of the web processes, of the database processes below this one, and its own."""
    web = postgres = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times, name = process.cpu_times(), process.name()
        except psutil.Error:
            continue
        # processes that have ended count in their parent
        used = times.user + times.system + times.children_user + times.children_system
        if name.startswith("postgres"):
            postgres += used
        elif "redis" not in name:
            web += used
    return web, postgres, time.process_time()


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
    parser = argument_parser(__doc__, **defaults)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-platform-bench-", ignore_cleanup_errors=True) as temporary:
        folder: Path = (options.keep or Path(temporary)).resolve()
        with throwaway_database(folder):
            measure(folder, options)


if __name__ == "__main__":
    main()
