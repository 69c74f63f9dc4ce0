"""The moment that is read: now, or a past one of the valid or of the recorded time (ADR-0056, ADR-0061)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class TimeAxis(StrEnum):
    """By which of its two intervals a row is there: `valid` asks what was true, `recorded` what was known."""

    NOW = "now"
    VALID = "valid"
    RECORDED = "recorded"


@dataclass(frozen=True)
class PointInTime:
    """A point in time and which time it is a point of. Made by `now`, `valid` and `recorded`."""

    kind: TimeAxis
    at: datetime

    def __post_init__(self) -> None:
        if self.at.utcoffset() is None:
            raise ValueError("a moment needs a time with its offset")

    @classmethod
    def now(cls, at: datetime) -> PointInTime:
        """The present: what is live at `at`, the clock of whoever asks."""
        return cls(TimeAxis.NOW, at)

    @classmethod
    def valid(cls, at: datetime) -> PointInTime:
        """What was true at `at`, as we know today."""
        return cls(TimeAxis.VALID, at)

    @classmethod
    def recorded(cls, at: datetime) -> PointInTime:
        """What we held at `at`."""
        return cls(TimeAxis.RECORDED, at)

    @property
    def reads_history(self) -> bool:
        """Whether superseded versions have a say. The present is read from the current rows alone."""
        return self.kind is not TimeAxis.NOW

    def is_past(self, now: datetime) -> bool:
        """Whether it is a moment of history that lies before `now`."""
        return self.reads_history and self.at < now
