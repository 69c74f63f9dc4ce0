"""Edit, archive and restore a memory: an edit or a restore adds a version, archiving ends the current one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from memories import tasks
from memories.embeddings.vectors import carry_vectors, note_superseded_version
from memories.models import Memory
from memories.models.memory import VERSION_COLUMNS
from memories.services.search.lexemes import search_columns
from memories.services.store.content import content_hash, is_same_json, normalise_content
from memories.services.store.drafts import memory_change_problems
from memories.services.tokens import token_counts
from memories.store.bulk_rows import (
    archive_rows,
    change_time,
    duplicate_conflict,
    restore_rows,
    superseded_version,
    translate_duplicate_errors,
)
from memories.store.live_rows import archive_expired, duplicate_key, ensure_partitions, unarchived_rows_by_key
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, NotFound, StaleVersion, invalid


@transaction.atomic
def update_memory(
    *, memory: Memory, changes: Mapping[str, Any], if_version: int | None = None, by: Actor, now: datetime
) -> Memory:
    """Apply `changes` as a new version, if they change anything.

    `changes` has fields of `CHANGEABLE_MEMORY_FIELDS` (`partition` is a `PartitionPath`). Raises `InvalidInput`,
    `Conflict` (`archived`, or `duplicate` if a live memory has the new text) or `StaleVersion`.
    """
    current = _locked(memory, if_version)
    if current.archived_at is not None:
        raise Conflict("archived", "The memory is archived. Restore it before changing it.")
    problems = memory_change_problems(changes, created_at=current.created_at, expires_at=current.expires_at, now=now)
    if problems:
        raise invalid(problems)
    before = {name: getattr(current, name) for name in VERSION_COLUMNS}
    fields = _apply(current, changes)
    if not fields:
        return current
    _check_duplicate(current, by, now)
    at = change_time(current, now)
    superseded_version(current, before, at).save(force_insert=True)
    _open_version(current, before, at, has_new_text=current.content != before["content"])
    audit_rows("update_memory", [current], fields=fields, by=by, now=now)
    return current


@transaction.atomic
def archive_memory(*, memory: Memory, if_version: int | None = None, by: Actor, now: datetime) -> Memory:
    """Archive the memory; an archived one stays as it is."""
    current = _locked(memory, if_version)
    if current.archived_at is None:
        archive_rows([current], now)
        audit_rows("archive_memory", [current], fields=["archived_at"], by=by, now=now)
    return current


@transaction.atomic
def restore_memory(*, memory: Memory, if_version: int | None = None, by: Actor, now: datetime) -> Memory:
    """Make an archived memory live again as a new version; a live one stays as it is.

    Raises `Conflict` `duplicate` if a live memory has the same text.
    """
    current = _locked(memory, if_version)
    if current.archived_at is None:
        return current
    restore_rows([current], by=by, now=now)
    audit_rows("restore_memory", [current], fields=["archived_at"], by=by, now=now)
    return current


def _locked(memory: Memory, if_version: int | None) -> Memory:
    current: Memory | None = Memory.objects.for_tenant(memory.tenant_id).filter(pk=memory.pk).locked().first()
    if current is None:
        raise NotFound("not_found", "There is no such memory.")
    if if_version is not None and if_version != current.version:
        raise StaleVersion("stale_version", f"The memory is at version {current.version}, not {if_version}.")
    return current


def _apply(current: Memory, changes: Mapping[str, Any]) -> list[str]:
    """Set the changed values on the unsaved row; return the names of fields that differ."""
    wanted = dict(changes)
    fields = []
    if "content" in wanted:
        wanted["content"] = normalise_content(wanted["content"])
    if "partition" in wanted:
        path = wanted.pop("partition")
        if path.path != current.partition_path:
            current.partition = ensure_partitions(current.tenant_id, [path])[path.path]
            current.partition_path = path.path
            fields.append("partition")
    for name, value in wanted.items():
        if not is_same_json(getattr(current, name), value):
            setattr(current, name, value)
            fields.append(name)
    if "content" in fields:
        tokens = token_counts(current.content)
        current.content_hash = content_hash(current.content)
        current.tokens_o200k_base = tokens["o200k_base"]
        current.tokens_cl100k_base = tokens["cl100k_base"]
    return fields


def _check_duplicate(current: Memory, by: Actor, now: datetime) -> None:
    """Raise `Conflict` if another live memory has the new key; archive it if it has expired."""
    holder = unarchived_rows_by_key(current.tenant_id, [duplicate_key(current)]).get(duplicate_key(current))
    if holder is None or holder.pk == current.pk:
        return
    if not archive_expired([holder], by=by, now=now):
        raise duplicate_conflict()


def _open_version(current: Memory, before: Mapping[str, Any], at: datetime, *, has_new_text: bool) -> None:
    """Save the row as the next version, with the former vectors if the text is the same."""
    current.version = before["version"] + 1
    current.valid_from = current.recorded_from = at
    if has_new_text:
        if current.embedding_state == Memory.EmbeddingState.PENDING:
            note_superseded_version(current.tenant_id, current.pk, before["version"])
        current.embedding_state = Memory.EmbeddingState.PENDING
        current.embedding_error = ""
    values = {name: getattr(current, name) for name in VERSION_COLUMNS}
    with translate_duplicate_errors():
        Memory.objects.filter(pk=current.pk).update(
            **values,
            **search_columns(current.content),
            partition_id=current.partition_id,
            archived_at=current.archived_at,
            embedding_state=current.embedding_state,
            embedding_error=current.embedding_error,
        )
    if not has_new_text:
        carry_vectors(current.tenant_id, [current.pk])
    if current.embedding_state != Memory.EmbeddingState.READY:
        tasks.enqueue_embedding(current.tenant_id, [current.pk])
