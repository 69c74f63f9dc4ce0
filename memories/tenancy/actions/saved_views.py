"""Save, change, delete and restore the views of lists. Only changes of shared views are audited."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db import IntegrityError, transaction

from memories.models import SavedView, Tenant
from memories.services.tenancy.saved_views import are_too_long
from memories.tenancy.audit import Actor, ChangedValue, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput, StaleVersion
from memories.tenancy.queries.tenants import SavedViewQuerySet

#: Maximum views of one operator for one list.
VIEWS_MAX = 30
#: The name of a missing view in errors.
_NO_VIEW: Mapping[str, Any] = MappingProxyType({"name": "", "is_shared": False})


@transaction.atomic
def save_view(
    *,
    tenant: Tenant,
    list_name: str,
    name: str,
    filters: Mapping[str, str],
    is_shared: bool,
    by: Actor,
    now: datetime,
) -> SavedView:
    """Save filters under a name. Raises `InvalidInput`, or `Conflict` `duplicate` or `too_many`."""
    if not filters or are_too_long(filters):
        raise InvalidInput("bad_filters", "Set at least one filter, and shorten very long ones.")
    user_id = int(by.id)
    view = SavedView(
        tenant=tenant, user_id=user_id, list=list_name, filters=dict(filters), created_at=now, is_shared=is_shared
    )
    _check_new_view(view)
    return _stored(view, name, by=by, now=now)


@transaction.atomic
def change_view(
    *, view: SavedView, name: str, is_shared: bool, replaces: str | None = None, by: Actor, now: datetime
) -> SavedView:
    """Rename a view, share it or stop sharing it. Raises `Conflict` `duplicate`.

    Raises `StaleVersion` if the view is no longer named `replaces`.
    """
    if replaces is not None and replaces != view.name:
        raise StaleVersion("stale_version", f"Someone else renamed this view to {view.name}.", "name")
    before = {"name": view.name, "is_shared": view.is_shared}
    view.is_shared = is_shared
    return _stored(view, name, before=before, by=by, now=now)


@transaction.atomic
def delete_view(*, view: SavedView, by: Actor, now: datetime) -> None:
    """Delete a view; `restore_view` can restore it until its operator deletes another view."""
    if view.is_shared:
        audit_rows("delete_view", [view], by=by, now=now)
    SavedView.objects.for_tenant(view.tenant_id).of_user(view.user_id).deleted().delete()
    view.deleted_at = now
    view.save()


@transaction.atomic
def restore_view(*, view: SavedView, by: Actor, now: datetime) -> SavedView:
    """Restore a deleted view. Raises `Conflict` `duplicate` or `too_many`."""
    _check_new_view(view)
    view.deleted_at = None
    return _stored(view, view.name, by=by, now=now)


def _others(view: SavedView) -> SavedViewQuerySet:
    """Return the views of the same operator and list."""
    return SavedView.objects.for_tenant(view.tenant_id).of_user(view.user_id).of_list(view.list).kept()


def _check_new_view(view: SavedView) -> None:
    """Raise `Conflict` if the operator already has `VIEWS_MAX` views of the list."""
    if _others(view).row_count() >= VIEWS_MAX:
        raise Conflict("too_many", f"You already have {VIEWS_MAX} views of this list. Delete one first.")


def _stored(view: SavedView, name: str, *, before: Mapping[str, Any] = _NO_VIEW, by: Actor, now: datetime) -> SavedView:
    rows = _others(view)
    if rows.named(name).exclude(pk=view.pk).exists():
        raise _duplicate()
    view.name = name
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:  # another request stored the name meanwhile
        raise _duplicate() from error
    after = {"name": view.name, "is_shared": view.is_shared}
    if view.is_shared or before["is_shared"]:
        changes = [ChangedValue(view.pk, each, before[each], after[each]) for each in after if before != after]
        audit_rows("save_view", [view], fields=["name", "is_shared"], changes=changes, by=by, now=now)
    return view


def _duplicate() -> Conflict:
    return Conflict("duplicate", "You already have a view with this name. Choose another name.", "name")
