"""Steps before a row becomes live, inside an action's transaction: create partitions, archive expired duplicates."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from memories.models import Memory, Partition
from memories.services.partitions.paths import PartitionPath
from memories.services.search.lexemes import search_columns
from memories.services.store.content import content_hash, is_same_json, normalise_content
from memories.services.store.session_summaries import source_of_summary
from memories.services.tokens import token_counts
from memories.tenancy.audit import Actor, audit_rows

#: The unique key of live rows of a tenant: partition id, content hash, source id.
LiveKey = tuple[int, str, str]


def ensure_partitions(tenant_id: UUID, paths: Iterable[PartitionPath]) -> dict[str, Partition]:
    """Return the partitions by path; create absent ones with ancestors, in the order of paths to avoid deadlocks."""
    partitions = {partition.path: partition for partition in paths}
    found = {row.path: row for row in Partition.objects.found_at(tenant_id, partitions)}
    if len(found) == len(partitions):
        return found
    lineage = {row.path: row for partition in partitions.values() for row in (*partition.ancestors(), partition)}
    absent = [
        Partition(tenant_id=tenant_id, path=path, depth=row.depth, segments=path.split("/") if path else [])
        for path, row in sorted(lineage.items())
        if path not in found
    ]
    Partition.objects.bulk_create(absent, ignore_conflicts=True)
    return {row.path: row for row in Partition.objects.found_at(tenant_id, partitions)}


def duplicate_key(memory: Memory) -> LiveKey:
    return (memory.partition_id, memory.content_hash, memory.source_id)


def text_columns(content: str) -> dict[str, Any]:
    """Return the columns of a row that follow from its text, and the text."""
    tokens = {f"tokens_{encoding}": count for encoding, count in token_counts(content).items()}
    return {"content": content, "content_hash": content_hash(content), **tokens, **search_columns(content)}


def unarchived_rows_by_key(tenant_id: UUID, keys: Iterable[LiveKey]) -> dict[LiveKey, Memory]:
    """Return the unarchived rows with these keys, expired ones too, in one query."""
    distinct = set(keys)
    rows = Memory.objects.for_tenant(tenant_id).unarchived().with_content_hashes({key[1] for key in distinct})
    return {duplicate_key(row): row for row in rows if duplicate_key(row) in distinct}


def source_holders(tenant_id: UUID, keys: Iterable[LiveKey]) -> list[Memory]:
    """Return the unarchived rows with the partition and `source_id` of a key; no writer adds one before the commit."""
    sources = {(partition_id, source_id) for partition_id, _, source_id in keys if source_id}
    if not sources:
        return []
    partitions, ids = zip(*sources, strict=True)
    Partition.objects.with_ids(partitions).lock()
    rows = Memory.objects.for_tenant(tenant_id).unarchived().filter(partition_id__in=partitions, source_id__in=ids)
    return [row for row in rows if (row.partition_id, row.source_id) in sources]


def other_live_summaries(rows: Sequence[Memory], now: datetime) -> dict[UUID, UUID]:
    """Return, by the id of a session summary among `rows`, the id of a memory of another, live summary of the session.

    Of several summaries of a session among `rows`, the newest counts as live. A summary can consist of several
    memories, which do not exclude each other.
    """
    summaries = [row for row in rows if source_of_summary(row)]
    if not summaries:
        return {}
    live = Memory.objects.for_tenant(rows[0].tenant_id).live(now)
    found = live.session_summaries({row.session for row in summaries})
    live_by_session = {row.session: row for row in found if source_of_summary(row)}
    others: dict[UUID, UUID] = {}
    for row in sorted(summaries, key=attrgetter("created_at"), reverse=True):
        summary = live_by_session.setdefault(row.session, row)
        if source_of_summary(summary) != source_of_summary(row):
            others[row.pk] = summary.pk
    return others


def archive_expired(rows: Sequence[Memory], *, by: Actor, now: datetime) -> list[UUID]:
    """Archive those of `rows` that have expired, so that their text can be stored again; return their ids."""
    expired = [row.pk for row in rows if row.expires_at is not None and row.expires_at <= now]
    if not expired:
        return []
    still_there = Memory.objects.for_tenant(rows[0].tenant_id).expired(now).with_ids(expired)
    locked = list(still_there.locked().values_list("pk", flat=True))
    Memory.objects.filter(pk__in=locked).update(archived_at=now)
    if archived := [row for row in rows if row.pk in locked]:
        audit_rows("archive_expired", archived, fields=["archived_at"], by=by, now=now)
    return locked


def changed_values(current: Memory, changes: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the names of changed fields, and the new values of all columns that follow from them."""
    requested = dict(changes)
    if "content" in requested:
        requested["content"] = normalise_content(requested["content"])
    path = requested.pop("partition", None)
    values = {name: value for name, value in requested.items() if not is_same_json(getattr(current, name), value)}
    fields = list(values)
    if path is not None and path.path != current.partition_path:
        partition_id = ensure_partitions(current.tenant_id, [path])[path.path].pk
        values |= {"partition_id": partition_id, "partition_path": path.path}
        fields.append("partition")
    if "content" in values:
        values |= text_columns(values["content"])
        values |= {"embedding_state": Memory.EmbeddingState.PENDING, "embedding_error": ""}
    return fields, values
