"""The statements that distribute the tables by tenant over a Citus cluster (ADR-0193)."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from psycopg import sql

from memory_platform.postgres.base import TENANT_COLUMN, has_tenant

#: Its id is the `tenant_id` of the other tables.
TENANTS = "memories_tenant"
#: What row-level security reads on each node.
_SIGNING_KEY = "row_scopes.signing_key"
_FOREIGN_KEYS = """
SELECT own.relname, k.conname, pg_get_constraintdef(k.oid)
FROM pg_constraint AS k JOIN pg_class AS own ON own.oid = k.conrelid JOIN pg_class AS other ON other.oid = k.confrelid
WHERE k.contype = 'f' AND own.relname = ANY (%(tables)s) AND other.relname = ANY (%(tables)s)
ORDER BY own.relname, k.conname
"""
_DROP = "ALTER TABLE {table} DROP CONSTRAINT {name}"
_REFERENCE = "SELECT create_reference_table({table})"
_DISTRIBUTE = "SELECT create_distributed_table({table}, {column}, colocate_with => {group})"
_ADD = "ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"


def distributed_tables() -> dict[str, str]:
    """Return the tables of tenants with the column by which each is distributed, the tenants first."""
    names = sorted(model._meta.db_table for model in apps.get_models(include_auto_created=True) if has_tenant(model))
    return {TENANTS: "id", **dict.fromkeys(names, TENANT_COLUMN)}


def reference_tables() -> list[str]:
    """Return the tables that every node needs completely: those without a tenant to which foreign keys refer."""
    distributed = distributed_tables()
    referenced = {
        field.related_model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.db_table in distributed
        for field in model._meta.local_fields
        if field.is_relation and field.related_model is not None
    }
    return sorted(referenced - distributed.keys())


def distribution_statements(connection: Any) -> Iterator[str]:
    """Yield the statements; foreign keys are dropped during the distribution, because some form a cycle."""
    distributed = distributed_tables()
    with connection.cursor() as cursor:
        cursor.execute(_FOREIGN_KEYS, {"tables": [*distributed]})
        keys = [
            {"table": sql.Identifier(table), "name": sql.Identifier(name), "definition": sql.SQL(definition)}
            for table, name, definition in cursor.fetchall()
        ]
    for key in keys:
        yield _text(_DROP, **key)
    for table in (*reference_tables(), _SIGNING_KEY):
        yield _text(_REFERENCE, table=sql.Literal(table))
    for table, column in distributed.items():
        group = "none" if table == TENANTS else TENANTS
        literals = {"table": table, "column": column, "group": group}
        yield _text(_DISTRIBUTE, **{name: sql.Literal(value) for name, value in literals.items()})
    for key in keys:
        yield _text(_ADD, **key)


def _text(statement: str, **parts: sql.Composable) -> str:
    return sql.SQL(statement).format(**parts).as_string(None)
