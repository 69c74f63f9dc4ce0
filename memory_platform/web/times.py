"""The format of times on pages; a page contains hundreds of them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache


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
