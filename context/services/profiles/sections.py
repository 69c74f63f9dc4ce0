"""The rules of budget profiles: the room of a section, and which of several assignments applies (ADR-0064)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memories.services.partitions.paths import is_within
from memories.services.store.drafts import FieldProblem

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


def problems_of_sections(sections: object) -> list[FieldProblem]:
    """Return every problem of `{section: {"tokens": n} or {"share": 0..1}}`; none when it can be stored."""
    if not isinstance(sections, Mapping):
        return [_problem("not_an_object", "Section budgets must be an object of section names and limits.")]
    problems = [problem for name, room in sections.items() for problem in _problems_of_room(name, room)]
    if not problems and sum(room.get("share", 0.0) for room in sections.values()) > 1 + SHARE_TOLERANCE:
        problems.append(_problem("shares_exceed_whole", "The shares of all sections together exceed 1."))
    return problems


def _problem(code: str, detail: str) -> FieldProblem:
    return FieldProblem("sections", code, detail)


def _problems_of_room(name: object, room: object) -> Iterator[FieldProblem]:
    if name not in SECTIONS:
        yield _problem("unknown_section", f"There is no section {str(name)[:40]!r}; known: {', '.join(SECTIONS)}.")
    elif not isinstance(room, Mapping) or len(room) != 1 or not set(room) <= {"tokens", "share"}:
        yield _problem("bad_room", f'The budget of {name} must be {{"tokens": n}} or {{"share": 0..1}}, not both.')
    elif "tokens" in room and not (type(room["tokens"]) is int and 0 <= room["tokens"] <= SECTION_TOKENS_MAX):
        detail = f"The tokens of {name} are a whole number from 0 to {SECTION_TOKENS_MAX:,}."
        yield _problem("tokens_out_of_range", detail)
    elif "share" in room and not (type(room["share"]) in (int, float) and 0 <= room["share"] <= 1):
        yield _problem("share_out_of_range", f"The share of {name} is a number from 0 to 1.")


@dataclass(frozen=True)
class AssignmentTarget:
    """The target of an assignment: an agent's key (`partition_path` None), or a partition with all below it."""

    profile_name: str
    partition_path: str | None


def assigned_profile(targets: Iterable[AssignmentTarget], partition_path: str) -> str | None:
    """Return the name of the profile that applies to `partition_path`: the key's, else the longest partition's.

    `targets` are those of the requesting key and of any partitions; each target has at most one profile. None where no
    target applies: the default profile.
    """
    own = [target for target in targets if is_within(partition_path, target.partition_path or "")]
    of_key = [target for target in own if target.partition_path is None]
    best = max(of_key or own, key=lambda target: len(target.partition_path or ""), default=None)
    return best.profile_name if best else None
