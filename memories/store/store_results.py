"""The results of storing rows, and results that depend on the row alone: why it is invalid, what it updates."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import models

from memories.models import Memory
from memories.services.store.drafts import (
    CHANGEABLE_MEMORY_FIELDS,
    STALE_VERSION,
    FieldProblem,
    NewMemory,
    new_memory_problems,
)
from memories.store.replaceable import ReplaceableMemories

#: Fields of the memory of a `source_id` that an upsert changes if the caller gives them, besides the text.
UPDATABLE_FIELDS = frozenset(CHANGEABLE_MEMORY_FIELDS) - {"content", "partition", "source_id"}


#: The problem of a row whose `if_versions` excludes the version of the memory of its `source_id`.
STALE_ROW = FieldProblem("if_version", STALE_VERSION, "The memory of this source_id has another version.")
#: The problem of a row whose `if_state` is not that of the memory of its `source_id`, or that would replace another
#: version of a memory than a preview showed.
CHANGED_ROW = FieldProblem("", STALE_VERSION, "A memory that this line updates or replaces changed after the preview.")


class StoreStatus(models.TextChoices):
    CREATED = "created"
    UPDATED = "updated"
    EXISTING = "existing"
    INVALID = "invalid"


@dataclass(frozen=True)
class StoreResult:
    """The result of one row: the memory with the text (`reason` is `duplicate` or `recalled`), or problems."""

    memory: Memory | None
    status: str
    reason: str = ""
    problems: tuple[FieldProblem, ...] = ()

    @property
    def stale_field(self) -> str:
        """The field or header that requires another version of a stored memory, "" if none does."""
        fields = [problem.field for problem in self.problems if problem.code == STALE_VERSION]
        return "" if not fields else "If-Match" if STALE_ROW.field in fields else fields[0]


def invalid_rows(
    tenant_id: UUID, rows: Sequence[NewMemory], replaceable: ReplaceableMemories, reach: str, now: datetime
) -> dict[int, StoreResult]:
    """Return the results of rows that cannot be stored regardless of the stored memories, by their index."""
    targets = {link.target_id for row in rows for link in row.links}
    known = set(Memory.objects.for_tenant(tenant_id).within(reach).with_ids(targets).ids()) if targets else set()
    results = {}
    for index, row in enumerate(rows):
        problems = new_memory_problems(row, now=now) + replaceable.problems(index, row)
        if any(link.target_id not in known for link in row.links):
            problems.append(FieldProblem("links", "unknown_target", "A linked memory does not exist."))
        if problems:
            results[index] = StoreResult(None, StoreStatus.INVALID, problems=tuple(problems))
    return results


def source_changes(new: NewMemory, current: Memory) -> dict[str, Any]:
    """Return the new values of the memory that has the `source_id` of a row with another text."""
    changes = {name: getattr(new, name) for name in ("content", *sorted(new.given & UPDATABLE_FIELDS))}
    if changes.get("created_at", current.created_at) is None:
        del changes["created_at"]
    return changes
