"""A corpus: memories, and questions that name the memories that answer them (ADR-0079)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory


@dataclass(frozen=True)
class CorpusMemory:
    """A memory as it is stored for an evaluation. `id` is its name in the corpus; times have an offset."""

    id: str
    content: str
    created_at: datetime
    partition: str = ""
    kind: str = "fact"
    session: str = ""
    position: int | None = None
    confidence: float = 0.8
    pinned: bool = False
    expires_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def as_new_memory(self) -> NewMemory:
        """Return the row to store; its `source_id` is the id in the corpus."""
        return NewMemory(
            content=self.content,
            partition=parse_partition(self.partition),
            kind=self.kind,
            confidence=self.confidence,
            pinned=self.pinned,
            metadata=self.metadata,
            created_at=self.created_at,
            expires_at=self.expires_at,
            source_id=self.id,
            session=self.session,
            position=self.position,
        )


@dataclass(frozen=True)
class CorpusQuestion:
    """A question asked in `partition` at `asked_at`.

    `evidence` are the ids of the memories that answer it (at least one); `stale` those that answered it at another time
    and are wrong for it now. `category` groups results, `answer` is the answer in words; both may be empty.
    """

    id: str
    text: str
    evidence: frozenset[str]
    asked_at: datetime
    partition: str = ""
    category: str = ""
    answer: str = ""
    stale: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Corpus:
    """Checked memories and questions. `notes` tell people what was not read."""

    name: str
    memories: Sequence[CorpusMemory]
    questions: Sequence[CorpusQuestion]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class CorpusProblem:
    """One thing wrong with a corpus: a stable `code`, a `detail` for people, and where (line from 1; "" and None: all).

    It contains no text of a memory or question.
    """

    code: str
    detail: str
    file: str = ""
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        places = (self.file, f"line {self.line}" if self.line else "", self.field)
        place = ", ".join(place for place in places if place)
        return f"{place}: {self.detail}" if place else self.detail


class CorpusError(ValueError):
    """A corpus that cannot be used. `problems` are all problems, at least one, in the order of the files.

    `code`, `detail`, `file`, `line` and `field` are those of the first.
    """

    def __init__(self, problems: Sequence[CorpusProblem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
        super().__init__(f"{first}{more}")
        self.problems = tuple(problems)
        self.code = first.code
        self.detail = first.detail
        self.file = first.file
        self.line = first.line
        self.field = first.field


def plain_value(value: Any) -> Any:
    """Return what JSON can contain: a time as ISO text, a set in sorted order."""
    return sorted(value) if isinstance(value, frozenset) else value.isoformat()
