"""Row-level security as migration operations: one function for every table of every app (ADR-0055)."""

from collections.abc import Mapping

from django.db import migrations
from django.db.migrations.operations.base import Operation

#: How long a token behind a pooler is valid before or after the transaction that gets it: the clocks of database and
#: application may differ by as much.
POOLED_TOKEN_SECONDS = 300

#: The secret is in a schema of its own, on which the application's role has no rights. Returns the argument of the
#: scope if `app.scope` is a token of that kind for this connection, else NULL; behind a pooler, if it was made a few
#: minutes before (ADR-0246). Types are qualified instead of using `SET search_path`, which would take as long as the
#: check: of the names that a caller could shadow, only types would be looked up.
ROW_SCOPES = """
CREATE SCHEMA IF NOT EXISTS row_scopes;
CREATE TABLE IF NOT EXISTS row_scopes.signing_key (inner_pad bytea NOT NULL, outer_pad bytea NOT NULL);
CREATE OR REPLACE FUNCTION public.row_scope(kind pg_catalog.text) RETURNS pg_catalog.text
STABLE PARALLEL SAFE SECURITY DEFINER LANGUAGE plpgsql AS $$
DECLARE
    token pg_catalog.text := pg_catalog.current_setting('app.scope', true);
    inner_key pg_catalog.bytea;
    outer_key pg_catalog.bytea;
BEGIN
    IF token IS NULL OR NOT pg_catalog.starts_with(token, kind) THEN
        RETURN NULL;
    END IF;
    SELECT inner_pad, outer_pad INTO inner_key, outer_key FROM row_scopes.signing_key;
    RETURN CASE WHEN pg_catalog.split_part(token, ':', 1) = kind
        AND pg_catalog.split_part(token, ':', 3) IN (pg_catalog.pg_backend_pid()::pg_catalog.text, '0')
        AND pg_catalog.sha256(
            outer_key || pg_catalog.sha256(inner_key || pg_catalog.left(token, -64)::pg_catalog.bytea)
        ) = pg_catalog.decode(pg_catalog.right(token, 64), 'hex')
        AND (
            pg_catalog.split_part(token, ':', 3) <> '0'
            OR pg_catalog.abs(
                pg_catalog.date_part('epoch', pg_catalog.now())
                - nullif(pg_catalog.split_part(pg_catalog.left(token, -64), ':', 4), '')::pg_catalog.float8
            ) <= TOKEN_SECONDS
        )
    THEN pg_catalog.split_part(token, ':', 2) END;
END
$$
""".replace("TOKEN_SECONDS", str(POOLED_TOKEN_SECONDS))


def row_security_policies(
    *, column: str = "tenant_id", is_read_to_authenticate: bool = False
) -> Mapping[str, tuple[str, str]]:
    """Return (command, condition) by policy; Postgres evaluates each sub-select once per query."""
    readers = ("maintenance", "authentication") if is_read_to_authenticate else ("maintenance",)
    return {
        # NULL in other scopes, so that one comparison per row is enough.
        "in_tenant": ("ALL", f"{column} = (SELECT row_scope('tenant')::uuid)"),
        # The outer cast tells Postgres that this is one array, not rows.
        "operator_read": ("SELECT", f"{column} = ANY ((SELECT row_scope('operator_read')::uuid[])::uuid[])"),
        "admin_write": ("ALL", "(SELECT row_scope('admin_write') IS NOT NULL)"),
        "named_read": ("SELECT", f"(SELECT {' OR '.join(f'row_scope({name!r}) IS NOT NULL' for name in readers)})"),
    }


def enable_row_security(table: str, *, column: str = "tenant_id", is_read_to_authenticate: bool = False) -> Operation:
    """Restrict a table to the scopes of memories/tenancy/scopes.py; with FORCE, this also applies to the owner."""
    made = row_security_policies(column=column, is_read_to_authenticate=is_read_to_authenticate)
    forward = [
        ROW_SCOPES,
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    ]
    forward += [
        f"CREATE POLICY {name} ON {table} FOR {command} USING ({rows})"
        + (f" WITH CHECK ({rows})" if command == "ALL" else "")
        for name, (command, rows) in made.items()
    ]
    backward = [f"DROP POLICY {name} ON {table}" for name in made]
    backward += [f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY", f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"]
    return migrations.RunSQL(sql=";\n".join(forward), reverse_sql=";\n".join(backward))
