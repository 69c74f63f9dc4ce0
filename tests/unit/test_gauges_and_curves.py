"""Bars and curves of sessions: places of what is drawn, and what a pressure means."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.curves import HEIGHT, POINTS_MAX, WIDTH, curve_of, thinned
from compaction.services.gauges import pressure_gauge, thresholds
from compaction.services.simulator import APPENDED, Point, simulate
from compaction.services.turns import Turn
from context.services.compaction_policy import CompactionPolicy

POLICY = CompactionPolicy()


@pytest.mark.parametrize(
    ("tokens", "level"),
    [
        (0, "calm"),
        (699, "calm"),
        (700, "sleep"),
        (800, "emergency"),
        (850, "warning"),
        (1000, "warning"),
        (1001, "full"),
    ],
)
def test_level_is_the_gravest_threshold_reached(tokens: int, level: str) -> None:
    gauge = pressure_gauge(tokens, 1000, POLICY)
    assert gauge.level == level
    assert bool(gauge.words) == (level != "calm")


def test_marks_stand_at_their_share_of_the_window_and_closer_when_it_overflows() -> None:
    assert [mark.at_percent for mark in pressure_gauge(100, 1000, POLICY).marks] == [70, 80, 85]
    over = pressure_gauge(2000, 1000, POLICY)
    assert over.fill_percent == 100
    assert [mark.at_percent for mark in over.marks] == [35, 40, 42.5, 50]


def test_threshold_that_is_switched_off_is_not_marked() -> None:
    policy = CompactionPolicy(has_scheduled=False, has_emergency=False)
    assert [name for name, _ in thresholds(policy)] == ["warning"]
    assert pressure_gauge(800, 1000, policy).level == "calm"


def test_gauge_of_no_window_is_nonsense() -> None:
    with pytest.raises(ValueError, match="window"):
        pressure_gauge(1, 0, POLICY)


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_everything_lies_within_the_bar(tokens: int, window: int) -> None:
    gauge = pressure_gauge(tokens, window, POLICY)
    assert 0 <= gauge.fill_percent <= 100
    assert all(0 <= mark.at_percent <= 100 for mark in gauge.marks)


def _turns(count: int) -> list[Turn]:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    roles = ("user", "assistant")
    return [
        Turn(number, roles[number % 2], "word", 40, sequence=number, created_at=at + timedelta(minutes=number))
        for number in range(count)
    ]


def test_curve_draws_every_point_and_marks_each_compaction() -> None:
    done = simulate(_turns(120), POLICY, 2000)
    curve = curve_of(done, POLICY, 2000)
    pairs = [tuple(map(float, pair.split(","))) for pair in curve.points.split()]
    assert len(pairs) == len(done.points)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in pairs)
    assert len(curve.dots) == sum(point.event != APPENDED for point in done.points) > 0
    assert {line.name for line in curve.lines} == {"window", "sleep", "emergency", "warning", "target"}
    assert {dot.point for dot in curve.dots} <= set(curve.rows)


def test_curve_of_nothing_is_empty() -> None:
    curve = curve_of(simulate([], POLICY, 2000), POLICY, 2000)
    assert (curve.points, curve.dots, curve.rows) == ("", (), ())


def test_long_curve_is_thinned_but_keeps_its_ends_and_every_compaction() -> None:
    points = [Point(n, n, 0.1, "emergency" if n % 1000 == 500 else APPENDED) for n in range(5000)]
    kept = thinned(points, POINTS_MAX)
    assert len(kept) <= POINTS_MAX * 1.2
    assert kept[0] == 0
    assert kept[-1] == 4999
    assert {500, 1500, 2500, 3500, 4500} <= set(kept)
