"""Why a memory was no candidate of a context, as far as its row alone shows."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from memories.services.partitions.paths import is_within
from memories.services.store.moments import PointInTime, TimeAxis


class ExclusionReason(StrEnum):
    """Why a memory was no candidate."""

    ARCHIVED = "archived"
    EXPIRED = "expired"
    #: The memory did not exist yet.
    NOT_YET = "not_yet"
    NEW_VERSION = "new_version"
    #: It is in a partition that was not searched.
    ELSEWHERE = "elsewhere"
    #: Others fill the candidate gate: the budget times the overfetch ratio.
    FARTHER = "farther"


class ExcludedMemory(Protocol):
    """The fields read, with their current values."""

    version: int
    valid_from: datetime
    recorded_from: datetime
    archived_at: datetime | None
    expires_at: datetime | None
    partition_path: str


@dataclass(frozen=True)
class RequestedScope:
    """The time and the partitions that a context covers."""

    moment: PointInTime
    partition: str
    is_exact: bool


def exclusion_reason(memory: ExcludedMemory, scope: RequestedScope) -> ExclusionReason:
    """Return why `memory` was no candidate."""
    at = scope.moment.at
    since = memory.valid_from if scope.moment.kind is TimeAxis.VALID else memory.recorded_from
    if since > at:
        return ExclusionReason.NOT_YET if memory.version == 1 else ExclusionReason.NEW_VERSION
    if memory.archived_at is not None and memory.archived_at <= at:
        return ExclusionReason.ARCHIVED
    if memory.expires_at is not None and memory.expires_at <= at:
        return ExclusionReason.EXPIRED
    path, searched = memory.partition_path, scope.partition
    is_reached = path == searched if scope.is_exact else is_within(path, searched)
    return ExclusionReason.FARTHER if is_reached else ExclusionReason.ELSEWHERE
