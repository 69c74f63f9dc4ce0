"""The number of memories of a tenant by state, computed from separate counts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class MemoryCountKind(StrEnum):
    """The kinds of counts; each has its own index."""

    UNARCHIVED = "unarchived"
    EXPIRED = "expired"
    ARCHIVED = "archived"
    PINNED = "pinned"


@dataclass(frozen=True)
class MemoryTally:
    """Memories by state, tokens (o200k_base) of live ones, and live ones by kind, most frequent first."""

    live: int = 0
    tokens: int = 0
    pinned: int = 0
    archived: int = 0
    expired: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)


def tally_memories(rows: Iterable[tuple[str, str, int, int]]) -> MemoryTally:
    """Return the tally of rows (count kind, memory kind or "", memories, tokens). Expired memories are not live."""
    counts, kinds, tokens = dict.fromkeys(MemoryCountKind, 0), dict[str, int](), 0
    for counted, kind, memories, size in rows:
        counts[MemoryCountKind(counted)] += memories
        if counted in (MemoryCountKind.UNARCHIVED, MemoryCountKind.EXPIRED):
            sign = 1 if counted == MemoryCountKind.UNARCHIVED else -1
            kinds[kind] = kinds.get(kind, 0) + sign * memories
            tokens += sign * size
    return MemoryTally(
        live=counts[MemoryCountKind.UNARCHIVED] - counts[MemoryCountKind.EXPIRED],
        tokens=tokens,
        pinned=counts[MemoryCountKind.PINNED],
        archived=counts[MemoryCountKind.ARCHIVED],
        expired=counts[MemoryCountKind.EXPIRED],
        kinds={kind: kinds[kind] for kind in sorted(kinds, key=lambda kind: (-kinds[kind], kind)) if kinds[kind]},
    )
