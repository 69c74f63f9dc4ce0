"""Export and import all rows of a tenant as JSON Lines, of every model that has a tenant (ADR-0133).

Postgres converts rows to JSON and back, so numbers, vectors and times do not change.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, islice, pairwise
from typing import IO, Any
from uuid import UUID

from django.apps import apps
from django.db import connection, connections, transaction
from django.db.models import AutoField, Field, ForeignKey, Model
from psycopg import sql

from memories.models import ApiKey, MemoryEmbedding, Tenant
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.scopes import tenant_scope
from memory_platform.backup.files import BackupError
from memory_platform.postgres.base import has_tenant

FORMAT = "memory-platform-tenant 1"
ROWS_PER_READ = 200
ROWS_PER_INSERT = 200
#: Columns that a trigger sets on insertion, and that keep other values in rows of earlier versions.
_DERIVED = {MemoryEmbedding._meta.db_table: ["partition_path"]}
_ROW = re.compile(r'^\{"table": "([a-z_]+)", "row": ')


@dataclass(frozen=True)
class TenantTable:
    """A table with rows of tenants: the columns that are stored, and those that name a user."""

    name: str
    tenant_column: str
    columns: tuple[str, ...]
    users: tuple[str, ...]
    sequence_column: str

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.name)


def tenant_tables() -> list[TenantTable]:
    """Return every table in an order in which triggers find the rows that they read (see `_in_order`)."""
    ordered = _in_order([model for model in apps.get_models() if has_tenant(model)])
    return [_table(Tenant), *map(_table, ordered)]


def _in_order(models: list[type[Model]]) -> list[type[Model]]:
    """Sort tables after those that they refer to, and tables without references in either direction last.

    Triggers of the others write to the last ones, whose rows replace what was written. Constraints are checked at the
    end, so a cycle of references may be cut anywhere.
    """
    names = {model._meta.label: model for model in sorted(models, key=lambda each: each._meta.label)}
    edges = {label: {each._meta.label for each in _parents(model)} & names.keys() for label, model in names.items()}
    while True:
        try:
            order = list(TopologicalSorter(edges).static_order())
            break
        except CycleError as error:
            child, parent = _optional_edge(names, error.args[1])
            edges[child].discard(parent)
    referred = set().union(*edges.values())
    return [names[label] for label in sorted(order, key=lambda each: not (edges[each] or each in referred))]


def _parents(model: type[Model]) -> Iterator[type[Model]]:
    for field in model._meta.local_fields:
        if isinstance(field, ForeignKey) and field.related_model not in {model, Tenant}:
            yield field.related_model


def _optional_edge(names: dict[str, type[Model]], cycle: list[str]) -> tuple[str, str]:
    """Return (child, parent) of a reference in the circle that may be empty."""
    for parent, child in pairwise(cycle):
        for field in names[child]._meta.local_fields:
            if isinstance(field, ForeignKey) and field.null and field.related_model is names[parent]:
                return child, parent
    return cycle[1], cycle[0]


def _table(model: type[Model]) -> TenantTable:
    fields = [field for field in model._meta.local_fields if not getattr(field, "generated", False)]
    references = [field for field in fields if isinstance(field, ForeignKey)]
    outside = [each for each in references if each.related_model is not Tenant and not has_tenant(each.related_model)]
    for field in outside:
        if field.related_model._meta.label != "auth.User":
            raise TypeError(f"{model._meta.label}.{field.name} refers to {field.related_model._meta.label}")
    key: Field[Any, Any] = model._meta.pk
    return TenantTable(
        model._meta.db_table,
        "id" if model is Tenant else "tenant_id",
        tuple(str(field.column) for field in fields),
        tuple(str(field.column) for field in outside),
        str(key.column) if isinstance(key, AutoField) else "",
    )


# --- Export ---------------------------------------------------------------------------------------------------------

_USERNAME = "(SELECT u.username FROM auth_user AS u WHERE u.id = t.{column}) AS {column}"
_EXPORT = "SELECT to_json(r)::text FROM (SELECT {columns} FROM {table} AS t WHERE {tenant} = {id} ORDER BY 1) AS r"
_DIGEST = """
SELECT count(*),
    coalesce(sum(('x' || left(md5((to_jsonb(t) - {without}::text[])::text), 15))::bit(60)::bigint), 0)::text
FROM (SELECT {columns} FROM {table} AS t WHERE {tenant} = {id}) AS t
"""


def export_tenant_rows(tenant: Tenant, *, version: str, written_at: str) -> Iterator[str]:
    """Yield the lines of a tenant's file, all as of one point in time; only a few rows are in memory at a time."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        with tenant_scope(tenant.pk):
            if tenant.former_text_search_configs:
                raise BackupError("The tenant's language is being changed: export it afterwards.")
            header = {"format": FORMAT, "tenant_id": str(tenant.pk), "name": tenant.name}
            yield json.dumps({**header, "version": version, "written_at": written_at}, ensure_ascii=False)
            for table in tenant_tables():
                yield from _rows(table, tenant.pk)
            yield json.dumps({"end": _digests(tenant.pk)})


def _rows(table: TenantTable, tenant_id: UUID) -> Iterator[str]:
    columns = [
        sql.SQL(_USERNAME if column in table.users else "t.{column}").format(column=sql.Identifier(column))
        for column in table.columns
    ]
    statement = sql.SQL(_EXPORT).format(columns=sql.SQL(", ").join(columns), **_names(table, tenant_id))
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement)
        while rows := cursor.fetchmany(ROWS_PER_READ):
            yield from (f'{{"table": "{table.name}", "row": {row}}}' for (row,) in rows)


def _names(table: TenantTable, tenant_id: UUID) -> dict[str, sql.Composable]:
    return {
        "table": table.identifier,
        "tenant": sql.Identifier(table.tenant_column),
        "id": sql.Literal(str(tenant_id)),
    }


def _digests(tenant_id: UUID) -> dict[str, list[Any]]:
    """Return the number of rows of each table and a sum of hashes of them, without the tenant's own id and name.

    Derived columns are excluded too.
    """
    found = {}
    for table in tenant_tables():
        own = ["id", "name", "settings_revision"] if table.tenant_column == "id" else ["tenant_id", *table.users]
        statement = sql.SQL(_DIGEST).format(
            columns=sql.SQL(", ").join(map(sql.Identifier, table.columns)),
            without=sql.Literal([*own, *_DERIVED.get(table.name, ())]),
            **_names(table, tenant_id),
        )
        with connection.cursor() as cursor:
            cursor.execute(statement)
            found[table.name] = list(cursor.fetchone())
    return found


# --- Import ---------------------------------------------------------------------------------------------------------

_INSERT = """
INSERT INTO {table} ({columns}) SELECT {values} FROM (
    SELECT line.value -> 'row' AS row, own.* FROM unnest(%s::jsonb[]) AS line (value),
    jsonb_populate_record(NULL::{table}, (line.value -> 'row') - {users}) AS own
) AS r WHERE {known}
"""
_USER_ID = "(SELECT u.id FROM auth_user AS u WHERE u.username = r.row ->> {text})"
_TAKE_SEQUENCE_FORWARD = """
SELECT setval(pg_get_serial_sequence({name}, {text}), greatest(nextval(pg_get_serial_sequence({name}, {text})), %s))
"""


@dataclass(frozen=True)
class ImportedTenant:
    """The result of an import; some rows are skipped because their user does not exist here."""

    tenant_id: UUID
    rows: int
    rows_left_out: int


def import_tenant_rows(
    lines: Iterable[str], *, new_id: UUID | None = None, name: str = "", owner_alias: str, by: Actor, now: datetime
) -> ImportedTenant:
    """Store a tenant's file in one transaction and compare it with the file's digests. Raises `BackupError`.

    With `new_id` its API keys are stored as revoked: a credential belongs to one tenant. The import is recorded in the
    audit log that the file contains.
    """
    numbered = enumerate(lines, start=1)
    header = _object(*next(numbered, (1, "")))
    if header.get("format") != FORMAT:
        raise BackupError("This file is not a tenant's file of this version.")
    try:
        tenant_id = new_id or UUID(header["tenant_id"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BackupError("The first line of the file names no tenant.") from error
    with transaction.atomic(), tenant_scope(tenant_id):
        if Tenant.objects.filter(pk=tenant_id).exists():
            raise BackupError(f"The tenant {tenant_id} exists: --new-id stores a copy under another id.")
        loader = _Loader(tenant_id, is_copy=new_id is not None, name=name or header["name"])
        end = loader.load(numbered)
        found = _digests(tenant_id)
        left_out = _compare(found, end, is_copy=new_id is not None)
        _take_sequences_forward(tenant_id, owner_alias)
        record_audit("import", "tenant", [tenant_id], tenant_id=tenant_id, by=by, now=now)
    return ImportedTenant(tenant_id, sum(count for count, _ in found.values()), left_out)


class _Loader:
    """Inserts rows table by table; each table's rows replace what triggers of earlier ones wrote there."""

    def __init__(self, tenant_id: UUID, *, is_copy: bool, name: str) -> None:
        self._tenant_id, self._is_copy, self._name = tenant_id, is_copy, name
        self._tables = {table.name: table for table in tenant_tables()}

    def load(self, lines: Iterator[tuple[int, str]]) -> dict[str, Any]:
        """Insert all rows and return the values of the last line, which contains the digests."""
        seen: set[str] = set()
        last: tuple[int, str] = (0, "")

        def rows() -> Iterator[tuple[str, str]]:
            nonlocal last
            for number, line in lines:
                match = _ROW.match(line)
                if not match:
                    last = number, line
                    return
                if match[1] not in self._tables:
                    raise BackupError(f"Line {number} names the table {match[1]}, which this version does not have.")
                yield match[1], line

        for name, group in groupby(rows(), key=lambda row: row[0]):
            if name in seen:
                raise BackupError(f"The rows of {name} are not consecutive.")
            seen.add(name)
            self._insert(self._tables[name], group)
        end = _object(*last).get("end") if last[0] else None
        if not isinstance(end, dict):
            raise BackupError("The file is incomplete: its last line is missing.")
        for name in self._tables.keys() - seen:
            self._empty(self._tables[name])
        return end

    def _insert(self, table: TenantTable, rows: Iterator[tuple[str, str]]) -> None:
        self._empty(table)
        statement = self._statement(table)
        with connection.cursor() as cursor:
            while batch := [line for _, line in islice(rows, ROWS_PER_INSERT)]:
                cursor.execute(statement, [batch])

    def _empty(self, table: TenantTable) -> None:
        names = _names(table, self._tenant_id)
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("SELECT EXISTS (SELECT FROM {table} WHERE {tenant} = {id})").format(**names))
            if cursor.fetchone()[0]:
                cursor.execute(sql.SQL("DELETE FROM {table} WHERE {tenant} = {id}").format(**names))

    def _statement(self, table: TenantTable) -> sql.Composable:
        values: dict[str, sql.Composable] = {
            column: sql.SQL("r.{}").format(sql.Identifier(column)) for column in table.columns
        }
        values[table.tenant_column] = sql.SQL("{}::uuid").format(sql.Literal(str(self._tenant_id)))
        if table.tenant_column == "id":
            values["name"] = sql.Literal(self._name)
        if self._is_copy and table.name == ApiKey._meta.db_table:
            values["revoked"] = sql.SQL("TRUE")
        users = {column: sql.SQL(_USER_ID).format(text=sql.Literal(column)) for column in table.users}
        known = [sql.SQL("{} IS NOT NULL").format(each) for each in users.values()]
        return sql.SQL(_INSERT).format(
            table=table.identifier,
            columns=sql.SQL(", ").join(map(sql.Identifier, table.columns)),
            values=sql.SQL(", ").join((values | users).values()),
            users=sql.SQL("{}::text[]").format(sql.Literal(list(table.users))),
            known=sql.SQL(" AND ").join(known) if known else sql.SQL("TRUE"),
        )


def _compare(found: dict[str, list[Any]], end: dict[str, Any], *, is_copy: bool) -> int:
    """Raise `BackupError` if tables differ; return how many rows were skipped because of their users."""
    users = {table.name for table in tenant_tables() if table.users}
    if is_copy:  # a copy's keys are revoked: as many rows, but with other values
        keys = ApiKey._meta.db_table
        found, end = found | {keys: found[keys][:1]}, end | {keys: end[keys][:1]}
    different = [name for name in sorted((found.keys() | end.keys()) - users) if found.get(name) != end.get(name)]
    if different:
        raise BackupError(f"The stored rows differ from the file: {', '.join(different)}. Nothing was stored.")
    return sum(end.get(name, [0])[0] - found[name][0] for name in users)


def _take_sequences_forward(tenant_id: UUID, owner_alias: str) -> None:
    """Number later rows after the stored ones; only the owner may set a sequence."""
    for table in tenant_tables():
        if not table.sequence_column:
            continue
        parts = {"column": sql.Identifier(table.sequence_column), **_names(table, tenant_id)}
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("SELECT max({column}) FROM {table} WHERE {tenant} = {id}").format(**parts))
            (newest,) = cursor.fetchone()
        if newest is not None:
            texts = {"name": sql.Literal(table.name), "text": sql.Literal(table.sequence_column)}
            with connections[owner_alias].cursor() as cursor:
                cursor.execute(sql.SQL(_TAKE_SEQUENCE_FORWARD).format(**texts), [newest])


def _object(number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BackupError(f"Line {number} is not a JSON object of a tenant's file.")
    return value


def read_lines(file: IO[str]) -> Iterator[str]:
    """Yield lines without their ends."""
    for line in file:
        yield line.rstrip("\n")
