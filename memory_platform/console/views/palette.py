"""The view that returns the options of the command palette."""

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.console.forms import SearchForm
from memory_platform.console.palette import find_commands
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page


@tenant_page("viewer")
def palette(request: HtmxRequest) -> HttpResponseBase:
    """List the actions, pages and rows that match the text; without htmx redirect to the global search."""
    form = SearchForm(request.GET)
    text = form.cleaned_data["q"] if form.is_valid() else ""
    if not wants_fragment(request):
        return redirect(reverse("search", args=[request.tenant.id], query={"q": text}))
    with tenant_scope(request.tenant.id):
        groups = find_commands(request.tenant.id, request.operator.role, text, now=timezone.now())
    page = {"groups": groups, "found": sum(len(group.hits) for group in groups)}
    return render_page(request, "memory_platform/console/_palette_options.html", page)
