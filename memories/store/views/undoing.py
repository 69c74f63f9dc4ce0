"""Undo a bulk or hygiene action, with a message."""

from uuid import UUID

from django.http import Http404
from django.utils import timezone

from memories.hygiene.actions import undo_hygiene
from memories.tenancy.access import operator_actor
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, flash_error


def undo_bulk_action(request: HtmxRequest, act_id: UUID) -> None:
    """Undo an action, except for memories changed since, and flash the result or the error."""
    try:
        with tenant_scope(request.tenant.id):
            undone = undo_hygiene(
                tenant_id=request.tenant.id, act_id=act_id, by=operator_actor(request.operator), now=timezone.now()
            )
    except NotFound as error:
        raise Http404 from error
    except PlatformError as error:
        flash_error(request, f"Not undone: {error.detail}")
    else:
        add_flash(request, str(undone))
