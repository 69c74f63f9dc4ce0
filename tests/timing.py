"""How processor time grows with the input, its limits, and what coverage does not trace."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from itertools import count
from typing import Any, TypeVar

Result = TypeVar("Result")
#: With a quadratic step, twice the size takes 4 times as long.
GROWTH_MAX = 2.3
_RUNS = 3
#: Multiples of the size of a stage at which its growth is measured until it is low enough.
_SCALES = (1, 2, 4)
#: Generated inputs of a test that are traced: later ones hardly reach another line, and tracing doubles their time.
TRACED_EXAMPLES = 20


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that twice the size takes at most `GROWTH_MAX` times as long, at `size` or at a larger one.

    Data that no longer fit into a cache of the processor slow the work down around one size. The share of a quadratic
    step grows with the size, so such work fails at all of them, unless it reads only a part of the larger inputs.
    """
    work(size)  # loads word lists
    # On a busy machine the best attempt counts: a quadratic step fails all of them. Other work disturbs for a while.
    factors: list[float] = []
    for pause in (0, 0, 0.5, 1, 2, 4):
        time.sleep(pause)
        for measured in (scale * size for scale in _SCALES):
            single = min(seconds_of(partial(work, measured)) for _ in range(_RUNS))
            for _ in range(_RUNS):  # the fastest counts, so one that is fast enough is enough
                factors.append(seconds_of(partial(work, 2 * measured)) / single)
                if factors[-1] <= GROWTH_MAX:
                    return
    raise AssertionError(factors)


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor time of a call, without measuring its coverage."""
    return timed_result(work)[1]


def timed_result(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return the result of a call and its processor time in seconds, without measuring its coverage."""
    tracer = sys.gettrace()
    gc.disable()  # how often it runs depends on everything else in this process
    sys.settrace(None)  # or the measurement of coverage would be most of what is timed
    try:
        started = time.process_time()
        result = work()
        return result, time.process_time() - started
    finally:
        sys.settrace(tracer)
        gc.enable()


@contextmanager
def few_traced_examples(test: Any) -> Iterator[None]:
    """Measure coverage only for the first inputs that Hypothesis generates for a test."""
    tracer, handle = sys.gettrace(), test.hypothesis
    inner, numbers = handle.inner_test, count()

    @wraps(inner)
    def run(*arguments: Any, **values: Any) -> Any:
        if next(numbers) == TRACED_EXAMPLES:
            sys.settrace(None)
        return inner(*arguments, **values)

    handle.inner_test = run
    try:
        yield
    finally:
        handle.inner_test = inner
        sys.settrace(tracer)
