"""The effect of an import on each of its rows, determined without storing or embedding anything (ADR-0167)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models import Memory, Tenant
from memories.services.store.content import content_hash, normalise_content
from memories.services.store.drafts import NewMemory, memory_change_problems, source_state
from memories.services.tokens import count_tokens
from memories.store.replaceable import replaceable_memories
from memories.store.store_results import STALE_ROW, StoreResult, StoreStatus, invalid_rows, source_changes

#: The key of a live memory: partition path, content hash, source id.
_Key = tuple[str, str, str]
#: The reason of a row that repeats an earlier one.
REPEATED = "repeated"


@dataclass(frozen=True)
class ImportPreview:
    """The result of each row, and by its index what it would change.

    `states` are the `source_state` before each row with a `source_id`, `versions` those of the memories in `supersedes`
    of each row that names some without their versions, 0 for an unknown one.
    """

    results: Sequence[StoreResult]
    states: Mapping[int, str]
    versions: Mapping[int, tuple[int, ...]]


def preview_import(*, tenant: Tenant, rows: Sequence[NewMemory], now: datetime) -> ImportPreview:
    """Return what the import would do with each row, in their order; inside a scope, in at most four queries.

    New and updated memories are shown as they would be stored, with the tokens of one encoding, and have no vectors.
    """
    replaceable = replaceable_memories(tenant.pk, rows, "", now)
    invalid = invalid_rows(tenant.pk, rows, replaceable, "", now)
    live = _LiveMemories(tenant.pk, now)
    live.read(rows)
    results, states = [], {}
    for index, row in enumerate(rows):
        if row.source_id:
            states[index] = live.state(row)
        results.append(invalid.get(index) or live.result(row))
    versions = {
        index: replaceable.versions(row)
        for index, row in enumerate(rows)
        if row.supersedes and not row.superseded_versions
    }
    return ImportPreview(results, states, versions)


@dataclass
class _LiveMemories:
    """The live memories with which the rows may conflict: stored ones, and those that earlier rows would create."""

    tenant_id: UUID
    now: datetime
    by_key: dict[_Key, Memory] = field(default_factory=dict)
    by_source: dict[tuple[str, str], list[Memory]] = field(default_factory=lambda: defaultdict(list))
    #: The keys of memories that earlier rows would create or change.
    written: set[_Key] = field(default_factory=set)

    def read(self, rows: Sequence[NewMemory]) -> None:
        """Read the live memories with a text or a source id of the rows. Two queries."""
        live = Memory.objects.for_tenant(self.tenant_id).live(self.now).without_search_columns()
        found = list(live.with_content_hashes({content_hash(row.content) for row in rows})) if rows else []
        if sources := {(row.partition.path, row.source_id) for row in rows if row.source_id}:
            found += live.of_sources(sources)
        for memory in {memory.pk: memory for memory in found}.values():
            self._add(memory)

    def state(self, row: NewMemory) -> str:
        """Return the state of the memory with the source id of the next row."""
        current = self._current(row)
        return source_state(current.version, current.content_hash) if current else source_state()

    def result(self, row: NewMemory) -> StoreResult:
        """Return what the import does with the next row."""
        current = self._current(row)
        if row.is_stale(current.version if current else 0):
            return StoreResult(None, StoreStatus.INVALID, problems=(STALE_ROW,))
        key = (row.partition.path, content_hash(row.content), row.source_id)
        if key in self.written and key in self.by_key:
            return StoreResult(self.by_key[key], StoreStatus.EXISTING, reason=REPEATED)
        if key in self.by_key:
            return StoreResult(self.by_key[key], StoreStatus.EXISTING, reason="duplicate")
        if current is None:
            return StoreResult(self._add(self._shown(Memory(tenant_id=self.tenant_id), row, key)), StoreStatus.CREATED)
        changes = source_changes(row, current)
        created_at, expires_at = current.created_at, current.expires_at
        if problems := memory_change_problems(changes, created_at=created_at, expires_at=expires_at, now=self.now):
            return StoreResult(None, StoreStatus.INVALID, problems=tuple(problems))
        self.by_source[key[0], key[2]].remove(current)
        del self.by_key[_key(current)]
        updated = self._shown(copy(current), row, key, *changes)
        updated.version += 1
        return StoreResult(self._add(updated), StoreStatus.UPDATED)

    def _current(self, row: NewMemory) -> Memory | None:
        """Return the memory that the row updates if its text differs."""
        holders = self.by_source[row.partition.path, row.source_id] if row.source_id else []
        return max(holders, key=lambda memory: (memory.recorded_from, memory.version), default=None)

    def _add(self, memory: Memory) -> Memory:
        self.by_key[_key(memory)] = memory
        self.by_source[memory.partition_path, memory.source_id].append(memory)
        return memory

    def _shown(self, memory: Memory, row: NewMemory, key: _Key, *changed: str) -> Memory:
        """Set the values of the row on the memory: those named in `changed`, or all if it is None."""
        fields: dict[str, Any] = {name: getattr(row, name) for name in changed or ("kind", "pinned", "expires_at")}
        content = normalise_content(row.content)
        fields |= {"content": content, "partition_path": key[0], "content_hash": key[1], "source_id": key[2]}
        fields |= {"tokens_o200k_base": count_tokens(content), "recorded_from": self.now}
        fields |= {"created_at": row.created_at or memory.created_at or self.now}
        for name, value in fields.items():
            setattr(memory, name, value)
        self.written.add(key)
        return memory


def _key(memory: Memory) -> _Key:
    return (memory.partition_path, memory.content_hash, memory.source_id)
