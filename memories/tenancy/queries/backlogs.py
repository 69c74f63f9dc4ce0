"""Backlogs, and time bins."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import DateTimeField, DurationField, F, Func, Value


@dataclass(frozen=True)
class Backlog:
    """The number of waiting rows and the time of the oldest; `is_more` if counting stopped."""

    count: int = 0
    oldest: datetime | None = None
    is_more: bool = False


class DateBin(Func):
    """The start of a row's time bin; bins are `step` long and the first starts at `since`."""

    function = "date_bin"
    output_field = DateTimeField()

    def __init__(self, column: str, *, since: datetime, step: timedelta) -> None:
        super().__init__(Value(step, DurationField()), F(column), Value(since, DateTimeField()))
