"""Tables of rows whose order and place stand in their page's address (ADR-0085).

A view names the columns it offers and says how to read a page; everything else follows from the address::

    COLUMNS = (Column("when", "created_at", datetime), Column("tokens", "tokens_used", int))

    table = read_table(request, COLUMNS, Receipt.objects.for_tenant(tenant_id).page)
    return show(request, template, {"table": table})

The first column is the order where the address says nothing. `?sort=tokens` is the least first, `?sort=-tokens` the
most; a `sort` or `cursor` that is none of this table's begins at the start, as a cursor of another order does.

Every column offered needs an index that begins with the tenant and stands in its order, or few rows, and no NULLs.

In the template (`{% load tables %}`), where `table` is in the context and the rows lie in an element `#rows`::

    <thead><tr>{% sort_link "tokens" "Tokens" css="num" %}<th scope="col">Model</th></tr></thead>
    ... {% for row in table.rows %} ... {% endfor %}
    {% pager "contexts" %}

`pager` also writes the order into the page's filter form, so that form carries `id="filters"`. It stands where the
table stands and outside of its "nothing found". Few rows, read whole, are put into `requested_order(...)` by its
`sorted`; such a table needs no pager, and `sort_link ... target=""` where no fragment holds it alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol
from uuid import UUID

from memory_platform.rest.pages import CursorError, CursorPosition, read_cursor, write_cursor
from memory_platform.web.pages import HtmxRequest

TABLE_PAGE_SIZE = 50


class PageReader(Protocol):
    """What `TenantRows.page` is: rows in an order, from a place on."""

    def __call__(
        self, ordering: str, *, after: tuple[Any, Any] | None, is_backward: bool, count: int
    ) -> Iterable[Any]: ...


@dataclass(frozen=True)
class SortColumn:
    """What a table can be ordered by: its name in the address, the field of the rows, the type of its values."""

    name: str
    field: str
    kind: type
    is_down_first: bool = True

    def ordering(self, *, is_down: bool) -> str:
        return f"-{self.field}" if is_down else self.field

    def holds(self, value: Any) -> bool:
        """Whether a value of a cursor is one of this column."""
        return isinstance(value, (int, float) if self.kind in (int, float) else self.kind)


@dataclass(frozen=True)
class TableOrder:
    """The order of a table, chosen among its columns; the first column is the default."""

    columns: Sequence[SortColumn]
    column: SortColumn
    is_down: bool

    @property
    def ordering(self) -> str:
        """As a queryset takes it."""
        return self.column.ordering(is_down=self.is_down)

    @property
    def wish(self) -> str:
        """As the address says it: "" for the default."""
        return self.wish_for(self.column, is_down=self.is_down)

    def wish_for(self, column: SortColumn, *, is_down: bool) -> str:
        if column == self.columns[0] and is_down == column.is_down_first:
            return ""
        return f"-{column.name}" if is_down else column.name

    def next_wish(self, name: str) -> str:
        """What a click on the head of a column asks for: the column as it begins, then the other way round."""
        column = next(each for each in self.columns if each.name == name)
        is_down = not self.is_down if column == self.column else column.is_down_first
        return self.wish_for(column, is_down=is_down)

    def sorted(self, rows: Iterable[Any]) -> list[Any]:
        """Rows that are read whole, in this order; those without a value last, equal ones as they came."""
        values = [(getattr(row, self.column.field), row) for row in rows]
        present = [(value, row) for value, row in values if value is not None]
        present.sort(key=itemgetter(0), reverse=self.is_down)
        return [row for _, row in present] + [row for value, row in values if value is None]


@dataclass(frozen=True)
class TablePage:
    """A page of rows in an order; a query is that of another page's address, None where there is none."""

    rows: Sequence[Any]
    order: TableOrder
    first_query: str | None = None
    previous_query: str | None = None
    next_query: str | None = None

    @property
    def has_pages(self) -> bool:
        return self.previous_query is not None or self.next_query is not None


def requested_order(request: HtmxRequest, columns: Sequence[SortColumn]) -> TableOrder:
    """The order that the address asks for, the default where it asks for none of these."""
    wish = request.GET.get("sort", "")
    column = next((each for each in columns if each.name == wish.removeprefix("-")), None)
    if column is None:
        return TableOrder(columns, columns[0], columns[0].is_down_first)
    return TableOrder(columns, column, wish.startswith("-"))


def read_table(request: HtmxRequest, columns: Sequence[SortColumn], page: PageReader) -> TablePage:
    """The page that the address asks for; one call of `page`, which reads one row more than it shows."""
    order = requested_order(request, columns)
    place = _place_in(request, order)
    is_backward = place is not None and place.is_backward
    after = (place.value, place.id) if place is not None else None
    found = list(page(order.ordering, after=after, is_backward=is_backward, count=TABLE_PAGE_SIZE + 1))
    rows, has_more = found[:TABLE_PAGE_SIZE], len(found) > TABLE_PAGE_SIZE
    if is_backward:
        rows.reverse()

    def query_from(row: Any, *, is_backward: bool) -> str:
        value = getattr(row, order.column.field)
        return page_query(request, CursorPosition(order.ordering, value, row.pk, is_backward))

    has_previous = bool(rows) and (has_more if is_backward else place is not None)
    has_next = bool(rows) and (has_more or is_backward)
    return TablePage(
        rows=rows,
        order=order,
        first_query=page_query(request, None) if place is not None else None,
        previous_query=query_from(rows[0], is_backward=True) if has_previous else None,
        next_query=query_from(rows[-1], is_backward=False) if has_next else None,
    )


def _place_in(request: HtmxRequest, order: TableOrder) -> CursorPosition | None:
    cursor = request.GET.get("cursor")
    try:
        place = read_cursor(cursor) if cursor else None
    except CursorError:
        return None
    if place is None or place.ordering != order.ordering or not isinstance(place.id, UUID):
        return None
    return place if order.column.holds(place.value) else None


def page_query(request: HtmxRequest, place: CursorPosition | None) -> str:
    """The address's query with another place: that of the first page for None."""
    query = request.GET.copy()
    query.pop("cursor", None)
    if place is not None:
        query["cursor"] = write_cursor(place)
    return query.urlencode()


def sort_query(request: HtmxRequest, wish: str) -> str:
    """The address's query in another order, from its first page."""
    query = request.GET.copy()
    query.pop("cursor", None)
    query.pop("sort", None)
    if wish:
        query["sort"] = wish
    return query.urlencode()
