"""Gauges and curves of sessions: coordinates, and the level of a pressure."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.planning import plan_compaction
from compaction.services.sessions.gauges import policy_thresholds
from compaction.services.sessions.pressure import PressureParts
from compaction.services.sessions.turns import SessionTurn
from compaction.services.simulation.simulator import APPENDED, SimulationPoint, simulate_session
from compaction.sessions.charts import POINTS_MAX, before_after, pressure_gauge, simulation_chart, thinned
from context.services.profiles.compaction_policy import CompactionPolicy

POLICY = CompactionPolicy()


def needs(tokens: int) -> PressureParts:
    reserved = tokens // 4
    return PressureParts(tokens - 2 * reserved, 0, 0, reserved, reserved)


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
    gauge = pressure_gauge(needs(tokens), 1000, POLICY)
    assert gauge.level == level
    assert bool(gauge.description) == (level != "calm")


def test_marks_are_drawn_at_their_share_of_the_window_and_closer_if_it_overflows() -> None:
    assert [mark.at_percent for mark in pressure_gauge(needs(100), 1000, POLICY).marks] == [70, 80, 85]
    over = pressure_gauge(needs(2000), 1000, POLICY)
    assert over.parts[-1].start_percent + over.parts[-1].width_percent == 100
    assert [mark.at_percent for mark in over.marks] == [35, 40, 42.5, 50]


def test_threshold_that_is_switched_off_is_not_marked() -> None:
    policy = CompactionPolicy(has_scheduled=False, has_emergency=False)
    assert [name for name, _ in policy_thresholds(policy)] == ["warning"]
    assert pressure_gauge(needs(800), 1000, policy).level == "calm"


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_everything_lies_within_the_bar(tokens: int, window: int) -> None:
    gauge = pressure_gauge(needs(tokens), window, POLICY)
    assert sum(part.value for part in gauge.parts) == tokens
    assert all(0 <= part.start_percent <= part.start_percent + part.width_percent <= 100.01 for part in gauge.parts)
    assert all(0 <= mark.at_percent <= 100 for mark in gauge.marks)


def _turns(count: int) -> list[SessionTurn]:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    roles = ("user", "assistant")
    return [
        SessionTurn(number, roles[number % 2], "word", 40, sequence=number, created_at=at + timedelta(minutes=number))
        for number in range(count)
    ]


def test_chart_has_every_point_the_thresholds_and_each_compaction_marked() -> None:
    done = simulate_session(_turns(120), POLICY, 2000)
    chart = simulation_chart(done, POLICY, 2000)
    names = ["needed", "window", "idle threshold", "emergency threshold", "warning threshold", "target"]
    assert chart.series == names
    assert len(chart.rows) == len(done.points)
    assert sum(bool(row.mark) for row in chart.rows) == sum(point.event != APPENDED for point in done.points) > 0
    places = [row.x for row in chart.rows]
    assert places == sorted(set(places))


def test_chart_of_nothing_is_empty() -> None:
    assert simulation_chart(simulate_session([], POLICY, 2000), POLICY, 2000).is_empty


def test_bars_before_and_after_add_up_to_the_plan() -> None:
    turns = _turns(60)
    plan = plan_compaction(turns, window=2000, policy=POLICY, fixed_tokens=130, summary_tokens=100)
    needed = PressureParts(2408, 30, 100, 200, 300)
    bars = before_after(plan, turns, needed, window=2000, head_tokens=4)
    assert sum(part.value for part in bars.before) == bars.tokens_before == needed.tokens == plan.tokens_before + 508
    assert sum(part.value for part in bars.after) == bars.tokens_after == plan.tokens_after_at_most + 508
    assert {part.name for part in bars.before} == {"directive", "summary", "leaving", "staying", "memories", "reply"}
    assert "leaving" not in {part.name for part in bars.after}
    first = before_after(plan, turns, needed._replace(messages=2404, summary=0), window=2000, head_tokens=4)
    assert first.tokens_after == bars.tokens_after
    assert all(part.start_percent + part.width_percent <= 100.01 for part in (*bars.before, *bars.after))


def test_long_curve_is_thinned_but_keeps_its_ends_and_every_compaction() -> None:
    points = [SimulationPoint(n, n, 0.1, "emergency" if n % 1000 == 500 else APPENDED) for n in range(5000)]
    kept = thinned(points)
    assert len(kept) <= POINTS_MAX * 1.2
    assert kept[0] == 0
    assert kept[-1] == 4999
    assert {500, 1500, 2500, 3500, 4500} <= set(kept)
