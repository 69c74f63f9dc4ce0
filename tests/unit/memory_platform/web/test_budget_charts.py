"""Coordinates of curves over budgets."""

from memory_platform.web.charts import HEIGHT, MARGIN, WIDTH, Interval, budget_chart


def test_budgets_are_drawn_side_by_side_and_values_from_the_bottom() -> None:
    chart = budget_chart([250, 1000], [("held", [Interval(0.0), Interval(1.0)])])
    first, last = chart.lines[0].marks
    assert (first.x, last.x) == (WIDTH / 4, 3 * WIDTH / 4)
    assert (first.y, last.y) == (HEIGHT - MARGIN, MARGIN)
    assert chart.lines[0].points == f"{first.x},{first.y} {last.x},{last.y}"


def test_interval_reaches_from_its_low_to_its_high_bound() -> None:
    (mark,) = budget_chart([250], [("held", [Interval(0.5, 0.4, 0.7)])]).lines[0].marks
    assert mark.top < mark.y < mark.bottom
    (plain,) = budget_chart([250], [("held", [Interval(0.5)])]).lines[0].marks
    assert plain.top == plain.y == plain.bottom


def test_highest_value_is_the_top_and_lines_are_numbered() -> None:
    chart = budget_chart([1, 2], [("a", [Interval(0), Interval(1)]), ("b", [Interval(0), Interval(0.5)])])
    assert [line.number for line in chart.lines] == [1, 2]
    assert chart.lines[0].marks[1].y == MARGIN
    assert chart.grid[-1] == (1, MARGIN)


def test_knee_is_marked_on_the_first_line() -> None:
    chart = budget_chart([1, 2, 3], [("a", [Interval(0), Interval(0.9), Interval(1)])], knee=1)
    assert chart.knee == chart.lines[0].marks[1]
    assert budget_chart([1], [("a", [Interval(0)])]).knee is None


def test_nothing_captured_is_drawn_at_the_bottom() -> None:
    (mark,) = budget_chart([1], [("a", [Interval(0.0)])]).lines[0].marks
    assert mark.y == HEIGHT - MARGIN
