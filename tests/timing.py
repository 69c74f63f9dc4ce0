"""How the time of a piece of work grows with its input, and how long it may take."""

import gc
import sys
import time
from collections.abc import Callable

#: Branch coverage of Python 3.11 traces every line.
TRACED_FACTOR = 3


def allowed_seconds(limit: float) -> float:
    """Return the limit of processor time, larger while coverage is measured."""
    return limit * TRACED_FACTOR if sys.gettrace() else limit


def doubling_factor(work: Callable[[int], object], size: int, *, runs: int = 5) -> float:
    """The time for twice the size divided by that for the size; the fastest of several runs of each."""
    return _fastest(work, 2 * size, runs) / _fastest(work, size, runs)


def _fastest(work: Callable[[int], object], size: int, runs: int) -> float:
    times, tracer = [], sys.gettrace()
    gc.disable()  # how often it runs depends on everything else in this process
    sys.settrace(None)  # or the measurement of coverage would be most of what is timed
    try:
        for _ in range(runs):
            started = time.process_time()
            work(size)
            times.append(time.process_time() - started)
    finally:
        sys.settrace(tracer)
        gc.enable()
    return min(times)
