"""`make soak`: 50 clients for ten minutes; memory of all processes at the start and at the end, within 10 %."""

import argparse
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability.chaos import end
from tests.reliability.platform_under_load import Load, machine, new_key, started

GROWTH_MAX = 0.10
#: The share of the time after which caches and pools are full.
WARM_SHARE = 0.3
SAMPLE_SECONDS = 2.0


def main() -> int:
    """Measure; return 1 where memory grew or a request failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        Path(folder).chmod(0o711)
        start = started(Path(folder))
        try:
            return run(start, options.clients, options.seconds)
        finally:
            end(start)


def run(start: Start, clients: int, seconds: float) -> int:
    load = Load(start.port, new_key(start))
    load.start(clients)
    samples: list[float] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(SAMPLE_SECONDS)
        samples.append(python_megabytes(start))
    load.end()
    warm = samples[int(len(samples) * WARM_SHARE) :]
    third = max(len(warm) // 3, 1)
    before, after = sum(warm[:third]) / third, sum(warm[-third:]) / third
    growth = after / before - 1
    durations = sorted(load.durations)
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}, {clients} clients, {seconds:.0f} s")
    print(f"requests: {len(durations)}, answers {load.statuses}")
    print(f"p50 {durations[len(durations) // 2]:.3f} s, p95 {durations[int(len(durations) * 0.95)]:.3f} s")
    print(f"memory of web, worker and beat: {before:.0f} MB, then {after:.0f} MB ({growth:+.1%})")
    failed = sum(count for status, count in load.statuses.items() if status == 0 or status >= 500)
    return int(growth > GROWTH_MAX or failed > 0)


def python_megabytes(start: Start) -> float:
    """Return the proportional memory of the Python processes; Postgres and Redis grow with the data."""
    total = 0
    for process in start.running():
        with suppress(psutil.Error):
            if process.name().startswith(("python", "web", "worker", "beat")):  # the supervisor and its forks
                total += process.memory_full_info().pss
    return total / 1024 / 1024


if __name__ == "__main__":
    sys.exit(main())
