"""Command-line arguments, timing and tables shared by the benchmarks."""

import argparse
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeVar

import psutil

_Variant = TypeVar("_Variant")


def argument_parser(description: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """Return a parser whose help is a module's docstring, with an option for each default.

    False makes it a flag; a type stands for an option without a default.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        how = {"action": "store_true"} if default is False else {"type": type(default), "default": default}
        how = {"type": default} if isinstance(default, type) else how
        parser.add_argument(f"--{name.replace('_', '-')}", **how)
    return parser


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile of at least two values."""
    return quantiles(values, n=20, method="inclusive")[-1]


def hodges_lehmann(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median of the means of all pairs of values, and its 95 % interval (by Wilcoxon's signed ranks)."""
    means = sorted((one + other) / 2 for place, one in enumerate(values) for other in values[place:])
    count = len(values)
    half = 1.96 * (count * (count + 1) * (2 * count + 1) / 24) ** 0.5
    low = max(0, int(len(means) / 2 - half))
    return median(means), means[low], means[-1 - low]


@dataclass(frozen=True)
class TimedCase:
    """Calls that are timed together, each `rounds` times; `limit_ms` is the highest median allowed."""

    name: str
    calls: Sequence[Callable[[], object]]
    rounds: int = 1
    limit_ms: float | None = None

    def milliseconds(self, clock: Callable[[], float] = time.perf_counter) -> list[float]:
        """Return the time of each call; the first is made once before. `clock` counts seconds."""
        self.calls[0]()
        gc.collect()
        times = []
        for _ in range(self.rounds):
            for call in self.calls:
                start = clock()
                call()
                times.append((clock() - start) * 1_000)
        return times

    def report(self, clock: Callable[[], float] = time.perf_counter) -> bool:
        """Print median, 99th percentile, maximum and limit in milliseconds; return whether the limit holds."""
        times = self.milliseconds(clock)
        slow = quantiles(times, n=100, method="inclusive")[98]
        limit = "" if self.limit_ms is None else f"{self.limit_ms:g}"
        print(f"{self.name:<46}{median(times):>11.4f}{slow:>11.4f}{max(times):>11.4f}{limit:>9}")
        return self.limit_ms is None or median(times) <= self.limit_ms


def report_cases(cases: Iterable[TimedCase], clock: Callable[[], float] = time.perf_counter) -> int:
    """Time and print every case; return 1 if a median is over its limit, else 0."""
    print(f"{'case':<46}{'median ms':>11}{'p99 ms':>11}{'max ms':>11}{'limit':>9}")
    slow = [case for case in cases if not case.report(clock)]
    return 1 if slow else 0


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds of a call by the clock, and its result."""
    start = time.perf_counter()
    answer = call()
    return (time.perf_counter() - start) * 1_000, answer


class Stopwatch:
    """Milliseconds that a call takes: processor time of this process and of database processes, or wall-clock time.

    The database process is that of the connection; with `of_all`, all processes count that run below this one when the
    object is created.
    """

    def __init__(self, *, is_wall: bool = False, of_all: bool = False) -> None:
        ids = [process.pid for process in psutil.Process().children(recursive=True)] if of_all else [_backend_id()]
        self._files = [Path(f"/proc/{pid}/schedstat") for pid in ids]
        self._is_wall = is_wall

    def _now(self) -> float:
        if self._is_wall:
            return time.perf_counter() * 1_000
        total = time.process_time_ns()
        for file in self._files:
            with suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
                total += int(file.read_text().split()[0])
        return total / 1e6

    def measure(self, call: Callable[[], Any]) -> tuple[float, Any]:
        """Return the time and the answer of the call."""
        start = self._now()
        answer = call()
        return self._now() - start, answer


def _backend_id() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


class Usage:
    """Processor seconds so far of this process ("client") and of those below it by purpose, and their memory."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"web": 0.0, "worker": 0.0, "postgres": 0.0, "client": time.process_time()}
        self.web_mebibytes: list[int] = []
        for process in psutil.Process().children(recursive=True):
            try:
                times, name, command = process.cpu_times(), process.name(), " ".join(process.cmdline())
                memory = process.memory_info().rss >> 20
            except psutil.Error:
                continue
            kind = "postgres" if name.startswith("postgres") else "web" if "gunicorn" in command else "worker"
            # processes that have ended count in their parent
            self.seconds[kind] += times.user + times.system + times.children_user + times.children_system
            self.web_mebibytes += [memory] if kind == "web" else []

    def since(self, former: "Usage", rows: int) -> str:
        """Return the processor milliseconds per row since `former`."""
        spent = {kind: (now - former.seconds[kind]) * 1_000 / rows for kind, now in self.seconds.items()}
        return ", ".join(f"{kind} {milliseconds:.2f}" for kind, milliseconds in spent.items())


def in_turn(calls: Mapping[str, Callable[[int], float]], rounds: int, *, warm_up: int = 0) -> dict[str, list[float]]:
    """Return the milliseconds that each call returns, made in turn so that other work delays all alike.

    A call gets the number of its round; `warm_up` more rounds come first and do not count.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(warm_up + rounds):
        for name, call in calls.items():
            taken = call(number)
            if number >= warm_up:
                times[name].append(taken)
    return times


def alternately(variants: Sequence[_Variant], rounds: int) -> Iterator[tuple[int, _Variant]]:
    """Yield the number of each round with each of the variants, whose order is reversed in every second round."""
    for number in range(rounds):
        for variant in variants if number % 2 else variants[::-1]:
            yield number, variant
