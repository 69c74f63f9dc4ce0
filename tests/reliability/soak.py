"""`make soak`: 50 clients for ten minutes; memory of all processes at the start and at the end, within 10 %.

With `--contexts`, it ends after so many contexts instead, and fails if none succeeds for two minutes or if they take
longer than `--seconds`.

A test in test_faults.py does the same with few requests: it counts the blocks of memory that a web process uses, which
do not depend on the pages that processes share.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
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
#: After this time without a successful context, the run has failed.
STALLED_SECONDS = 120.0
#: The default of `--seconds`, alone and with `--contexts`.
TIMED_SECONDS, COUNTED_SECONDS = 600.0, 7_200.0
#: Two that store memories, two that append messages, and one that reads.
FEW_CLIENTS = 5
#: What Python runs at the start of a process if its folder is in PYTHONPATH: the processes of `make run` then count the
#: interpreter's blocks of memory that are in use, garbage excepted, when they get `COUNT_SIGNAL`.
COUNT_SIGNAL = signal.SIGPROF
COUNTER = """
import gc, os, signal, sys

def count(*_):
    gc.collect()
    name = f"{os.environ['COUNTS']}/{os.getpid()}"
    with open(f"{name}.new", "w") as file:
        file.write(str(sys.getallocatedblocks()))
    os.rename(f"{name}.new", name)

signal.signal(signal.SIGPROF, count)
"""


def counting_environment(folder: Path) -> dict[str, str]:
    """Return the environment of `started` with which its processes report to `blocks`."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(COUNTER)
    return {"PYTHONPATH": str(folder), "COUNTS": str(folder)}


def blocks(start: Start, process: psutil.Process) -> int:
    """Return how many blocks of memory the interpreter of a process uses."""
    count = Path(start.more["COUNTS"]) / str(process.pid)
    count.unlink(missing_ok=True)
    process.send_signal(COUNT_SIGNAL)
    start.wait_until(count.exists)
    return int(count.read_text())


def blocks_after(start: Start, key: str, writes: int) -> int:
    """Store this many memories and messages, and read contexts; return the blocks that the web process then uses."""
    load = Load(start.port, key)
    load.start(FEW_CLIENTS, has_compaction=False)
    start.wait_until(lambda: len(load.memories) + len(load.messages) >= writes and load.contexts)
    load.end()
    return blocks(start, psutil.Process(start.pid_of("web")).children()[0])


def main() -> int:
    """Measure; return 1 if memory grew or a request failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, help=f"{TIMED_SECONDS:.0f}, or {COUNTED_SECONDS:.0f} with --contexts")
    parser.add_argument("--contexts", type=int, default=0, help="end after so many contexts, not after a time")
    parser.add_argument("--bulks", type=int, default=0, help="so many requests that store 1,000 memories each")
    options = parser.parse_args()
    options.seconds = options.seconds or (COUNTED_SECONDS if options.contexts else TIMED_SECONDS)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        Path(folder).chmod(0o711)
        start = started(Path(folder))
        try:
            return run(start, options)
        finally:
            end(start)


def run(start: Start, options: argparse.Namespace) -> int:
    load = Load(start.port, new_key(start))
    load.start(options.clients)
    samples: list[float] = []
    randomness, bulks, highest, began = random.Random(0), 0, 0.0, time.monotonic()
    for done in progress(load, options):
        if bulks <= done * options.bulks and bulks < options.bulks:
            load.store_in_bulk(randomness)
            bulks += 1
        samples.append(python_megabytes(start))
        highest = max(highest, largest_web_process(start))
    seconds = time.monotonic() - began
    load.end()
    warm = samples[int(len(samples) * WARM_SHARE) :]
    third = max(len(warm) // 3, 1)
    before, after = sum(warm[:third]) / third, sum(warm[-third:]) / third
    growth = after / before - 1
    durations = sorted(load.durations)
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}, {options.clients} clients, {seconds:.0f} s")
    print(f"requests: {len(durations)}, {load.reads} contexts, {bulks} bulk requests; answers {load.statuses}")
    print(f"p50 {durations[len(durations) // 2]:.3f} s, p95 {durations[int(len(durations) * 0.95)]:.3f} s")
    print(f"memory of web, worker and beat: {before:.0f} MB, then {after:.0f} MB ({growth:+.1%})")
    print(f"largest web process: {highest:.0f} MB resident")
    failed = sum(count for status, count in load.statuses.items() if status == 0 or status >= 500)
    is_short = load.reads < options.contexts
    if is_short:
        print(f"failed: only {load.reads} of {options.contexts} contexts, in {seconds:.0f} s")
    return int(growth > GROWTH_MAX or failed > 0 or is_short)


def progress(load: Load, options: argparse.Namespace) -> Iterator[float]:
    """Yield the share that is done, from 0 to 1, every `SAMPLE_SECONDS`; end early without `--contexts` in time."""
    began = last_read = time.monotonic()
    reads = share = 0.0
    while share < 1:
        time.sleep(SAMPLE_SECONDS)
        yield share
        now = time.monotonic()
        if load.reads > reads:
            reads, last_read = load.reads, now
        is_stalled = options.contexts and now - last_read >= STALLED_SECONDS
        if is_stalled or now - began >= options.seconds:
            return
        share = load.reads / options.contexts if options.contexts else (now - began) / options.seconds


def python_megabytes(start: Start) -> float:
    """Return the proportional memory of the Python processes; Postgres and Redis grow with the data."""
    total = 0
    for process in start.running():
        with suppress(psutil.Error):
            if process.name().startswith(("python", "web", "worker", "beat")):  # the supervisor and its forks
                total += process.memory_full_info().pss
    return total / 1024 / 1024


def largest_web_process(start: Start) -> float:
    """Return the resident memory of the largest web process."""
    sizes = [0]
    for process in start.running():
        with suppress(psutil.Error):
            if process.name() == "web":
                sizes.append(process.memory_info().rss)
    return max(sizes) / 1024 / 1024


if __name__ == "__main__":
    sys.exit(main())
