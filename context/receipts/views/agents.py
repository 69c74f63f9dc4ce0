"""The page of a tenant's agents: what each API key or partition received over time."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponseBase
from django.urls import reverse
from django.utils import timezone

from context.receipts.agents import AgentGroup, agent_charts, agent_rows
from context.receipts.forms import AgentForm
from context.receipts.queries import NO_KEY
from memories.models import ApiKey
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page
from memory_platform.web.time_ranges import DEFAULT_SPAN, SPANS


@tenant_page("viewer")
def agents(request: HtmxRequest) -> HttpResponseBase:
    """Show the figures of each agent and the charts of the selected one, else of all. Changes nothing."""
    form, now, tenant_id = AgentForm(request.GET), timezone.now(), request.tenant.id
    form.is_valid()
    span = next((each for each in SPANS if each.name == form.cleaned_data.get("range")), DEFAULT_SPAN)
    group = AgentGroup(form.cleaned_data.get("by") or AgentGroup.KEY)
    selected = form.cleaned_data.get("agent") if "agent" in request.GET else None
    filters = _log_filters(group, selected)

    def address(start: datetime, end: datetime, **more: str) -> str:
        times = {"after": _form_time(start), "before": _form_time(end)}
        return reverse("context-log", args=[tenant_id], query=filters | times | more)

    with tenant_scope(tenant_id):
        rows = agent_rows(tenant_id, group, span, now=now)
        charts = agent_charts(tenant_id, _owner(tenant_id, group, selected), span, now=now, address=address)
    since = {"after": _form_time(span.starts_at(now)[0])}
    value = "" if group is AgentGroup.KEY and selected == NO_KEY else selected
    page: dict[str, Any] = {
        "section": "agents",
        "form": form,
        "spans": SPANS,
        "span": span,
        "group": group,
        "selected": selected,
        "selected_name": next((row.name for row in rows if row.value == value), selected),
        "groups": [(AgentGroup.KEY, "API keys"), (AgentGroup.PARTITION, "Partitions")],
        "charts": charts,
        "rows": [
            {
                "row": row,
                "query": urlencode({"by": group, "range": span.name, "agent": row.value or _empty(group)}),
                "log": urlencode(_log_filters(group, row.value or _empty(group)) | since),
                "is_selected": selected == (row.value or _empty(group)),
            }
            for row in rows
        ],
    }
    return render_page(request, "context/receipts/agents.html", page, fragment="fragment", form=form)


def _empty(group: AgentGroup) -> str:
    return NO_KEY if group is AgentGroup.KEY else ""


def _owner(tenant_id: Any, group: AgentGroup, selected: str | None) -> dict[str, Any]:
    """Return the filter of the receipts of an agent; an unknown key matches none."""
    if selected is None:
        return {}
    if group is AgentGroup.PARTITION:
        return {"partition": selected}
    if selected == NO_KEY:
        return {"key_id": ""}
    key = ApiKey.objects.for_tenant(tenant_id).with_prefix(selected).first()
    return {"key_id": key.pk if key else selected}


def _log_filters(group: AgentGroup, selected: str | None) -> dict[str, str]:
    """Return the filters of the context log for an agent."""
    if selected is None:
        return {}
    return {"key": selected} if group is AgentGroup.KEY else {"partition": selected, "exact": "on"}


def _form_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S")
