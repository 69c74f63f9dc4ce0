"""Repeatable set-up that needs a superuser: the roles, the database, the vector extension (ADR-0054, ADR-0160)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from memory_platform.embedded.files import read_or_create_secret

logger = logging.getLogger(__name__)

# Folds accents and other scripts in lower() and full-text search without ICU, the same on every machine.
LOCALE = "PG_UNICODE_FAST"
# The closest locale of PostgreSQL 17, which folds one character at a time.
LOCALE_BEFORE_18 = "C.UTF-8"
# An arbitrary number, the same for all runs, so that two provisioning runs wait for each other instead of failing.
PROVISIONING_LOCK = 7_301_846_552
# With these, injected SQL could end requests of other tenants, whose connections have the same role, or fill the disk
# with large objects, which no policy covers. Every role may call them by default; the platform never does.
CLOSE_FUNCTIONS = """
REVOKE EXECUTE ON FUNCTION
    pg_catalog.pg_terminate_backend(integer, bigint), pg_catalog.pg_cancel_backend(integer),
    pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea)
FROM PUBLIC"""
#: The longest wait of the app for a lock; then the request is answered with 503 and the task tried again.
LOCK_WAIT_MAX_SECONDS = 10


@dataclass(frozen=True)
class DatabaseLogin:
    """A role and its password."""

    role: str
    password: str


#: The owner of the tables first.
EMBEDDED_ROLES = ("owner", "app", "console", "maintenance")


def embedded_logins(data_dir: Path) -> list[DatabaseLogin]:
    """Return the roles of the embedded server in the order of `EMBEDDED_ROLES`, with their stored passwords."""
    names = ((f"memory_{name}", f"postgres_{name}") for name in EMBEDDED_ROLES)
    return [DatabaseLogin(role, read_or_create_secret(data_dir, secret)) for role, secret in names]


def provision(superuser_url: str, *, database: str, owner: DatabaseLogin, apps: Sequence[DatabaseLogin]) -> None:
    """Set up `database`: `owner` owns it, migrates and grants rights; web, worker and beat connect as `apps`."""
    with psycopg.connect(superuser_url, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(%s)", [PROVISIONING_LOCK])  # released when the connection closes
        for login in (owner, *apps):
            _make_role(server, login)
        limit = sql.SQL("ALTER ROLE {} SET lock_timeout = {}")
        for app in apps:
            server.execute(limit.format(sql.Identifier(app.role), sql.Literal(f"{LOCK_WAIT_MAX_SECONDS}s")))
            _hide_statements(server, app)
        _make_database(server, database, owner, apps)
        with psycopg.connect(superuser_url, dbname=database, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            for app in apps:
                _grant(connection, owner, app)
            _mark_leakproof(connection)
            _close_functions(connection)


def _make_role(server: psycopg.Connection, login: DatabaseLogin) -> None:
    role = sql.Identifier(login.role)
    if not server.execute("SELECT FROM pg_roles WHERE rolname = %s", [login.role]).rowcount:
        server.execute(sql.SQL("CREATE ROLE {}").format(role))
    alter = sql.SQL("ALTER ROLE {} LOGIN NOCREATEDB NOCREATEROLE NOINHERIT PASSWORD {}")
    server.execute(alter.format(role, sql.Literal(login.password)))
    if _is_superuser(server):  # only a superuser may even name these attributes; a new role has neither
        server.execute(sql.SQL("ALTER ROLE {} NOSUPERUSER NOBYPASSRLS NOREPLICATION").format(role))


def _hide_statements(server: psycopg.Connection, app: DatabaseLogin) -> None:
    """Keep statements out of `pg_stat_activity`, which shows a role the texts in those of its other sessions."""
    try:
        server.execute(sql.SQL("ALTER ROLE {} SET track_activities = off").format(sql.Identifier(app.role)))
    except psycopg.errors.InsufficientPrivilege:
        logger.warning(
            "Not allowed to set track_activities = off for %s: injected SQL can read statements of other tenants.",
            app.role,
        )


def _make_database(
    server: psycopg.Connection, database: str, owner: DatabaseLogin, apps: Sequence[DatabaseLogin]
) -> None:
    names = {"db": sql.Identifier(database), "owner": sql.Identifier(owner.role)}
    if not _is_superuser(server):  # on a managed service, only a member of the owner may make it an owner
        server.execute(sql.SQL("GRANT {owner} TO CURRENT_USER").format(**names))
    if not server.execute("SELECT FROM pg_database WHERE datname = %s", [database]).rowcount:
        locale = LOCALE if server.info.server_version >= 180000 else LOCALE_BEFORE_18
        create = sql.SQL(
            "CREATE DATABASE {db} OWNER {owner} ENCODING 'UTF8' TEMPLATE template0"
            " LOCALE_PROVIDER builtin BUILTIN_LOCALE {locale} LOCALE 'C'"
        )
        server.execute(create.format(locale=sql.Literal(locale), **names))
    server.execute(sql.SQL("REVOKE ALL ON DATABASE {db} FROM PUBLIC").format(**names))
    for app in apps:
        names["app"] = sql.Identifier(app.role)
        # A temporary table could replace one of the platform's tables in the next request of the same connection.
        server.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {db} FROM {app}").format(**names))
        server.execute(sql.SQL("GRANT CONNECT ON DATABASE {db} TO {app}").format(**names))


def _grant(connection: psycopg.Connection, owner: DatabaseLogin, app: DatabaseLogin) -> None:
    names = {"owner": sql.Identifier(owner.role), "app": sql.Identifier(app.role)}
    for statement in (
        "GRANT USAGE ON SCHEMA public TO {app}",
        # `migrate` grants the tables, each to the roles that need it.
        "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public REVOKE ALL ON TABLES FROM {app}",
        "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {app}",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {app}",
    ):
        connection.execute(sql.SQL(statement).format(**names))


def _mark_leakproof(connection: psycopg.Connection) -> None:
    """Mark full-text match leakproof, because under row-level security only leakproof operators may use an index."""
    try:
        connection.execute("ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF")
    except psycopg.errors.InsufficientPrivilege:
        logger.warning("Not allowed to mark full-text match LEAKPROOF: text search will read whole tenants.")


def _close_functions(connection: psycopg.Connection) -> None:
    """Let only superusers end sessions and create large objects. On a managed service, only a warning is possible."""
    if _is_superuser(connection):  # for others, the server revokes nothing and reports no error
        connection.execute(CLOSE_FUNCTIONS)
    else:
        logger.warning("Not allowed to revoke functions: injected SQL can end sessions and create large objects.")


def _is_superuser(connection: psycopg.Connection) -> bool:
    row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    return bool(row and row[0])
