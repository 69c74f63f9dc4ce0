"""The knee of a curve with diminishing returns."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.evaluation.knee import knee_index


def test_knee_is_where_the_curve_is_highest_above_the_line_between_its_ends() -> None:
    # the paper's own curve, -1 / (x + 0.1) + 5, whose knee it gives as about 0.22
    xs = [place / 9 for place in range(10)]
    assert knee_index(xs, [5 - 1 / (x + 0.1) for x in xs]) == 2


def test_budgets_are_drawn_at_their_tokens_not_at_equal_distances() -> None:
    assert knee_index([250, 500, 1000, 2000, 4000], [0.5, 0.62, 0.72, 0.8, 0.86]) == 2


@pytest.mark.parametrize(
    ("xs", "ys"),
    [
        ([], []),
        ([1], [1.0]),
        ([1, 2], [0.0, 1.0]),
        ([1, 2, 3], [0.5, 0.5, 0.5]),
        ([1, 2, 3], [1.0, 0.5, 0.0]),
        ([1, 2, 3], [0.0, 0.5, 1.0]),
        ([1, 2, 3, 4], [0.0, 0.1, 0.3, 1.0]),
    ],
    ids=["nothing", "a point", "a line of two", "flat", "falling", "straight", "convex"],
)
def test_curve_without_a_bend_has_no_knee(xs: list[float], ys: list[float]) -> None:
    assert knee_index(xs, ys) is None


@pytest.mark.parametrize(("xs", "ys"), [([1, 2], [1.0]), ([1, 1, 2], [0.0, 1.0, 2.0]), ([2, 1, 3], [0.0, 1.0, 2.0])])
def test_what_is_no_curve_is_refused(xs: list[float], ys: list[float]) -> None:
    with pytest.raises(ValueError, match="rising x"):
        knee_index(xs, ys)


@given(st.floats(1.5, 50.0), st.floats(0.01, 100.0), st.floats(-5.0, 5.0))
def test_scale_and_offset_of_either_axis_move_no_knee(steepness: float, scale: float, offset: float) -> None:
    xs = [float(place) for place in range(1, 21)]
    ys = [1 - math.exp(-x / steepness) for x in xs]
    assert knee_index([x * 10 for x in xs], [y * scale + offset for y in ys]) == knee_index(xs, ys)
