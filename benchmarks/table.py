"""Print the table of docs/performance.md: `make bench`, or `python -m benchmarks.table [--rows 100000] [--rounds 100]`.

Loads memories through HTTP bulk requests into a server started as by `make run`. Then measures in one run, each
alternately with the call that it is compared with: contexts and the bare query, single writes and searches of mem0 and
LangGraph's PostgresStore, messages of sessions, the console's pages, the packers, and a start of `make run`.
`--million 1000000` adds the rows of `benchmarks.bench_million`, which takes an hour. `--out FOLDER` writes `bench.json`
and `bench.md` there.

The peers run in `.venv-bench`, which `make bench` creates from benchmarks/requirements-peers.txt. If a measure is not
possible, the table contains the reason.
"""

import argparse
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import psutil

from benchmarks.bench_hot_path import (
    CLIENTS,
    WARM_UP_ROUNDS,
    BareQuery,
    Bench,
    HttpClient,
    Question,
    free_port,
    new_questions,
    web_server,
)
from benchmarks.bench_million import RATIOS
from benchmarks.bench_packers import packer_cases
from benchmarks.bench_pages import page_measurements
from benchmarks.bench_writes import BEAT, WORKER, Copies, load, session_times
from benchmarks.database import new_benchmark_tenant, new_key, throwaway_database
from benchmarks.texts import note_with_rare_words
from benchmarks.timing import Usage, argument_parser, in_turn, p95, timed

MAX_TOKENS = 4_000
PEERS_PYTHON = Path(".venv-bench/bin/python")
NO_PEERS = f"{PEERS_PYTHON} is missing; `make bench` creates it"
MILLION_GOALS = ("<= 2", "<= 1.5")
IDLE_SECONDS = 15
PACKERS = {"greedy: 500 into 80,000": "<= .3 ms", "elastic, tokens: 500 into 80,000": "<= .5 ms"}
PACKERS["optimal: 500 into 80,000"] = "<= 5 ms"


@dataclass(frozen=True)
class Row:
    """A row of the table; `value` is empty where `reason` says why nothing was measured."""

    measure: str
    goal: str
    value: str = ""
    reason: str = ""

    @property
    def shown(self) -> str:
        return self.value or f"not measured: {self.reason}"


class PeerProcess:
    """The peers, in a process with a separate environment."""

    def __init__(self, texts: Sequence[str]) -> None:
        command = [str(PEERS_PYTHON), "-m", "benchmarks.peers", os.environ["DATABASE_OWNER_URL"]]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, text=True, **pipes)
        self.rates = {
            name: len(texts) * 1_000 / self.call(f"{name}_load", list(texts)) for name in ("mem0", "langgraph")
        }

    def call(self, name: str, given: Any) -> float:
        """Return the milliseconds of a call."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the pipes of the peers are missing")
        self._process.stdin.write(json.dumps({"call": name, "given": given}) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline())["milliseconds"])

    def close(self) -> None:
        self._process.communicate(timeout=60)


def machine() -> dict[str, Any]:
    """Return the properties of the machine that the figures depend on."""
    info = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.partition(": ")[2] for line in info if line.startswith("model name")), platform.processor())
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load": [round(value, 1) for value in os.getloadavg()],
    }


def milliseconds(values: Sequence[float]) -> str:
    return f"{median(values):.1f} ms (p95 {p95(values):.1f})"


def over(values: Sequence[float], others: Sequence[float], of: Callable[[Sequence[float]], float] = median) -> str:
    return f"{of(values) / of(others):.2f}"


class Run:
    """One run on a loaded tenant; each method returns rows of the table."""

    def __init__(self, port: int, key: str, tenant_id: UUID, options: argparse.Namespace) -> None:
        from memories.embeddings.providers import default_model

        self._port, self._key, self._rounds, self._seconds = port, key, options.rounds, options.seconds
        self._client = HttpClient(port, key)
        model = default_model()
        self._new_bare = partial(BareQuery, tenant_id, model.name, model.dimension)
        self._questions = new_questions(WARM_UP_ROUNDS + options.rounds)

    def _question(self, number: int) -> Question:
        return self._questions[number % len(self._questions)]

    def contexts(self, peers: PeerProcess | None) -> list[Row]:
        """Return contexts compared with the bare query and with searches of the peers."""
        bare = self._new_bare()

        def post(number: int, **more: Any) -> float:
            body = {"query": self._question(number).text, "max_tokens": MAX_TOKENS, **more}
            return timed(partial(self._client.post, "context", body))[0]

        calls: dict[str, Callable[[int], float]] = {
            "bare": lambda number: timed(partial(bare.run, self._question(number)))[0],
            "context": post,
            "recall": partial(post, profile="conversation-recall"),
        }
        for name in ("mem0", "langgraph") if peers else ():
            calls[name] = lambda number, name=name: peers.call(f"{name}_search", self._question(number).text)  # type: ignore[misc, union-attr]
        times = in_turn(calls, self._rounds, warm_up=WARM_UP_ROUNDS)
        bare.close()
        own, base = times["context"], times["bare"]
        beside = f"{milliseconds(own)}; bare query {milliseconds(base)}"
        rows = [
            Row("context p50 / bare query p50", "<= 2.0", f"{over(own, base)}: {beside}"),
            Row("context p95 / bare query p95", "<= 3", over(own, base, p95)),
            Row("conversation-recall p50 / default p50", "<= 1.3", over(times["recall"], own)),
        ]
        for name in ("mem0", "langgraph"):
            measure = f"search of {name} p50 / context p50"
            value = f"{over(times[name], own)}: {milliseconds(times[name])}" if peers else ""
            rows.append(Row(measure, ">= .25", value, NO_PEERS))
        return rows

    def throughput(self) -> list[Row]:
        """Return contexts a second with eight clients / bare queries a second with eight connections."""
        bench = Bench(self._port, self._key, MAX_TOKENS, self._new_bare, self._questions)
        bare, context = (one.per_second for one in bench.throughput(self._seconds).values())
        value = f"{context / bare:.3f}: {context:.1f} and {bare:.1f} a second"
        return [Row(f"contexts / bare queries, {CLIENTS} clients", ">= .5", value)]

    def writes(self, peers: PeerProcess | None) -> list[Row]:
        """Return single writes compared with those of the peers."""
        draw = random.Random(23)

        def note() -> str:
            return note_with_rare_words(draw.randrange(10**9), draw)

        calls: dict[str, Callable[[int], float]] = {
            "own": lambda _: timed(partial(self._client.post, "memories", {"content": note(), "user_id": "u1"}))[0]
        }
        for name in ("mem0", "langgraph") if peers else ():
            calls[name] = lambda _, name=name: peers.call(f"{name}_write", note())  # type: ignore[misc, union-attr]
        before = Usage()
        times = in_turn(calls, self._rounds, warm_up=WARM_UP_ROUNDS)
        used = Usage().since(before, self._rounds + WARM_UP_ROUNDS)
        own = times["own"]
        value = f"{milliseconds(own)}; processor ms with those of the peers in Postgres: {used}"
        rows = [Row("single write with its vector, p95", "<= 20 ms", value)]
        for name, goal in (("mem0", "<= 1.5"), ("langgraph", "")):
            text = f"{over(own, times[name])}: {milliseconds(times[name])}" if peers else ""
            rows.append(Row(f"single write p50 / {name} p50", goal, text, NO_PEERS))
        return rows

    def sessions(self) -> list[Row]:
        """Return appended messages and contexts of sessions."""
        times, used = session_times(self._client, self._rounds)
        long, short = times["context of 10,000"], times["context of 100"]
        return [
            Row("append one message, p50", "<= 5 ms", f"{milliseconds(times['append'])}; processor ms: {used}"),
            Row(
                "session context of 10,000 messages / of 100, p50",
                "<= 1.5",
                f"{over(long, short)}: {milliseconds(long)} and {milliseconds(short)}",
            ),
        ]


def packers() -> list[Row]:
    """Return the medians of the packers, in processor time."""
    found = {case.name: case for case in packer_cases(0) if case.name in PACKERS}
    return [
        Row(f"packer, {name}", goal, f"{median(found[name].milliseconds(time.thread_time)):.2f} ms")
        for name, goal in PACKERS.items()
    ]


def bulk(client: HttpClient, tenant_id: UUID, options: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """Load the memories; return rows about it, and the texts."""
    from memories.embeddings.providers import default_model

    seconds = load(client, tenant_id, options)
    copied = Copies(tenant_id, default_model().dimension).fill()
    rates = f"{options.memories / seconds:.0f} rows/s; {copied:.1f} of {seconds:.1f} s"
    draw = random.Random(21)
    texts = [note_with_rare_words(number, draw) for number in range(options.memories)]
    memory = f"{max(Usage().web_mebibytes)} MiB"
    return [
        Row("binary COPY + CREATE INDEX / load by HTTP bulk, time", ">= .5", f"{copied / seconds:.2f}: {rates}"),
        Row("memory of a web process after the load, highest", "<= 300 MB", memory),
    ], texts


def measure(folder: Path, options: argparse.Namespace) -> list[Row]:
    """Run everything and return the table."""
    tenant = new_benchmark_tenant("table")
    key = new_key(tenant.pk)
    with web_server(folder, {"worker": WORKER, "beat": f"{BEAT} {folder / 'beat'}"}) as port:
        rows, texts = bulk(HttpClient(port, key), tenant.pk, options)
        peers = PeerProcess(texts) if PEERS_PYTHON.exists() else None
        for name in ("mem0", "langgraph"):
            rate = f"{peers.rates[name]:.0f} rows/s" if peers else ""
            rows.append(Row(f"bulk insertion by {name}, into an HNSW index", "", rate, NO_PEERS))
        run = Run(port, key, tenant.pk, options)
        rows = [*run.contexts(peers), *run.throughput(), *run.writes(peers), *rows, *run.sessions()]
        if peers:
            peers.close()
    return rows + pages(options) + packers()


def pages(options: argparse.Namespace) -> list[Row]:
    """Return the slowest page of the console or request for its result, in a tenant other than the loaded one."""
    from memory_platform.postgres.roles import CONSOLE, logged_in_as

    given = {"memories": options.rows, "rounds": 5, "only": "", "wall": False, "explain": False, "results": False}
    with logged_in_as(CONSOLE):
        measured = list(page_measurements(argparse.Namespace(**given)))
    times = {page.name.strip(): median(page.milliseconds) for page in measured}
    slowest = max(times, key=times.__getitem__)
    value = f"{times[slowest]:.0f} ms of processor time ({slowest}); median of all {median(times.values()):.0f} ms"
    return [Row(f"slowest of {len(times)} console pages and results at {options.rows:,} memories", "<= 150 ms", value)]


def start(folder: Path) -> list[Row]:
    """Return the time of a second start of `make run` to the first page, and the memory of all processes when idle."""
    # the tests are not type-checked
    new: Any = import_module("tests.integration.memory_platform.embedded.test_embedded_start").Start
    more = {"WEB_CONCURRENCY": "2", "EMBEDDING_PROVIDER": "wordllama"}
    port = free_port()
    new(folder / "start", port, more).wait_until_ready().end(signal.SIGINT)
    begin = time.perf_counter()
    running = new(folder / "start", port, more)
    running.wait_until(lambda: running.status_of("/") == 200)
    seconds = time.perf_counter() - begin
    time.sleep(IDLE_SECONDS)
    own = psutil.Process(running.process.pid)
    mebibytes = sum(process.memory_full_info().pss for process in (own, *own.children(recursive=True))) >> 20
    running.end(signal.SIGINT)
    return [
        Row("make run to the first page, second start", "<= 8 s", f"{seconds:.1f} s"),
        Row(f"memory of all processes {IDLE_SECONDS} s later", "<= 600 MB", f"{mebibytes} MiB (proportional)"),
    ]


def million(memories: int) -> list[Row]:
    """Return the rows of `benchmarks.bench_million`, which uses a separate database."""
    if not memories:
        names = ("context p50 at 1,000,000 / at 10,000", "a tenant of 1,000 among 1,000,000 / alone")
        why = "takes an hour; --million 1000000"
        return [Row(name, goal, "", why) for name, goal in zip(names, MILLION_GOALS, strict=True)]
    command = [sys.executable, "-m", "benchmarks.bench_million", "--memories", str(memories)]
    output = subprocess.run(command, check=True, text=True, capture_output=True).stdout
    print(output)
    found = [line.split(": ") for line in output.splitlines() if line.startswith(RATIOS)]
    return [Row(name, goal, value) for (name, value), goal in zip(found, MILLION_GOALS, strict=True)]


def as_markdown(rows: Sequence[Row], about: dict[str, Any]) -> str:
    """Return the table with the description of the machine."""
    lines = [f"- {name}: {value}" for name, value in about.items()]
    lines += ["", "| measure | goal | measured |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {row.measure} | {row.goal} | {row.shown} |" for row in rows), ""])


def main() -> None:
    defaults = {"rows": 100_000, "rounds": 100, "seconds": 15.0, "clients": 2, "out": "var", "million": 0}
    options = argument_parser(__doc__, **defaults).parse_args()
    options.memories, options.recall = options.rows, False
    about = {**machine(), "rows": options.rows, "rounds": options.rounds}
    with tempfile.TemporaryDirectory(prefix="memory-platform-bench-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        with throwaway_database(folder):
            rows = measure(folder, options)
        rows += start(folder) + million(options.million)
    about["load_at_the_end"] = [round(value, 1) for value in os.getloadavg()]
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    text = as_markdown(rows, about)
    table = [{**asdict(row), "shown": row.shown} for row in rows]
    (out / "bench.json").write_text(json.dumps({"machine": about, "table": table}, indent=1) + "\n")
    (out / "bench.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
