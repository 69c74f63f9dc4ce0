"""The permissions of the database roles after provisioning and migration."""

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import ProgrammingError, connection, connections

from memories.models import Tenant
from memory_platform.management.commands._owner import owner_alias
from memory_platform.postgres import roles
from tests import servers
from tests.servers import APP, CONSOLE, MAINTENANCE, OWNER

pytestmark = pytest.mark.django_db
APPS = (APP.role, CONSOLE.role, MAINTENANCE.role)


def rows(statement: str) -> list[tuple]:
    with roles.logged_in_as(roles.API), connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def test_the_app_connects_as_a_role_that_is_neither_superuser_nor_able_to_pass_row_security():
    assert rows("SELECT current_user") == [(APP.role,)]
    assert rows(
        "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication FROM pg_roles"
        f" WHERE rolname IN {APPS}"
    ) == [(False, False, False, False, False)] * len(APPS)


def test_every_test_worker_has_a_database_of_its_own():
    assert rows("SELECT current_database()") == [(f"memory_{servers.worker_number()}",)]
    assert settings.DATABASES["owner"]["NAME"] == settings.DATABASES["default"]["NAME"]


def test_the_app_owns_nothing_and_is_a_member_of_nothing():
    assert rows(f"SELECT count(*) FROM pg_class WHERE pg_get_userbyid(relowner) IN {APPS}") == [(0,)]
    assert rows(f"SELECT count(*) FROM pg_auth_members WHERE pg_get_userbyid(member) IN {APPS}") == [(0,)]


def test_every_table_belongs_to_the_owner_who_is_no_superuser_either():
    assert rows(
        "SELECT DISTINCT relowner::regrole::text FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S', 'v')"
    ) == [(OWNER.role,)]
    assert rows(f"SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = '{OWNER.role}'") == [(False, False)]


@pytest.mark.parametrize("statement", ["CREATE TABLE mine (id int)", "TRUNCATE memories_tenant CASCADE"])
def test_the_app_may_not_create_or_truncate_tables(statement):
    with pytest.raises(ProgrammingError, match="permission denied"), connection.cursor() as cursor:
        cursor.execute(statement)


def test_only_plpgsql_and_vector_are_installed():
    assert rows("SELECT extname FROM pg_extension ORDER BY 1") == [("plpgsql",), ("vector",)]


def test_the_locale_folds_capitals_of_every_script():
    assert rows("SELECT lower('ÉCOLE ЖУК'), to_tsvector('english', 'ÉCOLE') @@ to_tsquery('english', 'école')") == [
        ("école жук", True)
    ]


def test_full_text_match_is_leakproof_so_that_it_can_use_its_index_under_row_security():
    assert rows("SELECT proleakproof FROM pg_proc WHERE proname = 'ts_match_vq'") == [(True,)]


def test_provisioning_again_changes_nothing():
    before = rows("SELECT count(*) FROM pg_roles")
    servers.use_own_database()
    assert rows("SELECT count(*) FROM pg_roles") == before


def test_another_role_may_not_connect():
    assert rows("SELECT has_database_privilege('pg_monitor', current_database(), 'CONNECT')") == [(False,)]


@pytest.mark.django_db(transaction=True)
def test_flush_called_for_the_app_role_runs_as_the_owner():
    call_command("flush", verbosity=0, interactive=False, database="default")
    assert connections["owner"].settings_dict["USER"] == OWNER.role
    assert settings.DATABASES["default"]["USER"] == APP.role
    assert not Tenant.objects.exists()


def test_migrate_finds_nothing_left_to_do_as_the_owner():
    call_command("migrate", check_unapplied=True, verbosity=0, interactive=False)
    assert owner_alias("default") == "owner"
    assert owner_alias("another") == "another"
