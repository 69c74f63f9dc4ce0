"""Why a memory was no candidate of a context, as far as it is known without searching again."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from memories.services.partitions.paths import is_within
from memories.services.store.moments import PointInTime, TimeAxis


class ExclusionReason(StrEnum):
    """Why, in one word."""

    ARCHIVED = "archived"
    EXPIRED = "expired"
    #: It, or this version of it, was not there yet.
    NOT_YET = "not_yet"
    NEW_VERSION = "new_version"
    #: It lies in a partition that was not asked for.
    ELSEWHERE = "elsewhere"
    #: Others fill what is looked at: the budget times the overfetch ratio.
    FARTHER = "farther"


class ExcludedMemory(Protocol):
    """What is read of the memory, as it is today."""

    version: int
    valid_from: datetime
    recorded_from: datetime
    archived_at: datetime | None
    expires_at: datetime | None
    partition_path: str


@dataclass(frozen=True)
class RequestedScope:
    """Of which moment and which partitions a context was asked for."""

    moment: PointInTime
    partition: str
    is_exact: bool

    def reaches(self, path: str) -> bool:
        return path == self.partition if self.is_exact else is_within(path, self.partition)


def exclusion_reason(memory: ExcludedMemory, asked: RequestedScope) -> ExclusionReason:
    """Why nothing was found of `memory`, which was no candidate."""
    at = asked.moment.at
    since = memory.valid_from if asked.moment.kind is TimeAxis.VALID else memory.recorded_from
    if since > at:
        return ExclusionReason.NOT_YET if memory.version == 1 else ExclusionReason.NEW_VERSION
    if memory.archived_at is not None and memory.archived_at <= at:
        return ExclusionReason.ARCHIVED
    if memory.expires_at is not None and memory.expires_at <= at:
        return ExclusionReason.EXPIRED
    return ExclusionReason.FARTHER if asked.reaches(memory.partition_path) else ExclusionReason.ELSEWHERE
