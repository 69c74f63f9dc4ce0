"""Redirect inputs of any length, sent by POST, to a page whose URL can be shared."""

from collections.abc import Mapping

from django.http import Http404, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from context.workbench.actions import store_long_query
from context.workbench.forms import PreviewForm
from context.workbench.long_queries import QUERY_ID, is_long_query
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import perform
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.htmx import HtmxRequest

#: The pages whose forms send their inputs here, by the last part of the URL.
_PAGES: Mapping[str, str] = {
    "preview": "context-preview",
    "compare": "context-compare",
    "curve": "budget-curve",
    "explain": "context-explain",
}


@tenant_page(to_change="viewer")
def context_address(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Redirect to a page with the inputs in its URL; a query that is too long for a URL is stored once."""
    if name not in _PAGES:
        raise Http404
    inputs = request.POST.copy()
    for dropped in ("csrfmiddlewaretoken", QUERY_ID):
        inputs.pop(dropped, None)
    query = inputs.get("query", "")
    if is_long_query(query):
        field = PreviewForm({"query": query})["query"]
        if field.errors:
            flash_error(request, " ".join(map(str, field.errors)))
            inputs["query"] = ""
        else:
            inputs.pop("query")
            inputs[QUERY_ID] = str(perform(request, store_long_query, text=query.strip()))
    for empty in [each for each, value in inputs.items() if not value and each != "query"]:
        inputs.pop(empty)
    return redirect(reverse(_PAGES[name], args=[request.tenant.id], query=inputs))
