"""Console tables whose order and page are in the URL (ADR-0085), and their template tags.

`?sort=tokens` sorts ascending, `?sort=-tokens` descending. An unknown `sort`, or a `cursor` that was made for another
sort order, leads to the first page. Every sortable column must be NOT NULL and, unless the table is small, have an
index on (tenant, column). The template has `sort_link` in its header, `pager` after the table, and a filter form with
`id="filters"`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Protocol
from uuid import UUID

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory_platform.rest.cursor_pagination import (
    CursorError,
    CursorPosition,
    position_to_row,
    read_cursor,
    read_page,
    write_cursor,
)
from memory_platform.web.htmx import HtmxRequest

TABLE_PAGE_SIZE = 50
register = template.Library()


class PageReader(Protocol):
    """The signature of `TenantRows.page`: ordered rows from a position on."""

    def __call__(
        self, ordering: str, *, after: tuple[Any, Any] | None = None, is_backward: bool = False, count: int
    ) -> Iterable[Any]: ...


@dataclass(frozen=True)
class SortColumn:
    """A sortable column: its name in the URL, the field of the rows, the type of its values."""

    name: str
    field: str
    kind: type
    is_down_first: bool = True


@dataclass(frozen=True)
class TableOrder:
    """The order of a table; the first of its columns is the default."""

    columns: Sequence[SortColumn]
    column: SortColumn
    is_down: bool

    @property
    def ordering(self) -> str:
        """The order as an argument of `order_by`."""
        return f"-{self.column.field}" if self.is_down else self.column.field

    @property
    def sort_value(self) -> str:
        """The value of `sort` in the URL: "" for the default."""
        if self.column == self.columns[0] and self.is_down == self.column.is_down_first:
            return ""
        return f"-{self.column.name}" if self.is_down else self.column.name

    def next_sort_value(self, name: str) -> str:
        """The value of `sort` after a click on a column heading: its first direction, then the opposite one."""
        column = next(each for each in self.columns if each.name == name)
        is_down = not self.is_down if column == self.column else column.is_down_first
        return replace(self, column=column, is_down=is_down).sort_value

    def sorted(self, rows: Iterable[Any]) -> list[Any]:
        """Return rows in this order; those without a value last, equal ones in their original order."""
        value, listed = attrgetter(self.column.field), list(rows)
        present = [row for row in listed if value(row) is not None]
        return sorted(present, key=value, reverse=self.is_down) + [row for row in listed if value(row) is None]


@dataclass(frozen=True)
class TablePage:
    """A page of rows in an order, with the query strings of other pages; None where there is no such page."""

    rows: Sequence[Any]
    order: TableOrder
    first_query: str | None = None
    previous_query: str | None = None
    next_query: str | None = None

    @property
    def has_pages(self) -> bool:
        return self.previous_query is not None or self.next_query is not None


def requested_order(request: HtmxRequest, columns: Sequence[SortColumn]) -> TableOrder:
    """Return the order that the URL requests, the default for an unknown one."""
    sort_value = request.GET.get("sort", "")
    column = next((each for each in columns if each.name == sort_value.removeprefix("-")), None)
    if column is None:
        return TableOrder(columns, columns[0], columns[0].is_down_first)
    return TableOrder(columns, column, sort_value.startswith("-"))


def read_table(request: HtmxRequest, columns: Sequence[SortColumn], page: PageReader) -> TablePage:
    """Return the page that the URL requests, read by one call of `page`."""
    order = requested_order(request, columns)
    position = _requested_position(request, order)
    found = read_page(
        position,
        ordering=order.ordering,
        size=TABLE_PAGE_SIZE,
        rows_from=lambda place, count: page(order.ordering, **position_to_row(place), count=count),
        place_of=lambda row: (getattr(row, order.column.field), row.pk),
    )
    first = _changed_query(request, cursor="") if position else None
    before, after = (
        _changed_query(request, cursor=write_cursor(place)) if place else None for place in (found.previous, found.next)
    )
    return TablePage(found.rows, order, first_query=first, previous_query=before, next_query=after)


def _requested_position(request: HtmxRequest, order: TableOrder) -> CursorPosition | None:
    cursor = request.GET.get("cursor")
    try:
        position = read_cursor(cursor) if cursor else None
    except CursorError:
        return None
    if position is None or position.ordering != order.ordering or not isinstance(position.id, UUID):
        return None
    kind = order.column.kind
    return position if isinstance(position.value, (int, float) if kind in (int, float) else kind) else None


def _changed_query(request: HtmxRequest, **changed: str) -> str:
    query = request.GET.copy()
    for name, value in changed.items():
        query.setlist(name, [value] if value else [])
    return query.urlencode()


@register.inclusion_tag("memory_platform/web/_sort_link.html", takes_context=True)
def sort_link(context: dict[str, Any], name: str, label: str, css: str = "", target: str = "#rows") -> dict[str, Any]:
    """Render the `<th>` of a sortable column of `table`; a click on the sorted column reverses the order."""
    request, order = context["request"], context["table"].order
    query = _changed_query(request, cursor="", sort=order.next_sort_value(name))
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
    """Return each target shortened, with its full id on hover, and as a link if a page shows it."""
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
