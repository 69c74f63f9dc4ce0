"""The demo tenant as data: its two files read and checked, relative dates turned into moments, told in order.

The files are described in memories/data/demo/README.md. Nothing here knows what time it is: `now` is passed in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from memories.services.content import check_content, check_metadata
from memories.services.partitions import PartitionPath, parse_partition

DEMO_FOLDER = Path(__file__).resolve().parent.parent / "data" / "demo"

_REQUIRED = {"ref", "partition", "kind", "content", "days_ago"}
_OPTIONAL = {
    *("confidence", "usefulness", "retrieved", "retrieved_days_ago", "pinned", "metadata", "source_id", "session"),
    *("position", "expires_in_days", "archived_days_ago", "versions"),
}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_PLACEHOLDER = re.compile(r"\{\{(?P<style>iso|en|short|month|de|ja) (?P<days_ago>-?\d+)\}\}")
_PLACEHOLDER_LIKE = re.compile(r"\{\{\s*\w+ -?[\d.]+\s*\}\}")
_STYLES: dict[str, Callable[[date], str]] = {
    "iso": lambda day: day.isoformat(),
    "en": lambda day: f"{day.day} {_MONTHS[day.month - 1]} {day.year}",
    "short": lambda day: f"{day.day} {_MONTHS[day.month - 1]}",
    "month": lambda day: f"{_MONTHS[day.month - 1]} {day.year}",
    "de": lambda day: f"{day.day:02}.{day.month:02}.{day.year}",
    "ja": lambda day: f"{day.year}年{day.month}月{day.day}日",
}


@dataclass(frozen=True)
class DemoMemory:
    """One memory as it was first stored, and what was counted about it since."""

    ref: str
    partition: PartitionPath
    kind: str
    content: str
    created_at: datetime
    confidence: float
    usefulness: float
    retrieval_count: int
    last_retrieved_at: datetime | None
    pinned: bool
    metadata: Mapping[str, Any]
    source_id: str
    session: str
    position: int | None
    expires_at: datetime | None


@dataclass(frozen=True)
class Stored:
    """A memory was stored."""

    at: datetime
    memory: DemoMemory


@dataclass(frozen=True)
class Corrected:
    """The text of a memory was replaced."""

    at: datetime
    ref: str
    content: str


@dataclass(frozen=True)
class Archived:
    """A memory was archived."""

    at: datetime
    ref: str


@dataclass(frozen=True)
class Linked:
    """Two memories were linked."""

    at: datetime
    source: str
    kind: str
    target: str


@dataclass(frozen=True)
class MemoWritten:
    """The tenant memo was written anew."""

    at: datetime
    content: str


@dataclass(frozen=True)
class Summarised:
    """The summary of a partition was written anew in one style."""

    at: datetime
    partition: PartitionPath
    style: str
    content: str


@dataclass(frozen=True)
class Named:
    """The moment was given a name: a snapshot."""

    at: datetime
    name: str


Step = Stored | Corrected | Archived | Linked | MemoWritten | Summarised | Named


@dataclass(frozen=True)
class DemoQuestion:
    """A question worth asking of the demo tenant, and the partition to ask it in."""

    query: str
    partition: str


@dataclass(frozen=True)
class DemoStory:
    """A tenant and everything that happened to it, oldest first."""

    tenant_name: str
    began_at: datetime
    steps: tuple[Step, ...]
    questions: tuple[DemoQuestion, ...]

    @property
    def memories(self) -> tuple[DemoMemory, ...]:
        """The memories in the order in which they were stored."""
        return tuple(step.memory for step in self.steps if isinstance(step, Stored))


def read_story(now: datetime, folder: Path = DEMO_FOLDER) -> DemoStory:
    """The demo tenant of `folder` as seen from `now`. Raises `ValueError` naming the line that is wrong."""
    tenant_text = (folder / "tenant.json").read_text(encoding="utf-8")
    return parse_story(tenant_text, (folder / "memories.jsonl").read_text(encoding="utf-8"), now=now)


@cache
def questions_for(tenant_name: str, folder: Path = DEMO_FOLDER) -> tuple[DemoQuestion, ...]:
    """What is worth asking of the demo tenant; nothing for a tenant of another name."""
    tenant = json.loads((folder / "tenant.json").read_text(encoding="utf-8"))
    return _parse_questions(tenant) if tenant["name"] == tenant_name else ()


def parse_story(tenant_text: str, memories_text: str, *, now: datetime) -> DemoStory:
    """The story told by the texts of the two files. Raises `ValueError` naming the line that is wrong."""
    tenant = json.loads(tenant_text)
    steps: list[Step] = []
    for number, line in enumerate(memories_text.splitlines(), start=1):
        try:
            steps.extend(_steps_of_memory(json.loads(line), now))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"memories.jsonl, line {number}: {error}") from error
    steps.extend(
        MemoWritten(_moment(memo["days_ago"], now), expand_dates(memo["content"], now)) for memo in tenant["memos"]
    )
    steps.extend(
        Linked(_moment(link["days_ago"], now), link["source"], link["kind"], link["target"]) for link in tenant["links"]
    )
    steps.extend(
        Summarised(
            _moment(summary["days_ago"], now),
            parse_partition(summary["partition"]),
            summary["style"],
            expand_dates(summary["content"], now),
        )
        for summary in tenant["summaries"]
    )
    steps.extend(Named(_moment(snapshot["days_ago"], now), snapshot["name"]) for snapshot in tenant["snapshots"])
    steps.sort(key=lambda step: step.at)
    _check_references(steps)
    return DemoStory(
        tenant_name=tenant["name"],
        began_at=_moment(tenant["days_ago"], now),
        steps=tuple(steps),
        questions=_parse_questions(tenant),
    )


def expand_dates(text: str, now: datetime) -> str:
    """`text` with every `{{style days_ago}}` written out; days ago below zero lie ahead.

    A day that falls on a weekend moves away from today, to the Friday before or the Monday after: people work then.
    """

    def written_out(match: re.Match[str]) -> str:
        day = _working_day(now.date() - timedelta(days=int(match["days_ago"])), today=now.date())
        return _STYLES[match["style"]](day)

    expanded = _PLACEHOLDER.sub(written_out, text)
    if _PLACEHOLDER_LIKE.search(expanded):
        raise ValueError("a date placeholder is not of the form {{style days_ago}}")
    return expanded


def _working_day(day: date, *, today: date) -> date:
    past_friday = day.weekday() - 4
    if past_friday <= 0:
        return day
    return day - timedelta(days=past_friday) if day <= today else day + timedelta(days=3 - past_friday)


def _moment(days_ago: float, now: datetime) -> datetime:
    return now - timedelta(days=days_ago)


def _steps_of_memory(row: Mapping[str, Any], now: datetime) -> Iterator[Step]:
    if missing := _REQUIRED - row.keys():
        raise ValueError(f"missing {', '.join(sorted(missing))}")
    if unknown := row.keys() - _REQUIRED - _OPTIONAL:
        raise ValueError(f"unknown {', '.join(sorted(unknown))}")
    earlier = row.get("versions", ())
    texts = [expand_dates(text, now) for text in (*(version["content"] for version in earlier), row["content"])]
    for text in texts:
        check_content(text)
    days = [row["days_ago"], *(version["until_days_ago"] for version in earlier)]
    if "archived_days_ago" in row:
        days.append(row["archived_days_ago"])
    if days != sorted(set(days), reverse=True) or days[-1] < 0:
        raise ValueError("its moments are not in order, or lie ahead")
    yield Stored(_moment(days[0], now), _first_version(row, texts[0], now))
    for day, text in zip(days[1:], texts[1:], strict=False):
        yield Corrected(_moment(day, now), row["ref"], text)
    if "archived_days_ago" in row:
        yield Archived(_moment(row["archived_days_ago"], now), row["ref"])


def _first_version(row: Mapping[str, Any], content: str, now: datetime) -> DemoMemory:
    metadata = row.get("metadata", {})
    check_metadata(metadata)
    return DemoMemory(
        ref=row["ref"],
        partition=parse_partition(row["partition"]),
        kind=row["kind"],
        content=content,
        created_at=_moment(row["days_ago"], now),
        confidence=row.get("confidence", 0.8),
        usefulness=row.get("usefulness", 0.5),
        retrieval_count=row.get("retrieved", 0),
        last_retrieved_at=_moment(row["retrieved_days_ago"], now) if "retrieved_days_ago" in row else None,
        pinned=row.get("pinned", False),
        metadata=metadata,
        source_id=row.get("source_id", ""),
        session=row.get("session", ""),
        position=row.get("position"),
        expires_at=_moment(-row["expires_in_days"], now) if "expires_in_days" in row else None,
    )


def _check_references(steps: Sequence[Step]) -> None:
    """Every ref is stored once, and a link joins two memories that were live at its moment."""
    known: set[str] = set()
    live: set[str] = set()
    for step in steps:
        if isinstance(step, Stored):
            if step.memory.ref in known:
                raise ValueError(f"the ref {step.memory.ref} appears twice")
            known.add(step.memory.ref)
            live.add(step.memory.ref)
        elif isinstance(step, Archived):
            live.discard(step.ref)
        elif isinstance(step, Linked) and (lost := {step.source, step.target} - live):
            raise ValueError(f"a link names {', '.join(sorted(lost))}, which is not live at its moment")


def _parse_questions(tenant: Mapping[str, Any]) -> tuple[DemoQuestion, ...]:
    return tuple(DemoQuestion(question["query"], question["partition"]) for question in tenant["questions"])
