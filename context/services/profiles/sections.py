"""The rules of budget profiles: what room a section may have, and which of several assignments counts (ADR-0064)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memories.services.partitions.paths import is_within

#: The sections of a context in order of importance; the last two belong to conversations.
SECTIONS = (
    "tenant_memo",
    "partition_summaries",
    "focus",
    "linked_memories",
    "memories",
    "session_summary",
    "recent_messages",
)
SECTION_TOKENS_MAX = 2_000_000
#: Shares are sums of what people type: thirds that add up to 1.0000000000000002 are whole.
SHARE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class SectionProblem:
    """What is wrong with the rooms of sections: a stable `code`, a `detail` for people."""

    code: str
    detail: str


def problems_of_sections(sections: object) -> list[SectionProblem]:
    """Return every problem of `{section: {"tokens": n} or {"share": 0..1}}`; nothing when it can be stored."""
    if not isinstance(sections, Mapping):
        return [SectionProblem("not_an_object", "Rooms are an object: section names and what each may take.")]
    problems = [problem for name, room in sections.items() for problem in _problems_of_room(name, room)]
    if not problems and sum(room.get("share", 0.0) for room in sections.values()) > 1 + SHARE_TOLERANCE:
        problems.append(SectionProblem("shares_exceed_whole", "The shares of all sections together exceed 1."))
    return problems


def _problems_of_room(name: object, room: object) -> Iterator[SectionProblem]:
    if name not in SECTIONS:
        yield SectionProblem(
            "unknown_section", f"There is no section {str(name)[:40]!r}; known: {', '.join(SECTIONS)}."
        )
    elif not isinstance(room, Mapping) or len(room) != 1 or not set(room) <= {"tokens", "share"}:
        yield SectionProblem("bad_room", f'The room of {name} is {{"tokens": n}} or {{"share": 0..1}}, not both.')
    elif "tokens" in room and not _is_token_count(room["tokens"]):
        yield SectionProblem(
            "tokens_out_of_range", f"The tokens of {name} are a whole number from 0 to {SECTION_TOKENS_MAX:,}."
        )
    elif "share" in room and not _is_share(room["share"]):
        yield SectionProblem("share_out_of_range", f"The share of {name} is a number from 0 to 1.")


def _is_token_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SECTION_TOKENS_MAX


def _is_share(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value <= 1


@dataclass(frozen=True)
class AssignmentTarget:
    """Whom a profile is for: an agent's key (`partition_path` None), or a partition with all below it."""

    profile_name: str
    partition_path: str | None


def assigned_profile(targets: Iterable[AssignmentTarget], partition_path: str) -> str | None:
    """Return the name of the profile that counts in `partition_path`: the key's, else the longest partition's.

    `targets` are those of the requesting key and of any partitions; each target has at most one profile. None where no
    target applies: the default profile.
    """
    applicable = [
        target
        for target in targets
        if target.partition_path is None or is_within(partition_path, target.partition_path)
    ]
    return max(applicable, key=_precedence).profile_name if applicable else None


def _precedence(target: AssignmentTarget) -> tuple[bool, int]:
    return target.partition_path is None, len(target.partition_path or "")
