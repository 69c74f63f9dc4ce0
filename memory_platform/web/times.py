"""How a point in time is written on pages: put together here, for a page holds hundreds of them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache


@dataclass(frozen=True)
class FormattedTime:
    """In UTC: for programs, to the second, and as it is read."""

    iso: str
    exact: str
    text: str


@lru_cache(maxsize=2_000)
def format_time(value: datetime) -> FormattedTime:
    """The cache is for charts, whose many points are the same at each look."""
    at = value.astimezone(UTC)
    return FormattedTime(at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}", f"{at.day} {at:%b %Y, %H:%M}")
