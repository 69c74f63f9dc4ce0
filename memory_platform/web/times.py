"""The format of times and waits on pages; a page contains hundreds of times."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from memory_platform.web.numerals import counted


@dataclass(frozen=True)
class FormattedTime:
    """A time in UTC: for programs, to the second, and for people."""

    iso: str
    exact: str
    text: str


@lru_cache(maxsize=2_000)
def format_time(value: datetime) -> FormattedTime:
    """Return the time in three forms; cached, as charts repeat their points."""
    at = value.astimezone(UTC)
    return FormattedTime(at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}", f"{at.day} {at:%b %Y, %H:%M}")


def format_wait(wait: timedelta) -> str:
    """Return a wait, rounded up: "1 second", "90 seconds", "15 minutes"."""
    seconds = -(-wait // timedelta(seconds=1))
    return counted(seconds, "second", "seconds") if seconds < 120 else counted(-(-seconds // 60), "minute", "minutes")
