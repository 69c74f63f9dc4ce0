"""Row-level security as migration operations: one function for every table of every app (ADR-0055)."""

from collections.abc import Mapping

from django.db import migrations
from django.db.migrations.operations.base import Operation

#: How long a token behind a pooler is valid before or after the transaction that gets it: the clocks of database and
#: application may differ by as much.
POOLED_TOKEN_SECONDS = 300

#: The secrets are in a schema of their own, on which the application's role has no rights.
#:
#: `row_scope` returns the argument of the scope if `app.scope` is a token of that kind for this connection, else NULL;
#: behind a pooler, if it was made a few minutes before (ADR-0246). `open_row_scope` sets `app.scope` and has the
#: connection remember the token if it is valid, so that `row_scope` need not check the signature again (ADR-0254). What
#: a connection remembers is in sequences: `currval` is its own, and only `setval` changes it, for which the
#: application's role has no right. The digest contains a secret number, because 64 bits of a digest that anyone can
#: compute could be met by trying. `app.remembers` is no secret: it names the process in which the sequences have
#: values, because `currval` raises an error elsewhere: in parallel workers, standbys and the nodes of Citus.
#:
#: Types are qualified and there is no `SET search_path`, which would cost as much as the check: of the names that a
#: caller could put in front, only types would be looked up. PostgreSQL prepares each expression again in each
#: transaction, function by function: there are few, and none needs a query.
ROW_SCOPES = """
CREATE SCHEMA IF NOT EXISTS row_scopes;
CREATE TABLE IF NOT EXISTS row_scopes.signing_key (inner_pad bytea NOT NULL, outer_pad bytea NOT NULL);
CREATE UNLOGGED SEQUENCE IF NOT EXISTS row_scopes.secret MINVALUE -9223372036854775808;
CREATE UNLOGGED SEQUENCE IF NOT EXISTS row_scopes.known MINVALUE -9223372036854775808;

CREATE OR REPLACE FUNCTION row_scopes.digest(token pg_catalog.text) RETURNS pg_catalog.int8 LANGUAGE sql AS $$
    SELECT pg_catalog.hashbyteaextended(pg_catalog.sha256(
        pg_catalog.textsend(token) || pg_catalog.int8send(pg_catalog.currval('row_scopes.secret'))
    ), 0)
$$;

CREATE OR REPLACE FUNCTION row_scopes.checked(kind pg_catalog.text) RETURNS pg_catalog.text
STABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
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
$$;

CREATE OR REPLACE FUNCTION public.row_scope(kind pg_catalog.text) RETURNS pg_catalog.text
STABLE PARALLEL SAFE SECURITY DEFINER LANGUAGE plpgsql AS $$
DECLARE
    token pg_catalog.text := pg_catalog.current_setting('app.scope', true);
BEGIN
    IF pg_catalog.current_setting('app.remembers', true) = pg_catalog.pg_backend_pid()::pg_catalog.text THEN
        RETURN CASE WHEN pg_catalog.split_part(token, ':', 1) <> kind THEN NULL
            WHEN row_scopes.digest(token) = pg_catalog.currval('row_scopes.known')
            THEN pg_catalog.split_part(token, ':', 2) ELSE row_scopes.checked(kind) END;
    END IF;
    RETURN row_scopes.checked(kind);
END
$$;

CREATE OR REPLACE FUNCTION row_scopes.remembered(token pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE plpgsql AS $$
DECLARE
    here pg_catalog.text := pg_catalog.pg_backend_pid();
BEGIN
    PERFORM pg_catalog.set_config('app.scope', token, true);
    IF pg_catalog.current_setting('transaction_read_only') = 'on' OR pg_catalog.split_part(token, ':', 3) <> here
        OR row_scopes.checked(pg_catalog.split_part(token, ':', 1)) IS NULL
    THEN
        RETURN token;
    END IF;
    IF pg_catalog.current_setting('app.remembers', true) IS DISTINCT FROM here THEN
        PERFORM pg_catalog.setval('row_scopes.secret', pg_catalog.hashbyteaextended(
            pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 0
        ));
        PERFORM pg_catalog.set_config('app.remembers', here, false);
    END IF;
    PERFORM pg_catalog.setval('row_scopes.known', row_scopes.digest(token));
    RETURN token;
END
$$;

CREATE OR REPLACE FUNCTION public.open_row_scope(token pg_catalog.text) RETURNS pg_catalog.text
SECURITY DEFINER LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.current_setting('app.remembers', true) = pg_catalog.pg_backend_pid()::pg_catalog.text THEN
        RETURN CASE WHEN row_scopes.digest(token) = pg_catalog.currval('row_scopes.known')
            THEN pg_catalog.set_config('app.scope', token, true) ELSE row_scopes.remembered(token) END;
    END IF;
    RETURN row_scopes.remembered(token);
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
    """Restrict a table to the scopes of memories/tenancy/scopes.py; FORCE applies to the owner, too."""
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
