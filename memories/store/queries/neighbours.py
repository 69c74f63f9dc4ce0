"""Memories by ranges of session positions, as one join that reads an index range for each."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import models
from django.db.models.expressions import RawSQL


class PositionSpan(NamedTuple):
    """Positions `first` to `last`, both included, of a session in a partition."""

    partition_path: str
    session: str
    first: int
    last: int


def ids_in_spans(model: type[models.Model], tenant_id: UUID, spans: Sequence[PositionSpan]) -> RawSQL:
    """Return the primary keys of rows in any of the spans."""
    paths, sessions, firsts, lasts = (list(values) for values in zip(*spans, strict=True))
    table = model._meta.db_table
    statement = (
        f"SELECT near.id FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[])"  # noqa: S608 - a table's own name
        f' AS span ("path", "session", "first", "last") JOIN {table} near ON near.tenant_id = %s'
        " AND near.session = span.session AND near.position BETWEEN span.first AND span.last"
        " AND near.partition_path = span.path"
    )
    return RawSQL(statement, [paths, sessions, firsts, lasts, tenant_id])  # noqa: S611 - values are parameters
