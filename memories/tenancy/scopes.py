"""Scopes: the only way to access rows of tenants.

Row-level security of every tenant table reads three transaction-local settings (ADR-0055). A scope opens a transaction
and sets them; outside of any scope a query returns nothing and an insert fails.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import cast
from uuid import UUID

from django.db import connection, transaction

from memories.tenancy.queries.prepared import send_prepared
from memory_platform.postgres.base import DatabaseWrapper

_READ = (
    "SELECT coalesce(current_setting('app.scope', true), ''), coalesce(current_setting('app.tenant_id', true), ''),"
    " coalesce(current_setting('app.readable_tenants', true), '')"
)
_SET = (
    "SELECT set_config('app.scope', %s, true), set_config('app.tenant_id', %s, true),"
    " set_config('app.readable_tenants', %s, true)"
)
_SET_WITHOUT_WAITING = f"{_SET}, set_config('synchronous_commit', 'off', true)"


@contextmanager
def _scope(
    name: str, tenant_id: str = "", readable_tenants: str = "", *, waits_for_disk: bool = True
) -> Iterator[None]:
    """Run a transaction with the given settings; a nested scope restores the outer one's settings.

    An exception rolls back to the savepoint, which restores the settings. The outermost scope decides how to commit.
    """
    is_nested = connection.in_atomic_block
    with transaction.atomic(), connection.cursor() as cursor:
        outer: tuple[str, ...] = ()
        if is_nested:
            cursor.execute(_READ)
            outer = cursor.fetchone()
        statement = _SET if waits_for_disk or is_nested else _SET_WITHOUT_WAITING
        cursor.execute(statement, [name, tenant_id, readable_tenants])
        yield
        if outer:
            cursor.execute(_SET, outer)


@contextmanager
def _pipelined_scope(name: str, tenant_id: str = "", *, waits_for_disk: bool = True) -> Iterator[None]:
    """Send the settings and the statements of the block in one transaction, without waiting for each (ADR-0120).

    The transaction is the implicit one of a pipeline, which the database commits at its end: no statement begins or
    ends it. An error of a statement rolls it back; any other exception does not, so at most one statement of the block
    may write, and it must be the last. No scope can be opened inside. Inside a transaction this is an ordinary scope.
    """
    if connection.in_atomic_block:
        with _scope(name, tenant_id, waits_for_disk=waits_for_disk):
            yield
        return
    with cast(DatabaseWrapper, connection).pipeline():
        send_prepared(_SET if waits_for_disk else _SET_WITHOUT_WAITING, [name, tenant_id, ""])
        yield


def tenant_scope(
    tenant_id: UUID, *, waits_for_disk: bool = True, is_pipelined: bool = False
) -> AbstractContextManager[None]:
    """Read and write the rows of one tenant.

    Without `waits_for_disk`, a crash of the database server may lose what was committed in the last second: for records
    on which no other data depends (ADR-0063). `is_pipelined` is for prepared statements that only read, or one that
    writes: see `_pipelined_scope`.
    """
    open_scope = _pipelined_scope if is_pipelined else _scope
    return open_scope("tenant", tenant_id=str(tenant_id), waits_for_disk=waits_for_disk)


def operator_read_scope(tenant_ids: Iterable[UUID]) -> AbstractContextManager[None]:
    """Read the rows of an operator's tenants."""
    return _scope("operator_read", readable_tenants="{" + ",".join(str(pk) for pk in tenant_ids) + "}")


def admin_write_scope() -> AbstractContextManager[None]:
    """Read and write the rows of every tenant: superusers in Django admin and the management commands."""
    return _scope("admin_write")


def authentication_scope(*, is_pipelined: bool = False) -> AbstractContextManager[None]:
    """Read keys, tenants and memberships, before a tenant is known; `is_pipelined` as in `tenant_scope`."""
    return (_pipelined_scope if is_pipelined else _scope)("authentication")


def maintenance_scope() -> AbstractContextManager[None]:
    """Read the rows of every tenant to find work; the work runs in the tenant's own scope."""
    return _scope("maintenance")
