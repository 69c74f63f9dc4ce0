"""The table of a chart, from which the chart is drawn."""

import re
from datetime import UTC, datetime

from django.template.loader import render_to_string

from memory_platform.web.charts import Chart, ChartRow

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _drawn(chart: Chart) -> str:
    return render_to_string("memory_platform/web/_chart.html", {"chart": chart})


def test_each_series_is_a_column_and_each_place_a_row_with_plain_numbers() -> None:
    rows = [ChartRow(NOON, (1234.5, None)), ChartRow(NOON.replace(hour=13), (2.0, 3.25))]
    text = _drawn(Chart("Latency", "ms", ["half", "slowest"], rows, digits=1))
    assert re.findall(r'data-value="([^"]*)"', text) == [
        "1772366400", "1234.5", "", "1772370000", "2.0", "3.25",
    ]  # fmt: skip
    assert ">1,234.5</td>" in text
    assert ">–</td>" in text
    assert text.count('<th scope="col"') == 3
    assert 'data-chart="time"' in text
    assert 'data-unit="ms"' in text


def test_lines_are_named_beside_their_dashes_only_where_there_are_several() -> None:
    one = Chart("Contexts", "contexts", ["Contexts"], [ChartRow(NOON, (1,))])
    two = Chart("Latency", "ms", ["half", "slowest"], [ChartRow(NOON, (1, 2))])
    assert "chart-line-1" not in _drawn(one)
    assert "chart-line-2" in _drawn(two)


def test_mark_is_in_the_table_and_numbers_are_formatted() -> None:
    rows = [ChartRow(250, (0.4,)), ChartRow(1000, (0.8,), mark="knee")]
    text = _drawn(Chart("Held", "share", ["Held"], rows, kind="number", x_name="Tokens", digits=2))
    assert '<tr data-mark="knee">' in text
    assert '>1,000 <span class="kind">knee</span>' in text
    assert ">0.80</td>" in text


def test_chart_without_values_shows_a_note_and_draws_nothing() -> None:
    text = _drawn(Chart("Latency", "ms", ["half"], [ChartRow(NOON, (None,))]))
    assert "No data in this range" in text
    assert "<table" not in text
