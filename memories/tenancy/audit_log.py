"""The audit log as a page reads it: narrowed, in the order of time, a page at a time."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from memories.models import AuditEntry
from memories.tenancy.queries.tenants import usernames_by_id

#: Entries whose names are offered beside the filters.
NAMES_READ_MAX = 500
#: The kind of target that is somebody who signs in.
PERSON = "user"


def audit_entries(tenant_id: UUID, wanted: Mapping[str, Any], ordering: str, **place: Any) -> list[AuditEntry]:
    """Entries narrowed as `AuditEntryQuerySet.narrowed` says, from a place on as `TenantRows.page` takes it.

    Runs in a scope.
    """
    rows = AuditEntry.objects.for_tenant(tenant_id).narrowed(**wanted)
    return list(rows.page(ordering, **place))


def actor_names(entries: Iterable[AuditEntry]) -> dict[str, str]:
    """The names of those whom entries are about, by id; no query where there are none."""
    return usernames_by_id({each for entry in entries if entry.target_kind == PERSON for each in entry.target_ids})


def recent_audit_names(tenant_id: UUID) -> dict[str, list[str]]:
    """`actors`, `verbs` and `kinds` of the newest entries, in alphabetical order. Runs in a scope."""
    found = AuditEntry.objects.for_tenant(tenant_id).names_in_newest(NAMES_READ_MAX)
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    names = (sorted({name for name in column if name}) for column in columns)
    return dict(zip(("actors", "verbs", "kinds"), names, strict=True))
