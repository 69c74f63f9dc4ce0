"""An attacker's statement can reach the tenant of its own scope, and nothing else (ADR-0128)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from memories.models import Tenant
from memories.tenancy.row_scope_tokens import _signed, row_scope_token
from memories.tenancy.row_security import POOLED_TOKEN_SECONDS
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memory_platform.postgres import roles
from tests.factories import make_memory

pytestmark = pytest.mark.django_db

FORGED_MAC = "f" * 64


def run_sql(statement: str, *values: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return cursor.fetchone()[0]


def visible_memories() -> object:
    return run_sql("SELECT count(*) FROM memories_memory")


def take_scope(token: str) -> None:
    run_sql("SELECT set_config('app.scope', %s, true)", token)


def backend_pid() -> int:
    return int(str(run_sql("SELECT pg_backend_pid()")))


#: From the token of the scope and the id of another tenant: tokens that the application did not create.
FORGERIES: dict[str, Callable[[str, Tenant], str]] = {
    "a name": lambda _token, _other: "admin_write",
    "another signature": lambda token, _other: token[:-64] + FORGED_MAC,
    "another tenant": lambda token, other: f"tenant:{other.pk}:{':'.join(token.split(':')[2:])}",
    "another kind": lambda token, _other: token.replace("tenant:", "admin_write:", 1),
    "a longer kind": lambda token, _other: token.replace("tenant:", "tenant::", 1),
    "another connection": lambda token, other: row_scope_token("tenant", str(other.pk), int(token.split(":")[2]) + 1),
    "any connection": lambda token, _other: f"admin_write::0:{token[-64:]}",
    "nothing": lambda _token, _other: "",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_statement_cannot_give_itself_another_scope(tenant: Tenant, other_tenant: Tenant, forgery: str) -> None:
    make_memory(tenant)
    make_memory(other_tenant)
    with tenant_scope(tenant.pk):
        assert visible_memories() == 1
        take_scope(FORGERIES[forgery](str(run_sql("SELECT current_setting('app.scope')")), other_tenant))
        assert visible_memories() == 0


def test_application_creates_valid_tokens(tenant: Tenant) -> None:
    make_memory(tenant)
    with transaction.atomic():
        take_scope(row_scope_token("tenant", str(tenant.pk), backend_pid()))
        assert visible_memories() == 1
    with maintenance_scope():
        assert visible_memories() == 1


def test_token_is_kept_only_for_its_scope_connection_and_key(tenant: Tenant, settings: Any) -> None:
    made = {row_scope_token("tenant", str(tenant.pk), 1), row_scope_token("tenant", str(tenant.pk), 2)}
    made |= {row_scope_token("authentication", "", 1), row_scope_token("tenant", str(tenant.pk), 1)}
    settings.SECRET_KEY = "another" * 10
    made.add(row_scope_token("tenant", str(tenant.pk), 1))
    assert len(made) == 4


@pytest.mark.parametrize(
    ("seconds", "seen"),
    [(0, 1), (POOLED_TOKEN_SECONDS - 60, 1), (60 - POOLED_TOKEN_SECONDS, 1), (POOLED_TOKEN_SECONDS + 60, 0)],
)
def test_token_behind_a_pooler_expires(tenant: Tenant, settings: Any, seconds: int, seen: int) -> None:
    make_memory(tenant)
    settings.DATABASE_POOLER = True
    with time_machine.travel(timezone.now() - timedelta(seconds=seconds)):
        token = row_scope_token("tenant", str(tenant.pk), backend_pid())
    with transaction.atomic():
        take_scope(token)
        assert visible_memories() == seen


def test_token_behind_a_pooler_without_a_time_shows_nothing(tenant: Tenant, settings: Any) -> None:
    make_memory(tenant)
    signed = f"tenant:{tenant.pk}:0:"
    with transaction.atomic():
        take_scope(_signed(settings.SECRET_KEY, signed))
        assert visible_memories() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT inner_pad FROM row_scopes.signing_key",
        "SELECT count(*) FROM row_scopes.signing_key",
        "CREATE OR REPLACE FUNCTION public.row_scope(kind text) RETURNS text LANGUAGE sql AS $$ SELECT kind $$",
        "CREATE FUNCTION public.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT $1 $$",
        "ALTER TABLE memories_memory DISABLE ROW LEVEL SECURITY",
    ],
)
def test_role_of_the_application_can_neither_read_the_key_nor_replace_the_check(statement: str) -> None:
    with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize("statement", ["CREATE DOMAIN pg_temp.text AS integer", "CREATE TEMP TABLE memories_memory ()"])
def test_nothing_can_be_put_in_front_of_a_name_for_later_requests_of_the_connection(statement: str) -> None:
    with (
        roles.logged_in_as(roles.API),
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
