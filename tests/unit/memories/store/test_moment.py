"""What a moment is."""

from datetime import UTC, datetime, timedelta

import pytest

from memories.services.store.moments import Moment, Time

NOW = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


def test_moment_says_which_time_it_is_of() -> None:
    assert [moment(NOW).kind for moment in (Moment.now, Moment.valid, Moment.recorded)] == [*Time]
    assert Moment.valid(NOW) == Moment(Time.VALID, NOW) != Moment.recorded(NOW)


def test_only_a_moment_of_history_before_now_is_past() -> None:
    earlier = NOW - timedelta(microseconds=1)
    assert [moment(earlier).is_past(NOW) for moment in (Moment.now, Moment.valid, Moment.recorded)] == [
        False,
        True,
        True,
    ]
    assert not Moment.valid(NOW).is_past(NOW)
    assert Moment.valid(NOW).reads_history


def test_moment_needs_an_offset() -> None:
    with pytest.raises(ValueError, match="offset"):
        Moment.now(NOW.replace(tzinfo=None))
