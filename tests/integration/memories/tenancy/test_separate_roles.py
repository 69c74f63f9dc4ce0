"""What an injected statement can reach in the API, the console and the worker (ADR-0160)."""

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test import Client

from memories.models import Tenant
from memories.tenancy.row_scope_tokens import row_scope_token
from memories.tenancy.scopes import admin_write_scope, maintenance_scope, tenant_scope
from memory_platform.postgres import roles
from memory_platform.postgres.base import has_tenant
from memory_platform.postgres.grants import ADD, ALL, apply_grants, privileges
from tests import servers
from tests.database_roles import own_connections
from tests.factories import make_memory
from tests.users import api_client

pytestmark = pytest.mark.django_db(transaction=True)

LOGINS = {"api": servers.APP, "console": servers.CONSOLE, "maintenance": servers.MAINTENANCE}
ALL_TENANTS = {"admin_write", "maintenance", "operator_read"}


def url_of(role: str) -> str:
    login = LOGINS[role]
    host = os.environ[servers.SUPERUSER_URL].partition("?")[2]
    return f"postgres://{login.role}:{login.password}@/{servers.own_database()}?{host}"


def injected(role: str, statement: str, *, scope: str = "", argument: str = "") -> Any:
    """Return the first column of a statement's result in a connection of a role, with the role's genuine token."""
    with psycopg.connect(url_of(role)) as own:
        if scope:
            token = row_scope_token(scope, argument, own.info.backend_pid)
            own.execute("SELECT set_config('app.scope', %s, true)", [token])
        cursor = own.execute(statement)
        return [row[0] for row in cursor.fetchall()] if cursor.description else cursor.rowcount


@pytest.mark.parametrize("role", LOGINS)
def test_role_sees_and_changes_the_tenants_of_its_own_scopes_only(
    tenant: Tenant, other_tenant: Tenant, role: str
) -> None:
    own, other = make_memory(tenant), make_memory(other_tenant)
    read, write = "SELECT id FROM memories_memory", "UPDATE memories_memory SET pinned = true"
    both = "{" + f"{tenant.pk},{other_tenant.pk}" + "}"
    assert injected(role, read, scope="tenant", argument=str(tenant.pk)) == [own.pk]
    assert injected(role, write, scope="tenant", argument=str(tenant.pk)) == 1
    allowed = {"api": set(), "console": ALL_TENANTS, "maintenance": ALL_TENANTS - {"operator_read"}}[role]
    for scope in ALL_TENANTS:
        seen = injected(role, read, scope=scope, argument=both if scope == "operator_read" else "")
        assert set(seen) == ({own.pk, other.pk} if scope in allowed else set()), scope
        changed = injected(role, write, scope=scope, argument=both if scope == "operator_read" else "")
        assert changed == (2 if scope in allowed and scope == "admin_write" else 0), scope


ACCOUNTS = ["auth_user", "auth_group", "django_session", "django_admin_log", "memories_signinfailures"]
ACCOUNTS += ["memories_secondfactor", "memories_signinnotice"]
PEOPLE = ["memories_membership", "memories_invitation", "memories_savedview", "compaction_alertdestination"]
#: By role, statements that only other roles may send.
REFUSED = {
    "api": [
        *(f"SELECT count(*) FROM {table}" for table in ACCOUNTS + PEOPLE),
        "UPDATE auth_user SET is_superuser = true",
        "INSERT INTO django_session VALUES ('key', 'data', now())",
        "INSERT INTO memories_tenant DEFAULT VALUES",
        "DELETE FROM memories_tenant",
        "UPDATE compaction_erasure SET state = 'failed'",
    ],
    "console": ["DELETE FROM memories_tenant", "UPDATE compaction_erasure SET state = 'failed'"],
    "maintenance": [
        "SELECT password FROM auth_user",
        "UPDATE auth_user SET is_superuser = true",
        "SELECT session_data FROM django_session",
        "SELECT secret FROM memories_secondfactor",
        "DELETE FROM memories_signinnotice",
        "INSERT INTO memories_signinfailures DEFAULT VALUES",
    ],
}
REFUSED_TO_ALL = [
    "UPDATE memories_auditentry SET reason = ''",
    "DELETE FROM memories_auditentry",
    "DELETE FROM memories_auditseal",
    "SELECT inner_pad FROM row_scopes.signing_key",
    "CREATE TEMP TABLE memories_memory ()",
    "CREATE TABLE public.memories_later ()",
    f"SET SESSION AUTHORIZATION {servers.OWNER.role}",
    f"SET ROLE {servers.OWNER.role}",
    "SET track_activities = on",
    "SELECT pg_terminate_backend(pg_backend_pid())",
    "SELECT pg_cancel_backend(pg_backend_pid())",
    "SELECT lo_creat(-1)",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'a')",
]
#: What reporting a lock-out needs.
REPORTING = [
    "SELECT id, username, email, is_superuser FROM auth_user",
    "UPDATE memories_signinnotice SET reported_at = now() WHERE reported_at IS NULL AND locked_at IS NOT NULL",
]
SEALED = "INSERT INTO memories_auditseal (tenant_id) VALUES (gen_random_uuid())"
REDACTION = "SELECT redact_audit_entries(gen_random_uuid(), '[]')"


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        *((role, statement) for role, statements in REFUSED.items() for statement in statements),
        *((role, statement) for role in LOGINS for statement in REFUSED_TO_ALL),
        *((role, f"SET ROLE {other.role}") for role in LOGINS for other in LOGINS.values() if LOGINS[role] != other),
        *((role, statement) for role in ("api", "console") for statement in (SEALED, REDACTION)),
    ],
)
def test_role_is_refused_what_only_others_need(role: str, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        injected(role, statement)


@pytest.mark.parametrize("role", LOGINS)
def test_session_sees_no_statement_of_another_tenants_session(role: str) -> None:
    seen = "SELECT query FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()"
    with psycopg.connect(url_of(role)) as other:
        other.execute("SELECT 'a text of another tenant'")
        assert set(injected(role, seen)) == {""}


@pytest.mark.parametrize("statement", REPORTING)
def test_maintenance_reports_lock_outs(statement: str) -> None:
    injected("maintenance", statement)


def test_maintenance_may_redact_and_delete_ended_sessions() -> None:
    assert injected("maintenance", REDACTION) == [""]
    assert injected("maintenance", "DELETE FROM django_session WHERE expire_date < now()") == 0


ALL_ROLES = {login.role for login in (servers.OWNER, *LOGINS.values())}
#: The roles of each policy; for `named_read`, those of the tables that are read before the tenant is known.
ROLES_OF_POLICIES = {
    "in_tenant": {frozenset(ALL_ROLES)},
    "operator_read": {frozenset({servers.OWNER.role, servers.CONSOLE.role})},
    "admin_write": {frozenset(ALL_ROLES - {servers.APP.role})},
    "named_read": {frozenset(ALL_ROLES - {servers.APP.role}), frozenset(ALL_ROLES)},
}


def test_each_policy_names_its_roles_and_no_other_role_sees_a_row(tenant: Tenant) -> None:
    make_memory(tenant)
    found: dict[str, set[frozenset[str]]] = {}
    with psycopg.connect(os.environ[servers.SUPERUSER_URL], dbname=servers.own_database()) as own:
        for policy, names in own.execute("SELECT policyname, roles::text[] FROM pg_policies"):
            found.setdefault(policy, set()).add(frozenset(names))
        assert found == ROLES_OF_POLICIES
        own.execute("CREATE ROLE outsider; GRANT ALL ON ALL TABLES IN SCHEMA public TO outsider; SET ROLE outsider")
        for scope in ("tenant", "admin_write", "maintenance", "authentication"):
            argument = str(tenant.pk) if scope == "tenant" else ""
            own.execute(
                "SELECT set_config('app.scope', %s, true)", [row_scope_token(scope, argument, own.info.backend_pid)]
            )
            for table in ("memories_tenant", "memories_memory", "memories_apikey"):
                assert own.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), (scope, table)
        own.rollback()


def test_policy_that_an_administrator_added_keeps_its_roles() -> None:
    policy = "CREATE POLICY reports ON memories_memory FOR INSERT TO {} WITH CHECK (true)"
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute(policy.format(servers.CONSOLE.role))
        apply_grants(connections["owner"], settings.DATABASES)
        cursor.execute("SELECT roles::text[] FROM pg_policies WHERE policyname = 'reports'")
        assert cursor.fetchall() == [([servers.CONSOLE.role],)]
        transaction.set_rollback(True, using="owner")
    connections["owner"].close()


def test_tables_of_no_tenant_are_for_the_console_unless_named() -> None:
    for model in apps.get_models(include_auto_created=True):
        name = model._meta.db_table
        if not has_tenant(model) and model is not Tenant:
            assert not privileges(roles.API, name), name
        assert privileges(roles.CONSOLE, name) >= (ADD if "audit" not in name and "erasure" not in name else {"SELECT"})


@pytest.fixture
def signed_in(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def users() -> Iterator[list[str]]:
    """Return the roles of the connections in which this thread's statements run, as in a separate process."""
    seen: list[str] = []

    def note(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        seen.append(connection.connection.info.user)
        return execute(statement, parameters, many, context)

    with own_connections(), connection.execute_wrapper(note):
        yield seen


def test_requests_run_as_the_role_of_what_they_address(
    tenant: Tenant, api_key: str, signed_in: Client, users: list[str]
) -> None:
    assert api_client(api_key).get("/api/v1/memories").status_code == 200
    assert set(users) == {servers.APP.role}
    users.clear()
    assert signed_in.get(f"/t/{tenant.pk}/memories").status_code == 200
    assert set(users) == {servers.CONSOLE.role}
    users.clear()
    assert api_client(api_key).get("/api/v1/memories").status_code == 200
    assert set(users) == {servers.APP.role}


def test_scopes_of_all_tenants_have_a_connection_of_their_own(tenant: Tenant, users: list[str]) -> None:
    with maintenance_scope():
        assert Tenant.objects.count() == 1
    with roles.logged_in_as(roles.CONSOLE), admin_write_scope():
        assert Tenant.objects.count() == 1
    with tenant_scope(tenant.pk):
        assert Tenant.objects.count() == 1
        with pytest.raises(TransactionManagementError, match="keeps the role"), maintenance_scope():
            pass
    assert list(dict.fromkeys(users)) == [servers.MAINTENANCE.role, servers.CONSOLE.role, servers.APP.role]


def test_connection_stays_where_no_statement_needs_another(users: list[str]) -> None:
    for _ in range(2):
        with maintenance_scope():
            assert Tenant.objects.count() == 0
            pid = connection.connection.info.backend_pid
    assert connection.login == roles.API
    assert connection.connection.info.backend_pid == pid
    with connection.cursor():
        assert connection.connection.info.user == servers.APP.role


def test_process_without_the_role_of_maintenance_refuses_its_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(connections.settings, roles.MAINTENANCE)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_MAINTENANCE_URL"), roles.logged_in_for_maintenance():
        pass


def test_single_role_has_all_rights_and_the_deployment_check_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [found.id for found in run_checks(tags=["security"], include_deployment_checks=True)].count(
        "memory_platform.W001"
    ) == 0
    alone = {alias: settings.DATABASES[alias] for alias in ("default", "owner")}
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        apply_grants(connections["owner"], alone)
        cursor.execute("SELECT DISTINCT roles::text[] FROM pg_policies")
        assert [set(names) for (names,) in cursor.fetchall()] == [{servers.APP.role, servers.OWNER.role}]
        cursor.execute(
            "SELECT count(*) FROM information_schema.table_privileges WHERE grantee = %s AND table_name = %s",
            [servers.APP.role, "auth_user"],
        )
        assert cursor.fetchone() == (len(ALL),)
        transaction.set_rollback(True, using="owner")
    connections["owner"].close()
    monkeypatch.setattr(settings, "DATABASES", alone)
    assert "memory_platform.W001" in [found.id for found in run_checks(include_deployment_checks=True)]
