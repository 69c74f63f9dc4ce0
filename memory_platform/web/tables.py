"""Console tables whose order and page are in the URL (ADR-0085).

A view names the sortable columns and passes a function that reads a page::

    COLUMNS = (SortColumn("when", "created_at", datetime), SortColumn("tokens", "tokens_used", int))

    table = read_table(request, COLUMNS, Receipt.objects.for_tenant(tenant_id).page)
    return show(request, template, {"table": table})

The first column is the default order. `?sort=tokens` sorts ascending, `?sort=-tokens` descending. An unknown `sort`, or
a `cursor` of another order, shows the first page.

Every sortable column needs an index of the tenant and the column, or a small table, and has no NULLs.

In the template (`{% load tables %}`), with `table` in the context and the rows inside an element `#rows`::

    <thead><tr>{% sort_link "tokens" "Tokens" css="num" %}<th scope="col">Model</th></tr></thead>
    ... {% for row in table.rows %} ... {% endfor %}
    {% pager "contexts" %}

`pager` also adds the order to the page's filter form, which therefore has `id="filters"`. Put it next to the table and
outside of the table's empty state. Rows that are read whole are sorted by `requested_order(...).sorted`; such a table
needs no pager, and `sort_link ... target=""` where no fragment contains the table alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol
from uuid import UUID

from memory_platform.rest.pages import (
    CursorError,
    CursorPosition,
    position_to_row,
    read_cursor,
    read_page,
    write_cursor,
)
from memory_platform.web.pages import HtmxRequest

TABLE_PAGE_SIZE = 50


class PageReader(Protocol):
    """The signature of `TenantRows.page`: rows in an order, from a position on."""

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

    def accepts(self, value: Any) -> bool:
        """Whether the value of a cursor has this column's type."""
        return isinstance(value, (int, float) if self.kind in (int, float) else self.kind)


@dataclass(frozen=True)
class TableOrder:
    """The order of a table; the first of its columns is the default."""

    columns: Sequence[SortColumn]
    column: SortColumn
    is_down: bool

    @property
    def ordering(self) -> str:
        """The order as a queryset takes it."""
        return f"-{self.column.field}" if self.is_down else self.column.field

    @property
    def sort_value(self) -> str:
        """The value of `sort` in the URL: "" for the default."""
        return self._sort_value_of(self.column, is_down=self.is_down)

    def _sort_value_of(self, column: SortColumn, *, is_down: bool) -> str:
        if column == self.columns[0] and is_down == column.is_down_first:
            return ""
        return f"-{column.name}" if is_down else column.name

    def next_sort_value(self, name: str) -> str:
        """The value of `sort` after a click on a column's head: its first direction, then the opposite one."""
        column = next(each for each in self.columns if each.name == name)
        is_down = not self.is_down if column == self.column else column.is_down_first
        return self._sort_value_of(column, is_down=is_down)

    def sorted(self, rows: Iterable[Any]) -> list[Any]:
        """Return rows in this order; those without a value last, equal ones in their original order."""
        values = [(getattr(row, self.column.field), row) for row in rows]
        present = [(value, row) for value, row in values if value is not None]
        present.sort(key=itemgetter(0), reverse=self.is_down)
        return [row for _, row in present] + [row for value, row in values if value is None]


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
    return TablePage(
        rows=found.rows,
        order=order,
        first_query=page_query(request, None) if position is not None else None,
        previous_query=page_query(request, found.previous) if found.previous else None,
        next_query=page_query(request, found.next) if found.next else None,
    )


def _requested_position(request: HtmxRequest, order: TableOrder) -> CursorPosition | None:
    cursor = request.GET.get("cursor")
    try:
        position = read_cursor(cursor) if cursor else None
    except CursorError:
        return None
    if position is None or position.ordering != order.ordering or not isinstance(position.id, UUID):
        return None
    return position if order.column.accepts(position.value) else None


def page_query(request: HtmxRequest, position: CursorPosition | None) -> str:
    """Return the URL's query string for another page: the first one for None."""
    query = request.GET.copy()
    query.pop("cursor", None)
    if position is not None:
        query["cursor"] = write_cursor(position)
    return query.urlencode()


def sort_query(request: HtmxRequest, sort_value: str) -> str:
    """Return the URL's query string for the first page in another order."""
    query = request.GET.copy()
    query.pop("cursor", None)
    query.pop("sort", None)
    if sort_value:
        query["sort"] = sort_value
    return query.urlencode()
