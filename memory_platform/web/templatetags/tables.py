"""Header, target links and pager of a table, see `memory_platform.web.tables`."""

from collections.abc import Iterable
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory_platform.web.tables import sort_query

register = template.Library()


@register.inclusion_tag("memory_platform/web/_sort_link.html", takes_context=True)
def sort_link(context: dict[str, Any], name: str, label: str, css: str = "", target: str = "#rows") -> dict[str, Any]:
    """Render the `<th>` of a sortable column of `table`; a click on the sorted column reverses the order."""
    request, order = context["request"], context["table"].order
    query = sort_query(request, order.next_sort_value(name))
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
    """Return each target shortened, with its whole id on hover, as a link where a page shows it."""
    linked = '<a class="mono nowrap" href="{}" title="{}">{}</a>'
    return [
        format_html(linked, each.url, each.id, each.short)
        if each.url
        else format_html('<span class="mono" title="{}">{}</span>', each.id, each.short)
        for each in targets
    ]


@register.inclusion_tag("memory_platform/web/_pager.html", takes_context=True)
def pager(context: dict[str, Any], what: str = "rows") -> dict[str, Any]:
    """Render the pager of `table`, with its order for the filter form `#filters`."""
    return {"path": context["request"].path, "table": context["table"], "what": what}
