"""Steps before a row becomes live, inside an action's transaction: create partitions, archive expired duplicates."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models import Memory, Partition
from memories.services.partitions.paths import PartitionPath
from memories.services.search.lexemes import search_columns
from memories.services.store.content import content_hash
from memories.services.tokens import token_counts
from memories.tenancy.audit import Actor, audit_rows

#: The unique key of live rows of a tenant: partition id, content hash, source id.
LiveKey = tuple[int, str, str]


def ensure_partitions(tenant_id: UUID, wanted: Iterable[PartitionPath]) -> dict[str, Partition]:
    """Return the partitions by path; create absent ones with ancestors, in the order of paths to avoid deadlocks."""
    partitions = {partition.path: partition for partition in wanted}
    rows = Partition.objects.for_tenant(tenant_id).at(partitions)
    found = {row.path: row for row in rows}
    if len(found) == len(partitions):
        return found
    lineage = {row.path: row for partition in partitions.values() for row in (*partition.ancestors(), partition)}
    absent = [
        Partition(tenant_id=tenant_id, path=path, depth=row.depth, segments=path.split("/") if path else [])
        for path, row in sorted(lineage.items())
        if path not in found
    ]
    Partition.objects.bulk_create(absent, ignore_conflicts=True)
    return {row.path: row for row in rows.all()}


def duplicate_key(memory: Memory) -> LiveKey:
    return (memory.partition_id, memory.content_hash, memory.source_id)


def text_columns(content: str) -> dict[str, Any]:
    """Return the columns of a row that follow from its text, and the text."""
    tokens = {f"tokens_{encoding}": count for encoding, count in token_counts(content).items()}
    return {"content": content, "content_hash": content_hash(content), **tokens, **search_columns(content)}


def unarchived_rows_by_key(tenant_id: UUID, keys: Iterable[LiveKey]) -> dict[LiveKey, Memory]:
    """Return the unarchived rows with these keys, expired ones too, in one query."""
    wanted = set(keys)
    rows = Memory.objects.for_tenant(tenant_id).unarchived().with_content_hashes({key[1] for key in wanted})
    return {duplicate_key(row): row for row in rows if duplicate_key(row) in wanted}


def archive_expired(rows: Sequence[Memory], *, by: Actor, now: datetime) -> list[UUID]:
    """Archive the expired ones of `rows`, so that their text can be stored again; return their ids."""
    expired = [row.pk for row in rows if row.expires_at is not None and row.expires_at <= now]
    if not expired:
        return []
    still_there = Memory.objects.for_tenant(rows[0].tenant_id).expired(now).with_ids(expired)
    locked = list(still_there.locked().values_list("pk", flat=True))
    Memory.objects.filter(pk__in=locked).update(archived_at=now)
    if gone := [row for row in rows if row.pk in locked]:
        audit_rows("archive_expired", gone, fields=["archived_at"], by=by, now=now)
    return locked
