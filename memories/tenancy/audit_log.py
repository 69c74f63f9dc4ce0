"""Read the audit log for its page."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from memories.models import AuditEntry
from memories.tenancy.queries.tenants import usernames_by_id

#: Newest entries whose names the filters offer.
NAMES_READ_MAX = 500
#: The target kind of people who sign in.
PERSON = "user"


def audit_entries(tenant_id: UUID, wanted: Mapping[str, Any], ordering: str, **place: Any) -> list[AuditEntry]:
    """Return a page of filtered entries (see `AuditEntryQuerySet.narrowed` and `TenantRows.page`). Runs in a scope."""
    return list(AuditEntry.objects.for_tenant(tenant_id).narrowed(**wanted).page(ordering, **place))


def actor_names(entries: Iterable[AuditEntry]) -> dict[str, str]:
    """Return the user names of the people that entries are about, by id."""
    return usernames_by_id({each for entry in entries if entry.target_kind == PERSON for each in entry.target_ids})


def recent_audit_names(tenant_id: UUID) -> dict[str, list[str]]:
    """Return `actors`, `verbs` and `kinds` of the newest entries in alphabetical order. Runs in a scope."""
    found = AuditEntry.objects.for_tenant(tenant_id).names_in_newest(NAMES_READ_MAX)
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    names = (sorted({name for name in column if name}) for column in columns)
    return dict(zip(("actors", "verbs", "kinds"), names, strict=True))
