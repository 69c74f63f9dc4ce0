"""The demo tenant's budget profiles, votes and contexts: the file read, relative days turned into moments, in order.

The file is described in memories/data/demo/README.md. Nothing here knows what time it is: `now` is passed in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

MEASURED_FILE = Path(__file__).resolve().parent.parent / "data" / "demo" / "measured.json"
VOTES_FILE = Path(__file__).resolve().parent.parent / "data" / "demo" / "budgets_and_votes.json"


@dataclass(frozen=True)
class ProfileSaved:
    """A budget profile was made, or some of its numbers were changed."""

    at: datetime
    name: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Assigned:
    """A budget profile was assigned to a partition."""

    at: datetime
    name: str
    partition: str


@dataclass(frozen=True)
class Voted:
    """A memory (by its ref) was judged."""

    at: datetime
    ref: str
    feedback: str
    reason: str


@dataclass(frozen=True)
class TakenBack:
    """A judgement was taken back."""

    at: datetime
    vote: Voted


Step = ProfileSaved | Assigned | Voted | TakenBack


@dataclass(frozen=True)
class Asked:
    """An agent asked for a context; without `max_tokens` the budget profile decides."""

    at: datetime
    query: str
    partition: str
    max_tokens: int | None


def read_votes(now: datetime, file: Path = VOTES_FILE) -> tuple[Step, ...]:
    """What happened to the demo's budgets and memories as seen from `now`, oldest first."""
    told = json.loads(file.read_text(encoding="utf-8"))

    def moment(days_ago: float) -> datetime:
        return now - timedelta(days=days_ago)

    def voted(row: Mapping[str, Any]) -> Voted:
        return Voted(moment(row["days_ago"]), row["ref"], row["feedback"], row["reason"])

    steps: list[Step] = [
        *(ProfileSaved(moment(row["days_ago"]), row["name"], row["changes"]) for row in told["budget_profiles"]),
        *(Assigned(moment(row["days_ago"]), row["profile"], row["partition"]) for row in told["assignments"]),
        *(voted(row) for row in told["votes"]),
        *(
            TakenBack(moment(row["withdrawn_days_ago"]), voted(row))
            for row in told["votes"]
            if "withdrawn_days_ago" in row
        ),
    ]
    return tuple(sorted(steps, key=lambda step: step.at))


def read_questions(now: datetime, file: Path = VOTES_FILE) -> tuple[Asked, ...]:
    """What agents asked the demo as seen from `now`, oldest first."""
    asked = [
        Asked(now - timedelta(days=row["days_ago"]), row["query"], row["partition"], row.get("max_tokens"))
        for row in json.loads(file.read_text(encoding="utf-8"))["contexts"]
    ]
    return tuple(sorted(asked, key=lambda question: question.at))


@dataclass(frozen=True)
class Drafted:
    """A draft of a scoring profile was made of another one, or the next version of it."""

    at: datetime
    name: str
    based_on: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Collected:
    """A golden question was collected with the memories (by their refs) that its context should hold."""

    at: datetime
    query: str
    partition: str
    wants: tuple[str, ...]
    answer: str
    category: str


@dataclass(frozen=True)
class Evaluated:
    """The golden questions were asked with a scoring profile."""

    at: datetime
    profile: str
    budgets: tuple[int, ...]


@dataclass(frozen=True)
class MeasuredStory:
    """What the demo drafted, collected and measured, each oldest first."""

    drafts: tuple[Drafted, ...]
    questions: tuple[Collected, ...]
    evaluations: tuple[Evaluated, ...]


def read_measured(now: datetime, file: Path = MEASURED_FILE) -> MeasuredStory:
    """The same as seen from `now`."""
    told = json.loads(file.read_text(encoding="utf-8"))

    def moment(row: Mapping[str, Any]) -> datetime:
        return now - timedelta(days=row["days_ago"])

    return MeasuredStory(
        tuple(
            Drafted(moment(row), row["name"], row.get("based_on", ""), row["changes"])
            for row in told["scoring_profiles"]
        ),
        tuple(
            Collected(
                moment(row),
                row["query"],
                row["partition"],
                tuple(row["wants"]),
                row.get("answer", ""),
                row.get("category", ""),
            )
            for row in told["golden_questions"]
        ),
        tuple(Evaluated(moment(row), row["profile"], tuple(row["budgets"])) for row in told["evaluations"]),
    )
