"""Why a memory was no candidate: its state at that time, its partition, or nearer memories."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from context.services.workbench.exclusion_reasons import ExclusionReason, RequestedScope, exclusion_reason
from memories.services.store.moments import PointInTime

AT = datetime(2026, 11, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HERE = RequestedScope(PointInTime.recorded(AT), "agent=support", is_exact=False)


@dataclass(frozen=True)
class Stored:
    version: int = 1
    valid_from: datetime = AT - 9 * DAY
    recorded_from: datetime = AT - 2 * DAY
    archived_at: datetime | None = None
    expires_at: datetime | None = None
    partition_path: str = "agent=support/user=c-1"


@pytest.mark.parametrize(
    ("memory", "scope", "expected"),
    [
        (Stored(), HERE, ExclusionReason.FARTHER),
        (Stored(archived_at=AT - DAY), HERE, ExclusionReason.ARCHIVED),
        (Stored(archived_at=AT + DAY), HERE, ExclusionReason.FARTHER),
        (Stored(expires_at=AT), HERE, ExclusionReason.EXPIRED),
        (Stored(recorded_from=AT + DAY), HERE, ExclusionReason.NOT_YET),
        (Stored(recorded_from=AT + DAY, version=2), HERE, ExclusionReason.NEW_VERSION),
        (Stored(partition_path="agent=supports"), HERE, ExclusionReason.ELSEWHERE),
        (Stored(), replace(HERE, is_exact=True), ExclusionReason.ELSEWHERE),
        (Stored(), replace(HERE, partition=""), ExclusionReason.FARTHER),
        (Stored(), replace(HERE, segments={"user": "c-1"}), ExclusionReason.FARTHER),
        (Stored(), replace(HERE, segments={"user": "c-2"}), ExclusionReason.ELSEWHERE),
        (Stored(), replace(HERE, moment=PointInTime.valid(AT - 10 * DAY)), ExclusionReason.NOT_YET),
        (Stored(recorded_from=AT + DAY), replace(HERE, moment=PointInTime.valid(AT)), ExclusionReason.FARTHER),
    ],
)
def test_exclusion_is_explained_by_the_first_reason_that_applies(
    memory: Stored, scope: RequestedScope, expected: ExclusionReason
) -> None:
    assert exclusion_reason(memory, scope) == expected
