"""New memories and changes before they are stored: fields and validation."""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import CodedError, check_content, check_metadata, is_storable_text

MAX_LABEL_CHARACTERS = 255
MAX_POSITION = 2_147_483_647
MAX_LINKS = 50
#: Maximum memories that one memory replaces when it is stored.
MAX_SUPERSEDED = 50
#: The name of the field, and the kind of the link from a memory to one that it replaced.
SUPERSEDES = "supersedes"
#: The code of the problem of a row that requires another version of a stored memory.
STALE_VERSION = "stale_version"
#: Callers' clocks differ; a time further ahead than this is an error.
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
    """A memory to store. `created_at` None means now, `valid_from` None `created_at`; times have an offset.

    If it updates the memory of its `source_id`, the text changes and the fields in `given`; others stay as they are.
    `if_versions` are the versions that this memory may have, 0 if there may be none; None allows every one. `if_state`
    is the `source_state` that it must have unless it has the text already; "" allows every one.
    `superseded_versions` are those that the memories of `supersedes` must have, in the same order; () allows every one.
    """

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
    supersedes: tuple[UUID, ...] = ()
    superseded_versions: tuple[int, ...] = ()
    given: frozenset[str] = frozenset()
    valid_from: datetime | None = None
    if_versions: Container[int] | None = None
    if_state: str = ""

    @property
    def is_conditional(self) -> bool:
        """Whether the row depends on the state of the memory of its `source_id`."""
        return self.if_versions is not None or bool(self.if_state)

    def is_stale(self, version: int) -> bool:
        """Whether `if_versions` excludes the version of the memory of the `source_id`, 0 if there is none."""
        return self.if_versions is not None and version not in self.if_versions


_ONLY_OF_NEW = frozenset({"links", SUPERSEDES, "superseded_versions", "given", "valid_from", "if_versions", "if_state"})
#: The fields that an edit may change.
CHANGEABLE_MEMORY_FIELDS = tuple(each.name for each in fields(NewMemory) if each.name not in _ONLY_OF_NEW)
_OPTIONAL = frozenset({"created_at", "expires_at", "position"})
#: The type of a field's values, and code and detail of the problem of another type.
_TYPES: Mapping[str, tuple[type | tuple[type, ...], str, str]] = {
    "partition": (PartitionPath, "bad_partition", "Must be a partition path."),
    "confidence": ((int, float), "not_a_number", "Must be a number from 0 to 1."),
    "pinned": (bool, "not_a_boolean", "Must be true or false."),
    "created_at": (datetime, "not_a_time", "Must be a date and time."),
    "expires_at": (datetime, "not_a_time", "Must be a date and time."),
    "source_id": (str, "not_text", "Must be a string."),
    "session": (str, "not_text", "Must be a string."),
    "position": (int, "not_an_integer", "Must be a whole number."),
}


def source_state(version: int = 0, content_hash: str = "") -> str:
    """Return the state of the memory of a `source_id`, without spaces: its version and the beginning of its hash."""
    return f"{version}.{content_hash[:8]}"


def new_memory_problems(row: NewMemory, *, now: datetime) -> list[FieldProblem]:
    """Return all problems of a new memory."""
    problems = _problems_of_values({name: getattr(row, name) for name in CHANGEABLE_MEMORY_FIELDS}, now)
    problems += _interval_problems(row.created_at or now, row.expires_at)
    if row.if_versions is not None and not row.source_id:
        problems.append(FieldProblem("source_id", "required", "A condition needs the source_id of a memory."))
    if len(row.supersedes) > MAX_SUPERSEDED:
        detail = f"A memory can replace at most {MAX_SUPERSEDED} others."
        problems.append(FieldProblem(SUPERSEDES, "too_many", detail))
    if row.superseded_versions and len(row.superseded_versions) != len(row.supersedes):
        detail = "There must be one version for each memory in supersedes."
        problems.append(FieldProblem("superseded_versions", "bad_length", detail))
    elif len(set(zip(row.supersedes, row.superseded_versions, strict=False))) > len(set(row.supersedes)):
        detail = "A memory that supersedes names twice must have the same version both times."
        problems.append(FieldProblem("superseded_versions", "different_versions", detail))
    if len(row.links) > MAX_LINKS:
        return [*problems, FieldProblem("links", "too_many", f"At most {MAX_LINKS} links are stored with a memory.")]
    detail = "The kind of a link must be a lower-case word of at most 32 characters."
    return problems + [FieldProblem("links", "bad_kind", detail) for link in row.links if not is_kind_name(link.kind)]


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
        problems.append(FieldProblem("created_at", "required", "A memory needs a creation time."))
    problems += _problems_of_values(changes, now)
    start = changes.get("created_at") or created_at
    return problems + _interval_problems(start, changes.get("expires_at", expires_at))


def is_kind_name(value: object) -> bool:
    """Whether `value` can be the kind of a memory or a link: a lower-case word of up to 32 characters."""
    return isinstance(value, str) and bool(_WORD.fullmatch(value))


def _problems_of_values(values: Mapping[str, Any], now: datetime) -> list[FieldProblem]:
    known = {name: _value_problem(name, value, now) for name, value in values.items()}
    return [FieldProblem(name, *problem) for name, problem in known.items() if problem]


def _value_problem(name: str, value: Any, now: datetime) -> tuple[str, str] | None:
    if value is None and name in _OPTIONAL:
        return None
    type_, code, detail = _TYPES.get(name, (object, "", ""))
    is_typed = isinstance(value, type_) and not (name in {"confidence", "position"} and type(value) is bool)
    if not is_typed:
        return code, detail
    match name:
        case "content" | "metadata":
            try:
                check_content(value) if name == "content" else check_metadata(value)
            except CodedError as error:
                return error.code, error.detail
        case "kind" if not is_kind_name(value):
            return "bad_kind", "A kind must be a lower-case word of letters, digits, _ and -, at most 32 characters."
        case "confidence" if not 0 <= value <= 1:
            return "out_of_range", "A confidence must be a number from 0 to 1."
        case "created_at" | "expires_at":
            return _time_problem(value, latest=now + MAX_AHEAD if name == "created_at" else None)
        case "source_id" | "session" if len(value) > MAX_LABEL_CHARACTERS:
            return "too_long", f"At most {MAX_LABEL_CHARACTERS} characters are allowed."
        case "source_id" | "session" if not is_storable_text(value):
            return "bad_characters", "The text contains NUL or an unpaired surrogate."
        case "position" if not 0 <= value <= MAX_POSITION:
            return "out_of_range", f"A position must be a whole number from 0 to {MAX_POSITION:,}."
    return None


def _time_problem(value: datetime, *, latest: datetime | None) -> tuple[str, str] | None:
    if value.utcoffset() is None:
        return "no_offset", "The time must have a UTC offset, such as 2026-05-08T13:56:00Z."
    try:
        value.astimezone(UTC)
    except OverflowError:
        return "out_of_range", "The time is outside the years 1 to 9999 of UTC."
    return ("too_far_ahead", "The time is more than a day ahead.") if latest and value > latest else None


def _interval_problems(created_at: object, expires_at: object) -> list[FieldProblem]:
    """Compare two valid times; invalid ones are reported elsewhere."""
    if not isinstance(created_at, datetime) or not isinstance(expires_at, datetime):
        return []
    if created_at.utcoffset() is None or expires_at.utcoffset() is None or expires_at > created_at:
        return []
    return [FieldProblem("expires_at", "before_creation", "`expires_at` must be later than `created_at`.")]
