"""What waits and since when; what happened in equal stretches of time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import DateTimeField, DurationField, F, Func, Value


@dataclass(frozen=True)
class Backlog:
    """How many rows wait for somebody, and since when the first of them does; `is_more` where counting stopped."""

    count: int = 0
    oldest: datetime | None = None
    is_more: bool = False


class DateBin(Func):
    """The beginning of the stretch of time that a row falls into: `step` long each, the first one at `since`."""

    function = "date_bin"
    output_field = DateTimeField()

    def __init__(self, column: str, *, since: datetime, step: timedelta) -> None:
        super().__init__(Value(step, DurationField()), F(column), Value(since, DateTimeField()))
