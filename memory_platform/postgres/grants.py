"""The rights of each role on each table; `migrate` applies them to the database (ADR-0160)."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from psycopg import sql

from memory_platform.postgres import base
from memory_platform.postgres.roles import API, CONSOLE, MAINTENANCE

ALL = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE"})
READ, ADD, NONE = frozenset({"SELECT"}), frozenset({"SELECT", "INSERT"}), frozenset[str]()
ROLES = (API, CONSOLE, MAINTENANCE)

_OF_ACCOUNTS = {API: NONE, CONSOLE: ALL, MAINTENANCE: NONE}
_OF_PEOPLE = {API: NONE, CONSOLE: ALL, MAINTENANCE: ALL}
_PREFIXES_OF_ACCOUNTS = ("auth_", "django_", "rest_framework_")
#: On other tables, each role may do everything with the rows that the policies show it.
_PRIVILEGES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "django_migrations": dict.fromkeys(ROLES, READ),
    # With one column to compare, enough to delete sessions that have ended without reading any.
    "django_session": {**_OF_ACCOUNTS, MAINTENANCE: frozenset({"DELETE"})},
    "memories_signinfailures": {**_OF_ACCOUNTS, MAINTENANCE: frozenset({"SELECT", "DELETE"})},
    "memories_secondfactor": _OF_ACCOUNTS,
    "memories_signinnotice": {**_OF_ACCOUNTS, MAINTENANCE: frozenset({"SELECT", "UPDATE"})},
    "memories_tenant": {API: frozenset({"SELECT", "UPDATE"}), CONSOLE: ALL - {"DELETE"}, MAINTENANCE: ALL},
    # Changing rows is what locking them needs; a trigger refuses changes.
    "memories_auditentry": {API: ADD, CONSOLE: ADD, MAINTENANCE: ADD | {"UPDATE"}},
    "memories_auditseal": {API: READ, CONSOLE: READ, MAINTENANCE: ADD},
    "memories_unsealedauditentry": {API: ADD, CONSOLE: ADD, MAINTENANCE: ALL},
    "memories_auditcheck": {API: NONE, CONSOLE: READ, MAINTENANCE: ALL},
    "compaction_erasure": {API: ADD, CONSOLE: ADD, MAINTENANCE: ALL},
    **dict.fromkeys(("memories_membership", "memories_invitation"), _OF_PEOPLE),
    **dict.fromkeys(("memories_savedview", "memories_firststeps"), _OF_PEOPLE),
    **dict.fromkeys(("compaction_alertrule", "compaction_alertdestination"), _OF_PEOPLE),
    **dict.fromkeys(("compaction_alert", "compaction_alertdelivery"), _OF_PEOPLE),
}
#: For `export_tenant`, which names people, for notices of lock-outs, and as said above.
_COLUMNS = (("django_session", "expire_date"), ("auth_user", "id, username, email, is_superuser"))
_GRANT_COLUMNS = "GRANT SELECT ({columns}) ON {table} TO {role}"
_FUNCTIONS_OF_MAINTENANCE = ["redact_audit_entries", "delete_audit_log"]
#: The policy for all three roles. Policies with names other than this and the next ones were added by others and are
#: kept.
_FOR_ALL = "in_tenant"
#: Policies that are not for all three roles. The owner of the tables, who migrates, passes every policy.
_POLICIES = {"operator_read": (CONSOLE,), "admin_write": (CONSOLE, MAINTENANCE), "named_read": (CONSOLE, MAINTENANCE)}
#: Part of the condition of a policy that all three need, to find the tenant of a key.
_EVERY_ROLE_READS = "'authentication'"

_PRESENT = """
SELECT c.relname, coalesce(array_agg(r.rolname || ' ' || a.privilege_type) FILTER (WHERE r.oid IS NOT NULL), '{}')
FROM pg_class AS c LEFT JOIN LATERAL aclexplode(c.relacl) AS a ON true LEFT JOIN pg_roles AS r ON r.oid = a.grantee
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND pg_get_userbyid(c.relowner) = current_user
GROUP BY c.relname
"""
_PRESENT_POLICIES = """
SELECT polname, relname, pg_get_expr(polqual, polrelid),
    ARRAY(SELECT coalesce(rolname, 'public') FROM unnest(polroles) AS id LEFT JOIN pg_roles ON pg_roles.oid = id)
FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
WHERE relnamespace = 'public'::regnamespace AND pg_get_userbyid(relowner) = current_user AND polname = ANY (%s)
"""
_FUNCTIONS = """
SELECT format('%%I(%%s)', proname, pg_get_function_identity_arguments(oid))
FROM pg_proc WHERE proname = ANY (%s) AND pronamespace = 'public'::regnamespace
"""


def apply_grants(connection: Any, databases: Mapping[str, Mapping[str, Any]]) -> None:
    """Grant and revoke as the owner of the tables; a role whose URL is not in `databases` is that of the API.

    Policies name these roles; no other passes one. If one role serves everything, it has all rights. A lock on a table
    that is not taken in time raises `OperationalError`; running it again does the rest.
    """
    names = {alias: str(databases[alias if alias in databases else API]["USER"]) for alias in ROLES}
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        owner = cursor.fetchone()[0]
        for statement in (*_grants(cursor, names, owner), *_policies(cursor, names, owner)):
            with transaction.atomic(using=connection.alias):
                cursor.execute(base.LIMIT_LOCKS)
                cursor.execute(statement)


def _grants(cursor: Any, names: Mapping[str, str], owner: str) -> Iterator[sql.Composable]:
    cursor.execute(_PRESENT)
    tables = {table: {tuple(each.rsplit(" ", 1)) for each in present} for table, present in cursor.fetchall()}
    roles = sorted(set(names.values()) - {owner})
    for table, present in tables.items():
        expected = {(names[alias], right) for alias in ROLES for right in privileges(alias, table)}
        for role in roles:
            parts = {"table": sql.Identifier(table), "role": sql.Identifier(role)}
            for text, rights in (
                ("REVOKE {} ON {table} FROM {role}", present - expected),
                ("GRANT {} ON {table} TO {role}", expected - present),
            ):
                if own := sorted(right for name, right in rights if name == role):
                    yield sql.SQL(text).format(sql.SQL(", ").join(map(sql.SQL, own)), **parts)
    maintenance = sql.Identifier(names[MAINTENANCE])
    for table, columns in _COLUMNS:
        if table in tables and names[MAINTENANCE] != owner:
            columns_of = sql.SQL(_GRANT_COLUMNS).format(
                columns=sql.SQL(columns), table=sql.Identifier(table), role=maintenance
            )
            yield columns_of
    cursor.execute(_FUNCTIONS, [_FUNCTIONS_OF_MAINTENANCE])
    for (function,) in cursor.fetchall():
        yield sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(sql.SQL(function))
        for role in roles:
            yield sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM {}").format(sql.SQL(function), sql.Identifier(role))
        yield sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(sql.SQL(function), maintenance)


def privileges(alias: str, table: str) -> frozenset[str]:
    """Return the rights of an alias's role on a table."""
    others = _OF_ACCOUNTS if table.startswith(_PREFIXES_OF_ACCOUNTS) else dict.fromkeys(ROLES, ALL)
    return _PRIVILEGES.get(table, others)[alias]


def _policies(cursor: Any, names: Mapping[str, str], owner: str) -> Iterator[sql.Composable]:
    cursor.execute(_PRESENT_POLICIES, [[_FOR_ALL, *_POLICIES]])
    for policy, table, condition, present in cursor.fetchall():
        aliases = ROLES if _EVERY_ROLE_READS in condition else _POLICIES.get(policy, ROLES)
        expected = {owner, *(names[alias] for alias in aliases)}
        if set(present) != expected:
            roles = sql.SQL(", ").join(map(sql.Identifier, sorted(expected)))
            yield sql.SQL("ALTER POLICY {} ON {} TO {}").format(sql.Identifier(policy), sql.Identifier(table), roles)
