"""The audit log as a file: one line for each entry, with the seal that proves it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from memories.models import AuditEntry, AuditSeal
from memories.services.store.record_files import record_header, record_line
from memories.services.tenancy.audit_targets import displayed_target_id
from memories.tenancy.scopes import tenant_scope

#: Maximum entries read in one transaction.
BATCH = 1_000
COLUMNS = (
    *(
        "id",
        "at",
        "actor_kind",
        "actor_id",
        "actor",
        "verb",
        "target_kind",
        "target_ids",
        "fields",
        "reason",
        "details",
    ),
    *("seal_number", "sealed_at", "content_hash", "seal_hash"),
)


def exported_audit_log(tenant_id: UUID, filters: Mapping[str, Any], file_type: str) -> Iterator[str]:
    """Yield the lines of the entries that match, newest first, as CSV with a header or as JSON Lines.

    Call it with no scope open; each batch is read in its own.
    """
    yield record_header(COLUMNS, file_type)
    after: tuple[Any, Any] | None = None
    while True:
        with tenant_scope(tenant_id):
            rows = AuditEntry.objects.for_tenant(tenant_id).narrowed(filters)
            batch = list(rows.page("-at", after=after, count=BATCH))
            seals = AuditSeal.objects.for_tenant(tenant_id).newest_by_entry([entry.pk for entry in batch])
        yield "".join(record_line(_values(entry, seals.get(entry.pk)), file_type) for entry in batch)
        if len(batch) < BATCH:
            return
        after = (batch[-1].at, batch[-1].pk)


def _values(entry: AuditEntry, seal: AuditSeal | None) -> dict[str, Any]:
    sealed: Sequence[Any] = ("", "", "", "")
    if seal:
        sealed = (seal.number, seal.sealed_at.isoformat(), seal.content_hash, seal.seal_hash)
    actor = (entry.actor_kind, displayed_target_id(entry.actor_id), entry.actor_label)
    targets = (entry.target_kind, [displayed_target_id(pk) for pk in entry.target_ids])
    values = (str(entry.pk), entry.at.isoformat(), *actor, entry.verb, *targets, entry.fields, entry.reason)
    return dict(zip(COLUMNS, (*values, entry.details, *sealed), strict=True))
