"""Points in time."""

from datetime import UTC, datetime

import pytest

from memories.services.store.moments import PointInTime, TimeAxis

NOW = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


def test_point_in_time_shows_which_kind_of_time_it_is() -> None:
    assert [moment(NOW).kind for moment in (PointInTime.now, PointInTime.valid, PointInTime.recorded)] == [*TimeAxis]
    assert PointInTime.valid(NOW) == PointInTime(TimeAxis.VALID, NOW) != PointInTime.recorded(NOW)


def test_moment_needs_an_offset() -> None:
    with pytest.raises(ValueError, match="offset"):
        PointInTime.now(NOW.replace(tzinfo=None))
