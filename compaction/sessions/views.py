"""Sessions: the list with pressures, and one session with its messages: search, pin, expand."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from compaction.models import Message, Session
from compaction.pipeline.policies import TenantPolicies
from compaction.pipeline.session_rows import find_message
from compaction.sessions.actions import expand_message, pin_message
from compaction.sessions.forms import SessionFilterForm, TimelineForm
from compaction.sessions.timeline import filtered_sessions, page_containing, read_timeline, search_session_messages
from memories.models import Partition
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator, missing_is_404, tenant_change
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, read_table

_COLUMNS = (
    SortColumn("opened", "created_at", datetime),
    SortColumn("pressure", "fullness", float),
    SortColumn("tokens", "context_tokens", int),
    SortColumn("messages", "message_count", int),
)


@tenant_page("viewer")
def session_list(request: HtmxRequest) -> HttpResponseBase:
    """The sessions of a tenant; the URL contains filters, order and position."""
    form = SessionFilterForm(request.GET)
    page: dict[str, Any] = {"section": "sessions", "form": form}
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        if form.is_valid():
            table = read_table(request, _COLUMNS, filtered_sessions(tenant_id, **form.filters()).page)
            policies = TenantPolicies.of_tenants([tenant_id])[tenant_id]
            page |= {"table": table, "sessions": [(session, policies.of(session)) for session in table.rows]}
            page["is_filtered"] = any(form.cleaned_data.values())
        if not wants_fragment(request):
            page["partitions"] = Partition.objects.for_tenant(tenant_id).offered_paths()
    return render_page(request, "compaction/sessions/sessions.html", page, fragment="fragment", form=form)


@tenant_page("viewer")
def session_detail(request: HtmxRequest, session_id: UUID) -> HttpResponseBase:
    """One session: current summary, messages page by page, compactions, search results."""
    return _session_page(request, session_id, TimelineForm(request.GET))


def _session_page(request: HtmxRequest, session_id: UUID, form: TimelineForm) -> HttpResponse:
    fields: dict[str, Any] = form.cleaned_data if form.is_valid() else {"q": "", "before": None, "at": None}
    with tenant_scope(request.tenant.id):
        row = get_session_or_404(request, session_id)
        before = page_containing(row, fields["at"]) if fields["at"] is not None else fields["before"]
        page = {
            "section": "sessions",
            "session": row,
            "form": form,
            "timeline": read_timeline(row, before=before),
            "found": search_session_messages(row, fields["q"]) if fields["q"] else None,
        }
    return render_page(request, "compaction/sessions/session.html", page, fragment="body", form=form)


def get_session_or_404(request: HtmxRequest, session_id: UUID) -> Session:
    """Return the tenant's session, open or closed, with its title; inside a scope."""
    rows = Session.objects.for_tenant(request.tenant.id).with_current().with_titles()
    session: Session = get_object_or_404(rows, pk=session_id)
    return session


@tenant_page(to_change="operator")
def message_pin(request: HtmxRequest, message_id: UUID) -> HttpResponseBase:
    """Keep a message in every context of its session."""
    return _perform(request, message_id, partial(pin_message, pinned=True), "Pinned.", undo="message-unpin")


@tenant_page(to_change="operator")
def message_unpin(request: HtmxRequest, message_id: UUID) -> HttpResponseBase:
    """Unpin a message."""
    return _perform(request, message_id, partial(pin_message, pinned=False), "Unpinned.", undo="message-pin")


@tenant_page(to_change="operator")
def message_expand(request: HtmxRequest, message_id: UUID) -> HttpResponseBase:
    """Show the original of a masked tool output in the context again."""
    return _perform(request, message_id, expand_message, "Expanded: the context contains the original again.")


def _perform(
    request: HtmxRequest, message_id: UUID, action: Callable[..., Message], done: str, *, undo: str = ""
) -> HttpResponseBase:
    with missing_is_404(), tenant_scope(request.tenant.id):
        row = find_message(tenant_id=request.tenant.id, message_id=message_id, reach="")
    with tenant_change(request):
        action(message=row, **by_operator(request))
        undo_url = reverse(undo, args=[request.tenant.id, message_id]) if undo else ""
        add_flash(request, f"Message {row.sequence}: {done}", undo_url=undo_url)
    before = request.POST.get("before", "")
    place = {"before": before} if before else {"at": str(row.sequence)}
    if request.htmx:
        return _session_page(request, row.session_id, TimelineForm(place))
    query = "&".join(f"{name}={value}" for name, value in place.items() if value.isdecimal())
    return redirect(f"{reverse('session', args=[request.tenant.id, row.session_id])}?{query}#m-{row.sequence}")
