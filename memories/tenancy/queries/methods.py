"""Queryset methods that only name a filter, an order or related rows, each declared in one line.

Managers do not have them for the type checker: call them on a queryset, such as that of `for_tenant` or `all`.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from django.db.models import Q, QuerySet

from memories.tenancy.queries.conditions import path_condition

Rows = TypeVar("Rows", bound=QuerySet[Any])


class RowsMethod(Protocol):
    """A method that returns other rows of the same queryset class."""

    def __get__(self, rows: Rows, owner: Any = None) -> Callable[..., Rows]: ...


def rows_where(*conditions: Q, **values: Any) -> RowsMethod:
    """Return the method that selects the rows that meet the conditions and have the values."""
    return cast(RowsMethod, lambda rows: rows.filter(*conditions, **values))


def rows_by(*lookups: str, **fixed: Any) -> RowsMethod:
    """Return the method that selects the rows that match its arguments, one for each lookup, and the `fixed` values."""
    return cast(RowsMethod, lambda rows, *values: rows.filter(**dict(zip(lookups, values, strict=True)), **fixed))


def rows_among(column: str) -> RowsMethod:
    """Return the method that selects the rows whose column has one of the values of its argument."""
    return cast(RowsMethod, lambda rows, values: rows.filter(**{f"{column}__in": list(values)}))


def rows_of(column: str) -> RowsMethod:
    """Return the method that selects the rows whose column has one of its arguments."""
    return cast(RowsMethod, lambda rows, *values: rows.filter(**{f"{column}__in": values}))


def rows_within(*columns: str) -> RowsMethod:
    """Return the method that selects the rows whose partitions are its argument or, unless `exact`, below it."""

    def method(rows: QuerySet[Any], path: str, *, exact: bool = False) -> QuerySet[Any]:
        return rows.filter(*(path_condition(column, path, exact=exact) for column in columns))

    return cast(RowsMethod, method)


def rows_ordered_by(*columns: Any) -> RowsMethod:
    """Return the method that orders the rows."""
    return cast(RowsMethod, lambda rows: rows.order_by(*columns))


def rows_with(*relations: str) -> RowsMethod:
    """Return the method that reads related rows in the same query."""
    return cast(RowsMethod, lambda rows: rows.select_related(*relations))


def rows_without(*columns: str) -> RowsMethod:
    """Return the method that leaves large columns unread."""
    return cast(RowsMethod, lambda rows: rows.defer(*columns))
