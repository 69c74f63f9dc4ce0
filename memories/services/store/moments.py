"""The point in time that a query reads: now, or a past valid or recorded time (ADR-0056, ADR-0061)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self


class TimeAxis(StrEnum):
    """The interval that a point in time refers to: `valid` is when a row was true, `recorded` when it was stored."""

    NOW = "now"
    VALID = "valid"
    RECORDED = "recorded"


@dataclass(frozen=True)
class PointInTime:
    """A time on one of the axes. Use `now`, `valid` or `recorded` to create it."""

    kind: TimeAxis
    at: datetime

    def __post_init__(self) -> None:
        if self.at.utcoffset() is None:
            raise ValueError("a point in time needs an offset from UTC")

    @classmethod
    def now(cls, at: datetime) -> Self:
        """The present: what is live at `at`, the caller's clock."""
        return cls(TimeAxis.NOW, at)

    @classmethod
    def valid(cls, at: datetime) -> Self:
        """What was true at `at`, as known today."""
        return cls(TimeAxis.VALID, at)

    @classmethod
    def recorded(cls, at: datetime) -> Self:
        """What was stored at `at`."""
        return cls(TimeAxis.RECORDED, at)

    @property
    def reads_history(self) -> bool:
        """Whether superseded versions are read too; the present needs current rows only."""
        return self.kind is not TimeAxis.NOW
