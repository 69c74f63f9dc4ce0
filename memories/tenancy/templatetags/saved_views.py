"""The template tag of the saved views above a list."""

from typing import Any
from urllib.parse import urlencode

from django import template

from memories.models import SavedView
from memories.services.tenancy.saved_views import kept_filters
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.views.saved_views import view_address

register = template.Library()


@register.inclusion_tag("memories/tenancy/_saved_views.html", takes_context=True)
def saved_views(context: dict[str, Any], list_name: str, **parts: str) -> dict[str, Any]:
    """Render the views of a list and, unless the page refuses them, the form that saves its filters. One query.

    `parts` are parameters that a view needs in addition to the filters, because the page has them in its path.
    """
    request = context["request"]
    chosen, operator = kept_filters(request.GET.dict()), request.operator
    filters = kept_filters(chosen | parts)
    with tenant_scope(request.tenant.id):
        rows = SavedView.objects.for_tenant(request.tenant.id).of_list(list_name).kept().visible_to(operator.user.pk)
        views = [{"view": view, "address": view_address(view), "is_current": view.filters == filters} for view in rows]
    is_saved = any(view["is_current"] for view in views)
    return {
        "request": request,
        "csrf_token": context.get("csrf_token"),
        "list_name": list_name,
        "views": views,
        "query": urlencode(filters),
        "can_save": not context.get("is_refused") and bool(chosen.keys() - parts) and not is_saved,
    }
