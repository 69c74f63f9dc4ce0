"""Command-line arguments, timing and tables shared by the benchmarks."""

import argparse
import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any


def argument_parser(description: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """Return a parser whose help is a module's docstring, with an option for each default; False makes it a flag."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        how = {"action": "store_true"} if default is False else {"type": type(default), "default": default}
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


class Stopwatch:
    """Milliseconds that a call takes: processor time of this process and its database process, or wall-clock time."""

    def __init__(self, *, is_wall: bool) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self._process = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")
        self._is_wall = is_wall

    def _now(self) -> float:
        if self._is_wall:
            return time.perf_counter() * 1000
        return (time.process_time_ns() + int(self._process.read_text().split()[0])) / 1e6

    def measure(self, call: Callable[[], Any]) -> tuple[float, Any]:
        """Return the time and the answer of the call."""
        start = self._now()
        answer = call()
        return self._now() - start, answer
