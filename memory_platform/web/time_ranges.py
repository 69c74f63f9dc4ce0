"""The time ranges that charts and lists offer, each in bins of one length."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ActivityRange:
    """A range that the overview offers: `steps` bins up to now, each `step` long."""

    name: str
    label: str
    #: The length of a bin, as an adjective: "6-hour".
    bin_length: str
    step: timedelta
    steps: int

    def starts_at(self, now: datetime) -> list[datetime]:
        """Return the start of each bin, the current one last; hours and days are those of UTC."""
        current = now - (now - _EPOCH) % self.step
        return [current - self.step * place for place in reversed(range(self.steps))]


SPANS: Sequence[ActivityRange] = (
    ActivityRange("24h", "24 hours", "1-hour", timedelta(hours=1), 24),
    ActivityRange("7d", "7 days", "6-hour", timedelta(hours=6), 28),
    ActivityRange("30d", "30 days", "1-day", timedelta(days=1), 30),
    ActivityRange("90d", "90 days", "1-day", timedelta(days=1), 90),
)
DEFAULT_SPAN = SPANS[1]

#: The ranges up to now that filters of lists offer: name, label and length.
RECENT_RANGES = (
    ("1h", "Last hour", timedelta(hours=1)),
    ("24h", "24 hours", timedelta(days=1)),
    ("7d", "7 days", timedelta(days=7)),
    ("30d", "30 days", timedelta(days=30)),
)
RECENT_RANGE_CHOICES = [(name, label) for name, label, _ in RECENT_RANGES]


def range_start(name: str, now: datetime) -> datetime | None:
    """Return when a range of `RECENT_RANGES` begins, None for an unknown one."""
    return next((now - length for known, _, length in RECENT_RANGES if known == name), None)
