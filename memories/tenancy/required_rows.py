"""Rows that a request names and that must exist."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from memories.tenancy.exceptions import NotFound

Row = TypeVar("Row", bound=Model)


def find_row(rows: QuerySet[Any], kind: type[Row], name: str = "", field: str = "") -> Row:
    """Return the first of the rows of the model `kind`. Raises `NotFound` with its `name`, if not that of the model."""
    row: Row | None = rows.first()
    if row is None:
        raise NotFound("not_found", f"There is no such {name or kind._meta.model_name}.", field)
    return row
