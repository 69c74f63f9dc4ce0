"""Snapshots: names of recorded times."""

from datetime import datetime

from django.db import transaction

from memories.models import Snapshot, Tenant
from memories.services.store.content import ContentError, check_content
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput

_NAME_CHARACTERS_MAX = 100


@transaction.atomic
def create_snapshot(
    *, tenant: Tenant, name: str, recorded_at: datetime | None = None, by: Actor, now: datetime
) -> Snapshot:
    """Name a recorded time of the tenant, by default now. Raises `InvalidInput` or `Conflict` `duplicate`."""
    _check_name(name)
    if recorded_at is not None and recorded_at > now:
        raise InvalidInput("in_the_future", "A snapshot's time cannot be in the future.", "recorded_at")
    snapshot = Snapshot(
        tenant_id=tenant.pk,
        name=name.strip(),
        recorded_at=recorded_at or now,
        created_at=now,
        created_by=by.label[:150],
    )
    Snapshot.objects.bulk_create([snapshot], ignore_conflicts=True)
    if not Snapshot.objects.for_tenant(tenant.pk).with_id(snapshot.pk).exists():
        raise Conflict("duplicate", "There is a snapshot of that name already.", "name")
    audit_rows("create_snapshot", [snapshot], fields=["name", "recorded_at"], by=by, now=now)
    return snapshot


@transaction.atomic
def delete_snapshot(*, snapshot: Snapshot, by: Actor, now: datetime) -> Snapshot:
    """Delete the name; no memory or version is lost. Deleting twice is no error."""
    deleted, _ = Snapshot.objects.for_tenant(snapshot.tenant_id).filter(pk=snapshot.pk).delete()
    if deleted:
        audit_rows("delete_snapshot", [snapshot], fields=["name", "recorded_at"], by=by, now=now)
    return snapshot


def _check_name(name: str) -> None:
    try:
        check_content(name)
    except ContentError as error:
        raise InvalidInput(error.code, error.detail, "name") from error
    if len(name.strip()) > _NAME_CHARACTERS_MAX:
        raise InvalidInput("too_long", f"A name has at most {_NAME_CHARACTERS_MAX} characters.", "name")
