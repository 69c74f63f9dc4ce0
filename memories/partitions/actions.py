"""Change partitions, their summaries, the tenant memo, links and snapshots."""

from datetime import datetime
from typing import TypeVar
from uuid import uuid4

from django.db import transaction

from memories.models import Memory, MemoryLink, Partition, PartitionSummary, Snapshot, Tenant, TenantMemo
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import ContentError, check_content, normalise_content
from memories.services.store.drafts import is_kind_name
from memories.services.tokens import token_counts
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import Actor, ChangedValue, audit_rows, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound, StaleVersion

SNAPSHOT_NAME_CHARACTERS_MAX = 100
#: Maximum attempts while concurrent writers create and end the same link.
DRAW_ATTEMPTS = 3

VersionedTextRow = TypeVar("VersionedTextRow", TenantMemo, PartitionSummary)


@transaction.atomic
def create_partition(*, tenant: Tenant, partition: PartitionPath, by: Actor, now: datetime) -> tuple[Partition, bool]:
    """Create the partition and its ancestors; return it and whether it is new."""
    found: Partition | None = Partition.objects.for_tenant(tenant.pk).at([partition.path]).first()
    if found is not None:
        return found, False
    created = ensure_partitions(tenant.pk, [partition])[partition.path]
    audit_rows("create_partition", [created], fields=["path"], by=by, now=now)
    return created, True


@transaction.atomic
def set_tenant_memo(
    *, tenant: Tenant, content: str, if_version: int | None = None, by: Actor, now: datetime
) -> TenantMemo:
    """Make `content` the active memo; the same text adds no version. Raises `StaleVersion`; version 0 is no memo."""
    if content.strip():
        _check_text(content, "content")
    # Lock the tenant's row, so that version numbers stay consecutive.
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    latest: TenantMemo | None = TenantMemo.objects.for_tenant(tenant.pk).newest_first().first()
    memo, is_new = _save_version(TenantMemo(tenant_id=tenant.pk), latest, content, if_version, now)
    if is_new:
        audit_rows("set_memo", [memo], fields=["content"], by=by, now=now)
    return memo


@transaction.atomic
def save_summary(
    *,
    tenant: Tenant,
    partition: PartitionPath,
    style: str,
    content: str,
    origin: str,
    summariser: str = "",
    is_fallback: bool = False,
    if_version: int | None = None,
    by: Actor,
    now: datetime,
) -> PartitionSummary:
    """Make `content` the active summary of the partition in that style; the same text adds no version.

    Creates the partition if it does not exist. A withdrawn summary keeps its id. Raises `InvalidInput`, or
    `StaleVersion` if the current version is not `if_version` (0 for none).
    """
    _check_text(content, "content")
    _check_choice(style, PartitionSummary.Style.values, "style")
    _check_choice(origin, PartitionSummary.Origin.values, "origin")
    place = ensure_partitions(tenant.pk, [partition])[partition.path]
    # Lock the partition, so that version numbers stay consecutive.
    Partition.objects.select_for_update(no_key=True).get(pk=place.pk)
    rows = PartitionSummary.objects.for_tenant(tenant.pk).filter(partition=place).of_style(style)
    latest: PartitionSummary | None = rows.newest_first().first()
    draft = PartitionSummary(tenant_id=tenant.pk, partition=place, style=style, origin=origin)
    draft.summariser, draft.is_fallback = summariser, is_fallback
    draft.summary_id = latest.summary_id if latest else uuid4()
    summary, is_new = _save_version(draft, latest, content, if_version, now)
    if is_new:
        _audit_summary("save_summary", summary, by, now)
    return summary


@transaction.atomic
def withdraw_summary(*, summary: PartitionSummary, by: Actor, now: datetime) -> PartitionSummary:
    """Withdraw the summary from contexts; has no effect on one that is not active."""
    at = max(now, summary.recorded_to or summary.recorded_from)
    ended = PartitionSummary.objects.for_tenant(summary.tenant_id).current().filter(pk=summary.pk)
    if ended.update(recorded_to=at):
        summary.recorded_to = at
        _audit_summary("withdraw_summary", summary, by, now)
    return summary


@transaction.atomic
def link_memories(*, source: Memory, target: Memory, kind: str, by: Actor, now: datetime) -> MemoryLink:
    """Create the link of `kind` from `source` to `target`, or return the existing one. Links may form cycles."""
    if not is_kind_name(kind):
        raise InvalidInput("bad_kind", "The kind of a link must be a lower-case word of at most 32 characters.", "kind")
    if source.pk == target.pk:
        raise InvalidInput("same_memory", "A memory cannot be linked to itself.", "target_id")
    if source.tenant_id != target.tenant_id:
        raise NotFound("not_found", "There is no such memory.")
    edges = MemoryLink.objects.for_tenant(source.tenant_id).current().from_memory(source.pk).to_memory(target.pk)
    for _ in range(DRAW_ATTEMPTS):
        link = MemoryLink(tenant_id=source.tenant_id, source=source, target=target, kind=kind, recorded_from=now)
        MemoryLink.objects.bulk_create([link], ignore_conflicts=True)
        stored: MemoryLink | None = edges.of_kind(kind).first()
        if stored is not None:
            if stored.recorded_from == now:
                _audit_link("link_memories", stored, by, now)
            return stored
    raise Conflict("busy", "The same link is being created and removed at the same time. Try again.")


@transaction.atomic
def unlink_memories(*, link: MemoryLink, by: Actor, now: datetime) -> MemoryLink:
    """End the link, not before its start; it stays in the history. Has no effect on an ended link."""
    at = max(now, link.recorded_from)
    if MemoryLink.objects.for_tenant(link.tenant_id).current().filter(pk=link.pk).update(recorded_to=at):
        link.recorded_to = at
        _audit_link("unlink_memories", link, by, now)
    return link


@transaction.atomic
def create_snapshot(
    *, tenant: Tenant, name: str, recorded_at: datetime | None = None, by: Actor, now: datetime
) -> Snapshot:
    """Name a recorded time of the tenant, by default now. Raises `InvalidInput` or `Conflict` `duplicate`."""
    _check_text(name, "name")
    name, most = name.strip(), SNAPSHOT_NAME_CHARACTERS_MAX
    if len(name) > most:
        raise InvalidInput("too_long", f"A name can have at most {most} characters.", "name")
    if recorded_at is not None and recorded_at > now:
        raise InvalidInput("in_the_future", "A snapshot's time cannot be in the future.", "recorded_at")
    snapshot = Snapshot(tenant_id=tenant.pk, name=name, recorded_at=recorded_at or now)
    return restore_snapshot(snapshot=snapshot, by=by, now=now)


@transaction.atomic
def restore_snapshot(*, snapshot: Snapshot, by: Actor, now: datetime) -> Snapshot:
    """Store a new snapshot, or a deleted one again. Raises `Conflict` `duplicate`."""
    snapshot.created_at, snapshot.created_by = now, by.stored_label
    Snapshot.objects.bulk_create([snapshot], ignore_conflicts=True)
    if not Snapshot.objects.for_tenant(snapshot.tenant_id).with_id(snapshot.pk).exists():
        raise Conflict("duplicate", "A snapshot with this name already exists.", "name")
    audit_rows("create_snapshot", [snapshot], fields=["name", "recorded_at"], by=by, now=now)
    return snapshot


@transaction.atomic
def delete_snapshot(*, snapshot: Snapshot, by: Actor, now: datetime) -> Snapshot:
    """Delete the name; no memory or version is lost. Deleting twice is not an error."""
    deleted, _ = Snapshot.objects.for_tenant(snapshot.tenant_id).filter(pk=snapshot.pk).delete()
    if deleted:
        values = {"name": snapshot.name, "recorded_at": snapshot.recorded_at}
        changes = [ChangedValue(snapshot.pk, name, value, None) for name, value in values.items()]
        audit_rows("delete_snapshot", [snapshot], fields=list(values), changes=changes, by=by, now=now)
    return snapshot


def _check_text(text: str, field: str) -> None:
    try:
        check_content(text)
    except ContentError as error:
        raise InvalidInput(error.code, error.detail, field) from error


def _check_choice(value: str, known: list[str], field: str) -> None:
    if value not in known:
        raise InvalidInput("invalid_choice", f"Known values: {', '.join(known)}.", field)


def _save_version(
    draft: VersionedTextRow, latest: VersionedTextRow | None, content: str, if_version: int | None, now: datetime
) -> tuple[VersionedTextRow, bool]:
    """Save `draft` as the version after `latest`; return the active version and whether it is new."""
    current = latest if latest is not None and latest.recorded_to is None else None
    if if_version is not None and if_version != (current.version if current else 0):
        raise StaleVersion("stale_version", "Someone else changed the text in the meantime.")
    text = normalise_content(content)
    if current is not None and current.content == text:
        return current, False
    draft.recorded_from = max(now, latest.recorded_to or latest.recorded_from) if latest else now
    if current is not None:
        type(current).objects.filter(pk=current.pk).update(recorded_to=draft.recorded_from)
    tokens = token_counts(text)
    draft.version, draft.content = latest.version + 1 if latest else 1, text
    draft.tokens_o200k_base, draft.tokens_cl100k_base = tokens["o200k_base"], tokens["cl100k_base"]
    draft.save(force_insert=True)
    return draft, True


def _audit_summary(verb: str, summary: PartitionSummary, by: Actor, now: datetime) -> None:
    ids, tenant_id = [summary.summary_id], summary.tenant_id
    record_audit(verb, "partition_summary", ids, tenant_id=tenant_id, fields=["content"], by=by, now=now)


def _audit_link(verb: str, link: MemoryLink, by: Actor, now: datetime) -> None:
    ends = [link.source_id, link.target_id]
    record_audit(verb, "memory", ends, tenant_id=link.tenant_id, fields=["links"], by=by, now=now)
