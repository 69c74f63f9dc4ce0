"""Why a memory was no candidate: what it was at that moment, where it lies, or that others were nearer."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from context.services.workbench.exclusion_reasons import Absence, AskedAbout, absence_of
from memories.services.store.moments import Moment

AT = datetime(2026, 11, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HERE = AskedAbout(Moment.recorded(AT), "agent=support", is_exact=False)


@dataclass(frozen=True)
class Stored:
    version: int = 1
    valid_from: datetime = AT - 9 * DAY
    recorded_from: datetime = AT - 2 * DAY
    archived_at: datetime | None = None
    expires_at: datetime | None = None
    partition_path: str = "agent=support/user=c-1"


@pytest.mark.parametrize(
    ("memory", "asked", "told"),
    [
        (Stored(), HERE, Absence.FARTHER),
        (Stored(archived_at=AT - DAY), HERE, Absence.ARCHIVED),
        (Stored(archived_at=AT + DAY), HERE, Absence.FARTHER),
        (Stored(expires_at=AT), HERE, Absence.EXPIRED),
        (Stored(recorded_from=AT + DAY), HERE, Absence.NOT_YET),
        (Stored(recorded_from=AT + DAY, version=2), HERE, Absence.NEW_VERSION),
        (Stored(partition_path="agent=supports"), HERE, Absence.ELSEWHERE),
        (Stored(), replace(HERE, is_exact=True), Absence.ELSEWHERE),
        (Stored(), replace(HERE, partition=""), Absence.FARTHER),
        (Stored(), replace(HERE, moment=Moment.valid(AT - 10 * DAY)), Absence.NOT_YET),
        (Stored(recorded_from=AT + DAY), replace(HERE, moment=Moment.valid(AT)), Absence.FARTHER),
    ],
)
def test_absence_is_told_by_the_first_reason_that_holds(memory: Stored, asked: AskedAbout, told: Absence) -> None:
    assert absence_of(memory, asked) == told
