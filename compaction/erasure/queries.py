"""Erasures, and the rows that an erasure reaches."""

import re
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from psycopg.errors import Diagnostic

from memories.tenancy.queries.methods import rows_by, rows_ordered_by, rows_where
from memories.tenancy.queries.rows import ClaimedRows, TenantRows

#: Pauses before each attempt to rewrite a table that an older transaction may still read.
REWRITE_PAUSES_SECONDS = (0, 0.2, 1, 2, 4, 8, 16)
_DEAD_ROWS = re.compile(r"(\d+) dead row versions? cannot be removed yet")


class ErasureQuerySet(ClaimedRows):
    failed = rows_where(state="failed")
    #: Finished erasures that are not dry runs.
    receipts = rows_where(state="done", is_dry_run=False)

    def of_age_open(self, path: str, age_from: str) -> Self:
        """Open erasures that a retention policy requested for this partition and age."""
        return self.open().filter(scope="age", partition_path=path, age_from=age_from)

    def past_dry_runs(self, moment: datetime) -> Self:
        """Dry runs that were requested before `moment`."""
        return self.filter(is_dry_run=True, created_at__lt=moment)

    def with_uncleaned_files(self) -> Self:
        """Finished erasures whose texts may still be in freed space of data files."""
        return self.receipts().filter(files_cleaned_at__isnull=True)


class RetentionPolicyQuerySet(TenantRows):
    of_partition = rows_by("partition_path")
    by_partition = rows_ordered_by("partition_path", "age_from")

    def of(self, path: str, age_from: str) -> Self:
        return self.of_partition(path).filter(age_from=age_from)


def first_ids(rows: "QuerySet[Any]", count: int) -> list[Any]:
    """Return the primary keys of up to `count` rows, locked until the transaction ends."""
    return list(rows.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True)[:count])


def all_ids(rows: "QuerySet[Any]") -> list[Any]:
    """Return the primary keys of the rows in their order."""
    return list(rows.order_by("pk").values_list("pk", flat=True))


def delete_rows(rows: "QuerySet[Any]", ids: Iterable[Any]) -> None:
    """Delete rows by primary key without reading them. Rows that refer to them must be deleted first.

    If a referring row still exists, the transaction fails with a foreign key error, so no row is deleted uncounted.
    """
    chosen: Any = rows.model._default_manager.filter(pk__in=list(ids))
    chosen._raw_delete(chosen.db)


def drop_references(model: Any, column: str, ids: Iterable[Any]) -> None:
    """Set a nullable reference to deleted rows to NULL."""
    model._default_manager.filter(**{f"{column}__in": list(ids)}).update(**{column: None})


def rewrite_tables(tables: Iterable[str], *, database: str) -> list[str]:
    """Rewrite each table and its indexes in a separate transaction, as the role that owns them.

    A catalogue is not analysed. Freed space then contains nothing of deleted rows. Returns the tables that still
    contain some after half a minute, because an older transaction may read them: a long query, autovacuum's ANALYZE, or
    one that writes to any database of the server.
    """
    return [table for table in tables if not _is_rewritten(table, connections[database])]


def _is_rewritten(table: str, connection: BaseDatabaseWrapper) -> bool:
    """Rewrite the table until nothing of a deleted row is left in it; False if that takes too long."""
    for seconds in REWRITE_PAUSES_SECONDS:
        time.sleep(seconds)
        if not _dead_rows_after_rewrite(table, connection):
            return True
    return False


def _dead_rows_after_rewrite(table: str, connection: BaseDatabaseWrapper) -> int:
    options = "FULL, VERBOSE" if table.startswith("pg_") else "FULL, VERBOSE, ANALYZE"
    details: list[str] = []

    def note(notice: Diagnostic) -> None:
        details.append(notice.message_detail or "")

    with connection.cursor() as cursor:
        connection.connection.add_notice_handler(note)
        try:
            cursor.execute(f"VACUUM ({options}) {connection.ops.quote_name(table)}")
        finally:
            connection.connection.remove_notice_handler(note)
    return sum(int(count) for detail in details for count in _DEAD_ROWS.findall(detail))
