"""New memories and changes before they are stored: fields and validation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import ContentError, check_content, check_metadata

MAX_LABEL_CHARACTERS = 255
MAX_POSITION = 2_147_483_647
MAX_LINKS = 50
#: Callers' clocks differ; more than a day in the future is an error.
MAX_AHEAD = timedelta(days=1)

_WORD = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class FieldProblem:
    """An invalid field: a stable `code` for programs, a `detail` for people."""

    field: str
    code: str
    detail: str


@dataclass(frozen=True)
class NewLink:
    """A link from the new memory to an existing one."""

    target_id: UUID
    kind: str = "related"


@dataclass(frozen=True)
class NewMemory:
    """A memory to store. `created_at` None means now; times have an offset."""

    content: str
    partition: PartitionPath = field(default_factory=PartitionPath)
    kind: str = "fact"
    confidence: float = 0.8
    pinned: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    expires_at: datetime | None = None
    source_id: str = ""
    session: str = ""
    position: int | None = None
    links: tuple[NewLink, ...] = ()


#: The fields that `memory_change_problems` knows; also what an edit may name.
CHANGEABLE_MEMORY_FIELDS = (
    "content",
    "partition",
    "kind",
    "confidence",
    "pinned",
    "metadata",
    "created_at",
    "expires_at",
    "source_id",
    "session",
    "position",
)


def new_memory_problems(row: NewMemory, *, now: datetime) -> list[FieldProblem]:
    """Return all problems of a new memory."""
    values = {name: getattr(row, name) for name in CHANGEABLE_MEMORY_FIELDS}
    problems = _problems_of_values(values, now=now)
    problems += _interval_problems(row.created_at or now, row.expires_at)
    problems += _link_problems(row.links)
    return problems


def memory_change_problems(
    changes: Mapping[str, Any], *, created_at: datetime, expires_at: datetime | None, now: datetime
) -> list[FieldProblem]:
    """Return all problems of an edit of a memory that has `created_at` and `expires_at`."""
    problems = [
        FieldProblem(name, "unknown_field", f"A memory has no field {name!r} that can be changed.")
        for name in changes
        if name not in CHANGEABLE_MEMORY_FIELDS
    ]
    if changes.get("created_at", created_at) is None:
        problems.append(FieldProblem("created_at", "required", "A memory needs the time it was created at."))
    problems += _problems_of_values(changes, now=now)
    start = changes.get("created_at") or created_at
    return problems + _interval_problems(start, changes.get("expires_at", expires_at))


def is_kind_name(value: object) -> bool:
    """Whether `value` can be the kind of a memory or a link: a lower-case word of up to 32 characters."""
    return isinstance(value, str) and bool(_WORD.fullmatch(value))


def _problems_of_values(values: Mapping[str, Any], *, now: datetime) -> list[FieldProblem]:
    return [
        FieldProblem(name, code, detail)
        for name, value in values.items()
        if name in CHANGEABLE_MEMORY_FIELDS
        for code, detail in _value_problems(name, value, now)
    ]


def _value_problems(name: str, value: Any, now: datetime) -> Iterator[tuple[str, str]]:
    if name == "content":
        yield from _checked(check_content, value)
    elif name == "metadata":
        yield from _checked(check_metadata, value)
    elif name == "partition" and not isinstance(value, PartitionPath):
        yield "bad_partition", "A partition path is needed."
    elif name == "kind" and not is_kind_name(value):
        yield "bad_kind", "A kind is a lower-case word of letters, digits, _ and -, at most 32 characters."
    elif name == "confidence":
        yield from _confidence_problems(value)
    elif name == "pinned" and not isinstance(value, bool):
        yield "not_a_boolean", "True or false is needed."
    elif name in {"created_at", "expires_at"} and value is not None:
        yield from _time_problems(value, latest=now + MAX_AHEAD if name == "created_at" else None)
    elif name in {"source_id", "session"}:
        yield from _label_problems(value)
    elif name == "position" and value is not None:
        yield from _position_problems(value)


def _checked(check: Any, value: object) -> Iterator[tuple[str, str]]:
    try:
        check(value)
    except ContentError as error:
        yield error.code, error.detail


def _confidence_problems(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        yield "not_a_number", "A number from 0 to 1 is needed."
    elif not 0 <= value <= 1:
        yield "out_of_range", "A confidence is a number from 0 to 1."


def _time_problems(value: object, *, latest: datetime | None) -> Iterator[tuple[str, str]]:
    if not isinstance(value, datetime):
        yield "not_a_time", "A date and time is needed."
    elif value.utcoffset() is None:
        yield "no_offset", "A time needs its offset from UTC, such as 2026-05-08T13:56:00Z."
    elif not _is_representable(value):
        yield "out_of_range", "The time lies outside the years 1 to 9999 of UTC."
    elif latest is not None and value > latest:
        yield "too_far_ahead", "The time lies more than a day ahead."


def _is_representable(value: datetime) -> bool:
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True


def _label_problems(value: object) -> Iterator[tuple[str, str]]:
    if not isinstance(value, str):
        yield "not_text", "A string is needed."
    elif len(value) > MAX_LABEL_CHARACTERS:
        yield "too_long", f"At most {MAX_LABEL_CHARACTERS} characters are stored."
    elif any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in value):
        yield "bad_characters", "The text holds NUL or half of a surrogate pair."


def _position_problems(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, bool) or not isinstance(value, int):
        yield "not_an_integer", "A whole number is needed."
    elif not 0 <= value <= MAX_POSITION:
        yield "out_of_range", f"A position is a whole number from 0 to {MAX_POSITION:,}."


def _interval_problems(created_at: object, expires_at: object) -> list[FieldProblem]:
    """Compare two valid times; invalid ones are reported elsewhere."""
    if not isinstance(created_at, datetime) or not isinstance(expires_at, datetime):
        return []
    if created_at.utcoffset() is None or expires_at.utcoffset() is None or expires_at > created_at:
        return []
    return [FieldProblem("expires_at", "before_creation", "A memory expires after it was created.")]


def _link_problems(links: Iterable[NewLink]) -> list[FieldProblem]:
    links = tuple(links)
    if len(links) > MAX_LINKS:
        return [FieldProblem("links", "too_many", f"At most {MAX_LINKS} links are stored with a memory.")]
    return [
        FieldProblem("links", "bad_kind", "The kind of a link is a lower-case word of at most 32 characters.")
        for link in links
        if not is_kind_name(link.kind)
    ]
