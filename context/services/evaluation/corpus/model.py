"""A corpus: memories, and questions that name the memories that answer them (ADR-0079)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
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

    @classmethod
    def of(cls, row: object, **own: str) -> CorpusMemory:
        """Return a memory with the fields of `row`, except those of `own`."""
        same: dict[str, Any] = {each.name: getattr(row, each.name) for each in fields(cls) if each.name not in own}
        return cls(**same | own)

    def as_new_memory(self) -> NewMemory:
        """Return the row to store; its `source_id` is the id in the corpus."""
        values = vars(self) | {"partition": parse_partition(self.partition), "source_id": self.id}
        del values["id"]
        return NewMemory(**values)


@dataclass(frozen=True)
class CorpusQuestion:
    """A question in `partition` at `asked_at`.

    `evidence` are the ids of the memories that answer it (at least one); `stale` those that answer it for another time.
    `category` groups results, `answer` is the answer in words; both may be empty.
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
    """Checked memories and questions."""

    name: str
    memories: Sequence[CorpusMemory]
    questions: Sequence[CorpusQuestion]

    @property
    def sha256(self) -> str:
        """The hash of memories and questions in their order, without the name: runs with the same can be compared."""
        return rows_sha256([*map(asdict, self.memories), *map(asdict, self.questions)])


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
    """A corpus that cannot be used: all problems, at least one, in the order of the files; `code` is of the first."""

    def __init__(self, *problems: CorpusProblem) -> None:
        more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")
        self.problems = problems
        self.code = problems[0].code


def plain_value(value: Any) -> Any:
    """Return what JSON can contain: a time as ISO text, a set in sorted order."""
    return sorted(value) if isinstance(value, frozenset) else value.isoformat()


def rows_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the hexadecimal SHA-256 of rows of plain values, times and sets."""
    lines = (json.dumps(row, default=plain_value, sort_keys=True, ensure_ascii=False) for row in rows)
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
