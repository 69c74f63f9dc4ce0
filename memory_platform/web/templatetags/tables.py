"""Heads, ids and foot of a table whose order and place stand in the address: see `memory_platform.web.tables`."""

from collections.abc import Iterable
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory_platform.web.tables import sort_query

register = template.Library()


@register.inclusion_tag("memory_platform/web/_sort_link.html", takes_context=True)
def sort_link(context: dict[str, Any], name: str, label: str, css: str = "", target: str = "#rows") -> dict[str, Any]:
    """The `<th>` of a column of `table` that orders the rows: `aria-sort` where it does, a click turns it round."""
    request, order = context["request"], context["table"].order
    query = sort_query(request, order.next_wish(name))
    is_chosen = order.column.name == name
    return {
        "name": name,
        "label": label,
        "css": css,
        "target": target,
        "address": f"{request.path}?{query}" if query else request.path,
        "direction": ("descending" if order.is_down else "ascending") if is_chosen else "",
    }


@register.filter
def target_links(targets: Iterable[Any]) -> list[SafeString]:
    """Each target cut short, a link where a page shows it, whole on hover: an entry may be about a hundred."""
    linked = '<a class="mono nowrap" href="{}" title="{}">{}</a>'
    return [
        format_html(linked, each.url, each.id, each.short)
        if each.url
        else format_html('<span class="mono" title="{}">{}</span>', each.id, each.short)
        for each in targets
    ]


@register.inclusion_tag("memory_platform/web/_pager.html", takes_context=True)
def pager(context: dict[str, Any], what: str = "rows") -> dict[str, Any]:
    """The pages of `table`, and its order for the filter form `#filters`."""
    return {"path": context["request"].path, "table": context["table"], "what": what}
