"""Save, change and delete saved views. Each returns to its list; an invalid form gets a separate page."""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode

from memories.models import SavedView
from memories.tenancy.actions.saved_views import change_view, delete_view, restore_view, save_view
from memories.tenancy.forms import NewViewForm, SavedViewForm
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments, by_operator, submit, tenant_change
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page


@tenant_page(to_change="viewer")
def saved_view_create(request: HtmxRequest) -> HttpResponseBase:
    """Save the filters of a list under a name."""
    form = NewViewForm(request.POST, may_share=request.operator.can_edit)

    def save() -> SavedView:
        fields = form.cleaned_data
        names = {"name": fields["name"], "is_shared": fields["is_shared"], "list_name": fields["list"]}
        return save_view(filters=fields["query"], **names, **action_arguments(request))

    view = submit(request, form, save)
    if view is None:
        return _form_page(request, form, request.POST.get("list", ""), request.POST.get("query", ""))
    add_flash(request, f"View {view.name} saved.")
    return redirect(view_address(view))


@tenant_page(to_change="viewer", state="replaces")
def saved_view_change(request: HtmxRequest, view_id: UUID) -> HttpResponseBase:
    """Rename a view, share it or stop sharing it."""
    view = _own_view(request, view_id)
    form = SavedViewForm(request.POST, may_share=request.operator.can_edit)
    values = {"view": view, "replaces": request.POST.get("replaces", ""), **by_operator(request)}
    changed = submit(request, form, lambda: change_view(**values, **form.cleaned_data))
    if changed is None:
        return _form_page(request, form, view.list, urlencode(view.filters))
    add_flash(request, f"View {view.name} saved.")
    return redirect(view_address(view))


@tenant_page(to_change="viewer")
def saved_view_delete(request: HtmxRequest, view_id: UUID) -> HttpResponseBase:
    """Delete a view; its filters stay on the page, and the message offers to undo."""
    view = _own_view(request, view_id)
    address = view_address(view)
    with tenant_scope(request.tenant.id):
        delete_view(view=view, **by_operator(request))
    undo = reverse("saved-view-restore", args=[request.tenant.id, view.pk])
    add_flash(request, f"View {view.name} deleted.", undo_url=undo)
    return redirect(address)


@tenant_page(to_change="viewer")
def saved_view_restore(request: HtmxRequest, view_id: UUID) -> HttpResponseBase:
    """Restore a deleted view."""
    view = _own_view(request, view_id, is_deleted=True)
    with tenant_change(request):
        restore_view(view=view, **by_operator(request))
        add_flash(request, f"View {view.name} restored.")
    return redirect(view_address(view))


def view_address(view: SavedView) -> str:
    """Return the URL of the list with the filters of a view."""
    return reverse(view.list, args=[view.tenant_id], query=view.filters)


def _own_view(request: HtmxRequest, view_id: UUID, *, is_deleted: bool = False) -> SavedView:
    """Return a view that the operator may change: an own one, or a shared one for operators and admins."""
    with tenant_scope(request.tenant.id):
        rows = SavedView.objects.for_tenant(request.tenant.id).visible_to(request.operator.user.pk)
        view: SavedView = get_object_or_404(rows.deleted() if is_deleted else rows.kept(), pk=view_id)
    if view.is_shared and not request.operator.can_edit:
        raise PermissionDenied("Operators and admins change shared views.")
    return view


def _form_page(request: HtmxRequest, form: SavedViewForm, list_name: str, query: str) -> HttpResponse:
    known = list_name if list_name in SavedView.List.values else SavedView.List.MEMORIES
    address = reverse(known, args=[request.tenant.id])
    page: dict[str, Any] = {"section": known, "form": form, "list_title": SavedView.List(known).label, "query": query}
    page["back"] = f"{address}?{query}" if query else address
    return render_page(request, "memories/tenancy/saved_view.html", page, form=form)
