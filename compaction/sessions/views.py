"""Sessions: the list with pressures, and one session with its messages: search, pin, expand."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from compaction.models import Message, Session
from compaction.pipeline.session_rows import find_message
from compaction.sessions.actions.messages import expand_message, pin_message
from compaction.sessions.browsing import filtered_sessions, with_policies
from compaction.sessions.forms import SessionFilterForm, TimelineForm
from compaction.sessions.timeline import page_containing, read_timeline, search_session_messages
from memories.models import Partition
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    HtmxRequest,
    add_flash,
    flash_error,
    operator_required,
    render_page,
    wants_fragment,
)
from memory_platform.web.tables import SortColumn, read_table

_COLUMNS = (
    SortColumn("opened", "created_at", datetime),
    SortColumn("pressure", "fullness", float),
    SortColumn("tokens", "context_tokens", int),
    SortColumn("messages", "message_count", int),
)


@operator_required("viewer")
@tenant_required
@require_safe
def session_list(request: HtmxRequest) -> HttpResponseBase:
    """The sessions of a tenant; the URL contains filters, order and position."""
    form = SessionFilterForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": "sessions", "form": form}
    tenant_id = request.tenant.id
    is_whole = not wants_fragment(request)
    with tenant_scope(tenant_id):
        if form.is_valid():
            wanted = form.wanted()
            table = read_table(request, _COLUMNS, filtered_sessions(tenant_id, wanted).page)
            page |= {"table": table, "sessions": with_policies(tenant_id, table.rows), "wanted": wanted}
        if is_whole:
            page["partitions"] = Partition.objects.for_tenant(tenant_id).offered_paths()
    status = HTTPStatus.OK if form.is_valid() else HTTPStatus.UNPROCESSABLE_ENTITY
    return render_page(
        request,
        "compaction/sessions/sessions.html" if is_whole else "compaction/sessions/sessions.html#fragment",
        page,
        status=status,
    )


@operator_required("viewer")
@tenant_required
@require_safe
def session_detail(request: HtmxRequest, session_id: UUID) -> HttpResponseBase:
    """One session: current summary, messages page by page, compactions, search results."""
    return _session_page(request, session_id, TimelineForm(request.GET, label_suffix=""))


def _session_page(request: HtmxRequest, session_id: UUID, form: TimelineForm) -> HttpResponse:
    is_valid = form.is_valid()
    fields: dict[str, Any] = form.cleaned_data if is_valid else {"q": "", "before": None, "at": None}
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
    status = HTTPStatus.OK if is_valid else HTTPStatus.UNPROCESSABLE_ENTITY
    template = (
        "compaction/sessions/session.html#body" if wants_fragment(request) else "compaction/sessions/session.html"
    )
    return render_page(request, template, page, status=status)


def get_session_or_404(request: HtmxRequest, session_id: UUID) -> Session:
    """The tenant's session, open or closed, with its title; inside a scope."""
    rows = Session.objects.for_tenant(request.tenant.id).with_id(session_id)
    row: Session | None = rows.with_current().with_titles().first()
    if row is None:
        raise Http404
    return row


@operator_required("operator")
@tenant_required
@require_POST
def message_pin(request: HtmxRequest, message_id: UUID) -> HttpResponseBase:
    """Keep a message in every context of its session."""
    return _perform(request, message_id, partial(pin_message, pinned=True), "Pinned.", undo="message-unpin")


@operator_required("operator")
@tenant_required
@require_POST
def message_unpin(request: HtmxRequest, message_id: UUID) -> HttpResponseBase:
    """Unpin a message."""
    return _perform(request, message_id, partial(pin_message, pinned=False), "Unpinned.", undo="message-pin")


@operator_required("operator")
@tenant_required
@require_POST
def message_expand(request: HtmxRequest, message_id: UUID) -> HttpResponseBase:
    """Show the original of a masked tool output in the context again."""
    return _perform(request, message_id, expand_message, "Expanded: the context contains the original again.")


def _perform(
    request: HtmxRequest, message_id: UUID, verb: Callable[..., Message], said: str, *, undo: str = ""
) -> HttpResponseBase:
    try:
        with tenant_scope(request.tenant.id):
            row = find_message(tenant_id=request.tenant.id, message_id=message_id, reach="")
            verb(message=row, by=operator_actor(request.operator), now=timezone.now())
    except NotFound as error:
        raise Http404 from error
    except PlatformError as error:
        flash_error(request, error.detail)
    else:
        undo_url = reverse(undo, args=[request.tenant.id, message_id]) if undo else ""
        add_flash(request, f"Message {row.sequence}: {said}", undo_url=undo_url)
    before = request.POST.get("before", "")
    place = {"before": before} if before else {"at": str(row.sequence)}
    if request.htmx:
        return _session_page(request, row.session_id, TimelineForm(place, label_suffix=""))
    query = "&".join(f"{name}={value}" for name, value in place.items() if value.isdecimal())
    return redirect(f"{reverse('session', args=[request.tenant.id, row.session_id])}?{query}#m-{row.sequence}")
