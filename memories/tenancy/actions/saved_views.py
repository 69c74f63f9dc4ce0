"""Save, change and delete views of lists. Shared ones leave an audit row; no other operator sees the others."""

from collections.abc import Mapping
from datetime import datetime

from django.db import IntegrityError, transaction

from memories.models import SavedView, Tenant
from memories.services.tenancy.saved_views import are_too_long
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput

#: Views of one operator for one list.
VIEWS_MAX = 30


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
        raise InvalidInput("bad_filters", "Set at least one filter, and none with a very long text.")
    user_id = int(by.id)
    own = SavedView.objects.for_tenant(tenant.pk).of_user(user_id).of_list(list_name)
    if own.how_many() >= VIEWS_MAX:
        raise Conflict("too_many", f"You have {VIEWS_MAX} views of this list. Delete one first.")
    view = SavedView(
        tenant=tenant, user_id=user_id, list=list_name, filters=dict(filters), created_at=now, is_shared=is_shared
    )
    return _stored(view, name, was_shared=False, by=by, now=now)


@transaction.atomic
def change_view(*, view: SavedView, name: str, is_shared: bool, by: Actor, now: datetime) -> SavedView:
    """Rename a view, share it or stop sharing it. Raises `Conflict` `duplicate`."""
    was_shared, view.is_shared = view.is_shared, is_shared
    return _stored(view, name, was_shared=was_shared, by=by, now=now)


@transaction.atomic
def delete_view(*, view: SavedView, by: Actor, now: datetime) -> None:
    """Delete a view."""
    if view.is_shared:
        audit_rows("delete_view", [view], by=by, now=now)
    view.delete()


def _stored(view: SavedView, name: str, *, was_shared: bool, by: Actor, now: datetime) -> SavedView:
    rows = SavedView.objects.for_tenant(view.tenant_id).of_user(view.user_id).of_list(view.list)
    if rows.named(name).exclude(pk=view.pk).exists():
        raise _duplicate()
    view.name = name
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:  # another request stored the name meanwhile
        raise _duplicate() from error
    if view.is_shared or was_shared:
        audit_rows("save_view", [view], fields=["name", "is_shared"], by=by, now=now)
    return view


def _duplicate() -> Conflict:
    return Conflict("duplicate", "You have a view of this name. Choose another name.", "name")
