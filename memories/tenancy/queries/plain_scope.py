"""The present rows of a tenant in a partition, for statements written by hand (ADR-0115)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.services.partitions.paths import subtree_bounds
from memories.tenancy.queries.conditions import segment_paths

_IN_PARTITION = "{row}.partition_path = %(path)s"
_IN_SUBTREE = "({row}.partition_path = %(path)s OR {row}.partition_path >= %(low)s AND {row}.partition_path < %(high)s)"
_WITH_SEGMENTS = (
    "EXISTS (SELECT FROM memories_partition AS place WHERE place.tenant_id = {row}.tenant_id"
    " AND place.path = {row}.partition_path AND place.segments @> %(segments)s::text[])"
)


@dataclass(frozen=True)
class PlainScope:
    """The same rows as a `SearchScope` without filters has in the present."""

    tenant_id: UUID
    path: str
    now: datetime
    is_exact: bool = False
    segments: Mapping[str, str] | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The values that the conditions name."""
        values: dict[str, Any] = {"tenant": self.tenant_id, "now": self.now, "path": self.path}
        values["low"], values["high"] = subtree_bounds(self.path)
        return values | ({"segments": segment_paths(self.segments)} if self.segments else {})

    def covers(self, row: str) -> str:
        """Return the condition that a row (a table's alias) is of the tenant and in the partition."""
        conditions = ["{row}.tenant_id = %(tenant)s"]
        if self.is_exact or self.path:
            conditions.append(_IN_PARTITION if self.is_exact else _IN_SUBTREE)
        if self.segments:
            conditions.append(_WITH_SEGMENTS)
        return " AND ".join(conditions).format(row=row)

    def has_live(self, memory: str) -> str:
        """Return the condition that a memory is covered and is neither archived nor expired."""
        return (
            f"{self.covers(memory)} AND {memory}.archived_at IS NULL"
            f" AND ({memory}.expires_at IS NULL OR {memory}.expires_at > %(now)s)"
        )
