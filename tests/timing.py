"""How the time of a piece of work grows with its input, and how long it may take."""

import gc
import sys
import time
from collections.abc import Callable

#: Branch coverage of Python 3.11 traces every line.
TRACED_FACTOR = 3
#: With a quadratic step, twice the size takes 4 times as long.
GROWTH_MAX = 2.3
_RUNS = 3


def allowed_seconds(limit: float) -> float:
    """Return the limit of processor time, larger while coverage is measured."""
    return limit * TRACED_FACTOR if sys.gettrace() else limit


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that twice the size takes at most `GROWTH_MAX` times as long, in the best of several attempts."""
    work(size)  # loads word lists
    # On a busy machine the best attempt counts: a quadratic step fails all of them. Other work disturbs for a while.
    factors: list[float] = []
    for pause in (0, 0, 0.5, 1, 2, 4):
        time.sleep(pause)
        factors.append(_fastest(work, 2 * size) / _fastest(work, size))
        if factors[-1] <= GROWTH_MAX:
            return
    raise AssertionError(factors)


def _fastest(work: Callable[[int], object], size: int) -> float:
    return min(seconds_of(lambda: work(size)) for _ in range(_RUNS))


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor time of a piece of work, without measuring its coverage."""
    tracer = sys.gettrace()
    gc.disable()  # how often it runs depends on everything else in this process
    sys.settrace(None)  # or the measurement of coverage would be most of what is timed
    try:
        started = time.process_time()
        work()
        return time.process_time() - started
    finally:
        sys.settrace(tracer)
        gc.enable()
