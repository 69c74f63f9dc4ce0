"""The reasons why a memory was not a candidate of a context, as far as its row shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from context.services.workbench.plan_text import counted
from memories.services.partitions.paths import is_within, parse_partition
from memories.services.store.moments import PointInTime, TimeAxis


class ExclusionReason(StrEnum):
    """Why a memory was no candidate."""

    ARCHIVED = "archived"
    #: Archived because another memory replaced it.
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    #: The memory did not exist yet.
    NOT_YET = "not_yet"
    NEW_VERSION = "new_version"
    #: It is in a partition that was not searched.
    ELSEWHERE = "elsewhere"
    #: Others fill the candidate gate: the budget times the overfetch ratio.
    FARTHER = "farther"


class ExcludedMemory(Protocol):
    """The current values of the fields that determine the reason."""

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
    segments: Mapping[str, str] = field(default_factory=dict)

    def covers(self, path: str) -> bool:
        """Whether the memories of a partition are searched."""
        is_reached = path == self.partition if self.is_exact else is_within(path, self.partition)
        return is_reached and self.segments.items() <= set(parse_partition(path).segments)


def exclusion_reason(memory: ExcludedMemory, scope: RequestedScope) -> ExclusionReason:
    """Return why `memory` was not a candidate."""
    at = scope.moment.at
    since = memory.valid_from if scope.moment.kind is TimeAxis.VALID else memory.recorded_from
    if since > at:
        return ExclusionReason.NOT_YET if memory.version == 1 else ExclusionReason.NEW_VERSION
    if memory.archived_at is not None and memory.archived_at <= at:
        return ExclusionReason.ARCHIVED
    if memory.expires_at is not None and memory.expires_at <= at:
        return ExclusionReason.EXPIRED
    return ExclusionReason.FARTHER if scope.covers(memory.partition_path) else ExclusionReason.ELSEWHERE


#: A sentence for each reason, of a packer or a section as well; "" is an included memory.
_SENTENCES = {
    "": "Included at position {position}.",
    ExclusionReason.ARCHIVED: "The memory is archived.",
    ExclusionReason.SUPERSEDED: "Another memory replaced this one, which is archived.",
    ExclusionReason.EXPIRED: "The memory has expired.",
    ExclusionReason.NOT_YET: "The memory was stored after the time that the context reads.",
    ExclusionReason.NEW_VERSION: "This version was stored after the time that the context reads.",
    ExclusionReason.ELSEWHERE: "The memory is in {partition}, which the context does not search.",
    ExclusionReason.FARTHER: "The memory is not among the {candidates}, because others rank higher.",
    "over_budget": "The memory does not fit: {missing}.",
    "after_skip_limit": "The memory was not tried: packing stopped after three memories that did not fit.",
    "below_minimum_score": "The score {score:.3f} is below the minimum score {minimum:.3f}.",
    "near_duplicate": "A memory that states the same is included.",
    "already_included": "Another section already includes the memory.",
}


def exclusion_sentence(
    reason: str,
    *,
    position: int | None,
    partition: str,
    candidates: int,
    tokens_missing: int | None,
    score: float | None,
    minimum_score: float | None,
    superseded_on: datetime | None = None,
) -> str:
    """Return in one sentence why a memory is included (`reason` "") or excluded; in another, what superseded it."""
    tokens = counted(tokens_missing or 0, "token is", "tokens are")
    sentence = _SENTENCES[reason].format(
        position=position,
        partition=partition or "the root",
        candidates=counted(candidates, "candidate", "candidates"),
        missing=f"{tokens} missing" if tokens_missing else "its section is full",
        score=score or 0.0,
        minimum=minimum_score or 0.0,
    )
    if superseded_on is None or reason == ExclusionReason.SUPERSEDED:
        return sentence
    day = superseded_on.astimezone(UTC)
    return f"{sentence} A memory of {day.day} {day:%B %Y} superseded it."
