"""Real Postgres and Redis for every test run: migrated by the tables' owner, used as the app's own role.

The servers must run before Django's settings load, so they start when this module is imported.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from importlib import import_module
from itertools import chain, groupby
from typing import Any

import django
import hypothesis
import pytest
from django.conf import settings
from hypothesis import is_hypothesis_test

from tests import database_cleanup, servers

# A loaded machine is no reason to fail.
hypothesis.settings.register_profile("project", deadline=None)
hypothesis.settings.load_profile("project")

servers.start_once()
servers.use_own_database()
# Assets come from their sources: nothing has to be collected before a test.
settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
settings.STATIC_ROOT = settings.STATICFILES_DIRS[0]
# Each client creates the middlewares again: they look for an asset when one is asked for, not for all of them before.
settings.WHITENOISE_AUTOREFRESH = True
# Half a second of hashing for every person of every test proves nothing.
settings.PASSWORD_HASHERS = ["tests.users.QuickHasher"]
django.setup()

from django.core.management import call_command
from django.core.signals import setting_changed
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import SimpleTestCase, TransactionTestCase
from rest_framework.test import APIClient

from memories.embeddings import providers
from memories.models import Tenant
from memory_platform.web.roles import Role
from tests.database_roles import make_member, take_roles_in_transactions
from tests.form_states import post_as_browsers_do
from tests.timing import few_traced_examples
from tests.users import (
    User,
    api_client,
    new_key,
    new_operator,
    new_shared_tenant,
)

# Django forbids its tests every alias they do not name, also to its own flush, which here runs as the owner. That a
# test without a database fixture touches no database is pytest-django's rule and stays.
unguarded: Any = SimpleTestCase
unguarded._disallowed_connection_methods = []
unguarded.ensure_connection_patch_method = staticmethod(lambda: BaseDatabaseWrapper.ensure_connection)
post_as_browsers_do()
# As quick, and without the signal that creates content types and permissions again: they stay.
flushing: Any = TransactionTestCase
flushing._fixture_teardown = lambda _: database_cleanup.delete_all_rows()

take_roles_in_transactions()


def forget_embedders(*, setting: str, **_: object) -> None:
    """A process keeps the embedder it loaded; where a test overrides its settings, the next call loads it again."""
    if setting.startswith("EMBEDDING_"):
        for embedder in providers._loaded.values():
            if client := getattr(embedder._inner, "_client", None):
                client.close()
        providers._loaded.clear()


setting_changed.connect(forget_embedders, dispatch_uid="forget embedders")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Or pytest-django would load the settings in a worker before this module gives it a database of its own."""
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker imports its share of the test files first and finds those of the others compiled.

    All collect in the same order, so in a fresh clone each would rewrite the assertions of every file by itself.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    root = session.config.rootpath
    ignored = [root / path for path in session.config.getoption("ignore") or ()]
    paths = (path for argument in session.config.args for path in sorted((root / argument).rglob("test_*.py")))
    collected = [path for path in paths if not any(path.is_relative_to(folder) for folder in ignored)]
    for path in collected[servers.worker_number() - 1 :: workers]:
        # What cannot be imported is reported when it is collected.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(root).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker begins with its share of what takes long, or one would be at it alone in the end.

    xdist sends a run of as many tests to each. Those of a module stay together: they share what it starts.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    short = [item for item in items if item.get_closest_marker("long") is None]
    long = [item for item in items if item.get_closest_marker("long")]
    modules = [list(tests) for _, tests in groupby(long, key=lambda item: item.path)]
    size, ordered = len(items) // workers, []
    for number in range(workers):
        share = list(chain.from_iterable(modules[number::workers]))
        count = max(size - len(share), 0)
        ordered += share + short[:count]
        del short[:count]
    items[:] = ordered + short


def pytest_collection_finish() -> None:
    """Modules and thousands of tests stay to the end: no collection need look at them again, nor at each few rows."""
    gc.freeze()
    gc.set_threshold(100_000, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """While coverage is measured, generated inputs are traced only at first."""
    test = getattr(item, "obj", None)
    with few_traced_examples(test) if sys.gettrace() and is_hypothesis_test(test) else nullcontext():
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Between modules no transaction is open, and what tests rolled back can go."""
    is_last = nextitem is None or nextitem.path != item.path
    if is_last and ("db" in item.fixturenames or item.get_closest_marker("django_db")):
        database_cleanup.delete_all_rows_if_grown()


def keep_groups_of_roles() -> None:
    """The first operator with a role brings its group; the operators of the tests then find it."""
    for role in Role:
        new_operator(f"first-{role}", role)
    database_cleanup.delete_all_rows()


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """In place of pytest-django's: the database is there and empty, the owner migrates it once in a run."""
    with django_db_blocker.unblock():
        servers.fill_own_database("migrated", migrate)
        make_member()  # of the copy as well
        yield
        close_connections()


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)
    keep_groups_of_roles()
    close_connections()


def close_connections() -> None:
    for connection in connections.all(initialized_only=True):
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()


@pytest.fixture
def demo_tenant(django_db_setup: None, django_db_blocker: Any) -> Iterator[Tenant]:
    """A tenant with something on every page, loaded once in a run and committed before the transaction of the test.

    Name it before `db`, and no fixture with rows before it: the whole database is replaced.
    """
    from tests.demo_fixture import copied_demo_tenant, load_demo_tenant

    def load() -> None:
        load_demo_tenant()
        close_connections()

    with django_db_blocker.unblock():
        close_connections()
        servers.fill_own_database("demo", load)
        make_member()
        yield copied_demo_tenant()
        close_connections()
        database_cleanup.delete_all_rows()


@pytest.fixture(scope="module")
def module_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """For rows that a module makes once: each test's own changes go with the test, these go with the module.

    Not beside tests with `transaction=True`, which would wait for these rows for ever.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def tenant(db: None) -> Tenant:
    return new_shared_tenant("Acme")


@pytest.fixture
def other_tenant(db: None) -> Tenant:
    return new_shared_tenant("Globex")


@pytest.fixture
def api_key(tenant: Tenant) -> str:
    """Plain text of a key that reads and writes everywhere in `tenant`."""
    return new_key(tenant, "read", "write")


@pytest.fixture
def admin_key(tenant: Tenant) -> str:
    return new_key(tenant, "read", "write", "admin")


@pytest.fixture
def api(api_key: str) -> APIClient:
    """Speaks to the REST API as the agent that holds `api_key`."""
    return api_client(api_key)


@pytest.fixture
def operator(tenant: Tenant) -> User:
    """A person with the role "operator" in `tenant` alone."""
    return new_operator("olga", "operator", tenant)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In continuous integration a skipped test is a failure, or a missing browser would look like success."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
