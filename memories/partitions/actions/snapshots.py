"""Snapshots: names for recorded times. The rows stay where they are; a name says which of them were held."""

from datetime import datetime

from django.db import transaction

from memories.models import Snapshot, Tenant
from memories.services.store.content import ContentError, check_content
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput

_NAME_CHARACTERS_MAX = 100


@transaction.atomic
def create_snapshot(
    *, tenant: Tenant, name: str, recorded_at: datetime | None = None, by: Actor, now: datetime
) -> Snapshot:
    """Name a recorded time of the tenant, now when none is given.

    Raises `InvalidInput` by field, and `Conflict` `duplicate` where the name is taken.
    """
    _check_name(name)
    if recorded_at is not None and recorded_at > now:
        raise InvalidInput("in_the_future", "Only what has been can be named.", "recorded_at")
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
    _audit(snapshot, "create_snapshot", by, now)
    return snapshot


@transaction.atomic
def delete_snapshot(*, snapshot: Snapshot, by: Actor, now: datetime) -> Snapshot:
    """Forget the name; every row it stood for stays, and its time can be named again. Twice is no error."""
    gone, _ = Snapshot.objects.for_tenant(snapshot.tenant_id).filter(pk=snapshot.pk).delete()
    if gone:
        _audit(snapshot, "delete_snapshot", by, now)
    return snapshot


def _check_name(name: str) -> None:
    try:
        check_content(name)
    except ContentError as error:
        raise InvalidInput(error.code, error.detail, "name") from error
    if len(name.strip()) > _NAME_CHARACTERS_MAX:
        raise InvalidInput("too_long", f"A name has at most {_NAME_CHARACTERS_MAX} characters.", "name")


def _audit(snapshot: Snapshot, verb: str, by: Actor, now: datetime) -> None:
    record_audit(
        tenant_id=snapshot.tenant_id,
        by=by,
        verb=verb,
        target_kind="snapshot",
        target_ids=[snapshot.pk],
        fields=["name", "recorded_at"],
        now=now,
    )
