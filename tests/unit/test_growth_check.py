"""The check of `test_growth.py` fails only for work that grows faster than its input."""

import time
from collections.abc import Callable

import pytest

from tests.timing import assert_linear

SIZE = 1_000


def linear_work(size: int) -> float:
    return float(size)


def sorting_work(size: int) -> float:
    return size * size.bit_length()


def slower_beyond_cache(size: int) -> float:
    """Return the time of work that takes twice as long for data beyond a cache of 1,500 items."""
    return size * (1.0 if size < 1_500 else 2.0)


def slower_beyond_two_caches(size: int) -> float:
    return slower_beyond_cache(size) * (1.0 if size < 3_000 else 1.7)


def compare_each_with_each(size: int) -> float:
    return size * (size - 1) / 2


def partly_quadratic_work(size: int) -> float:
    """Return the time of work of which a sixth is quadratic at `SIZE`."""
    return 5.0 * size + size * size / SIZE


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The processor time of this process so far, which only the work of a test changes."""
    seconds = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: seconds[0])
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return seconds


def timed(clock: list[float], seconds: Callable[[int], float]) -> Callable[[int], None]:
    def work(size: int) -> None:
        clock[0] += seconds(size)

    return work


@pytest.mark.parametrize("seconds", [linear_work, sorting_work, slower_beyond_cache, slower_beyond_two_caches])
def test_work_that_a_cache_slows_down_is_accepted(clock: list[float], seconds: Callable[[int], float]) -> None:
    assert_linear(timed(clock, seconds), SIZE)


@pytest.mark.parametrize("seconds", [compare_each_with_each, partly_quadratic_work, lambda size: size**1.25])
def test_work_that_grows_faster_than_its_input_is_refused(clock: list[float], seconds: Callable[[int], float]) -> None:
    with pytest.raises(AssertionError):
        assert_linear(timed(clock, seconds), SIZE)
