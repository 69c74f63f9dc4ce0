"""Scopes: the only way to access rows of tenants.

Row-level security of every tenant table reads a transaction-local setting, which holds a signed token (ADR-0055,
ADR-0128). A scope opens a transaction and sets it; outside of any scope a query returns nothing and an insert fails.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected, ForeignKeyViolation

from memories.services.time_limits import in_time
from memories.tenancy.queries.prepared import execute_prepared, send_now, set_locally
from memories.tenancy.row_scope_tokens import row_scope_token
from memory_platform.postgres.base import DatabaseWrapper, TransactionStart
from memory_platform.postgres.roles import logged_in_across_tenants

#: Maximum attempts at a write that conflicts with others, before the client has to repeat it.
CONFLICT_TRIES_MAX = 3

Result = TypeVar("Result")

_SCOPE = "app.scope"
_READ = "SELECT coalesce(current_setting('app.scope', true), '')"
#: The scope of the innermost block inside a transaction.
_open: ContextVar[tuple[str, str] | None] = ContextVar("open scope", default=None)
#: The stack that ends the transaction of the last write of a request; see `last_write_held`.
_last_write: ContextVar[ExitStack | None] = ContextVar("last write", default=None)


def _set_scope(name: str, argument: str) -> None:
    # The server binds the token: the text of a statement is visible to other connections of the same role.
    driver: Any = connection.connection
    set_locally({_SCOPE: row_scope_token(name, argument, driver.info.backend_pid)})


@contextmanager
def _scope(name: str, argument: str = "") -> Iterator[None]:
    """Run a transaction in a scope; a nested scope restores the outer one, and sets nothing if it is the same.

    An exception rolls back to the savepoint, which restores it too.
    """
    is_outermost = not connection.in_atomic_block
    is_set = not is_outermost and _open.get() == (name, argument)
    before = _open.set((name, argument))
    try:
        with transaction.atomic():
            if is_outermost:
                start = partial(_set_scope, name, argument)
                with connection.execute_wrapper(TransactionStart(cast(DatabaseWrapper, connection), start)):
                    yield
            elif is_set:
                yield
            else:
                ((outer,),) = execute_prepared(_READ, [])
                _set_scope(name, argument)
                yield
                set_locally({_SCOPE: outer})
    finally:
        _open.reset(before)


@contextmanager
def _pipelined_scope(name: str, argument: str = "") -> Iterator[None]:
    """Send the settings and the statements of the block in one transaction, without waiting for each (ADR-0120).

    The transaction is the implicit one of a pipeline, which the database commits at its end: no statement begins or
    ends it. An error of a statement rolls it back; any other exception does not, so at most one statement of the block
    may write, and it must be the last. No scope can be opened inside. Inside a transaction this is an ordinary scope,
    as with Citus, which passes on no settings without BEGIN.
    """
    if connection.in_atomic_block or settings.DATABASE_CITUS:
        with _scope(name, argument):
            yield
        return
    with cast(DatabaseWrapper, connection).pipeline():
        _set_scope(name, argument)
        yield


@contextmanager
def _scope_of_all_tenants(name: str) -> Iterator[None]:
    """Run a transaction in a scope that the role of the API may not open (ADR-0160)."""
    with logged_in_across_tenants(), _scope(name):
        yield


def tenant_scope(tenant_id: UUID, *, is_pipelined: bool = False) -> AbstractContextManager[None]:
    """Read and write the rows of one tenant.

    `is_pipelined` is for prepared statements that only read, or one that writes: see `_pipelined_scope`.
    """
    return (_pipelined_scope if is_pipelined else _scope)("tenant", str(tenant_id))


def in_batches(tenant_id: UUID, batch: Callable[[], int], size: int) -> int:
    """Call `batch` in tenant scopes of its own until it handles fewer than `size` rows; return how many in all."""
    total = 0
    for _ in in_time(count()):
        with tenant_scope(tenant_id):
            rows = batch()
        total += rows
        if rows < size:
            break
    return total


@contextmanager
def last_write_held() -> Iterator[None]:
    """Keep the transaction of a `last_write_scope` in the block open until the end of the block (ADR-0256)."""
    with ExitStack() as stack:
        before = _last_write.set(stack)
        try:
            yield
        finally:
            _last_write.reset(before)


def last_write_scope(tenant_id: UUID, *, is_pipelined: bool = False) -> AbstractContextManager[None]:
    """Open a tenant scope for the last write of a request, so that its response can be stored in the same transaction.

    Anything the request does afterwards must be short, because the transaction may be open until its end.
    """
    stack = _last_write.get()
    if stack is not None and not connection.in_atomic_block:
        stack.enter_context(tenant_scope(tenant_id))
    return tenant_scope(tenant_id, is_pipelined=is_pipelined)


class SecondScope:
    """A scope on a second connection next to a pipelined one, which takes all statements if there is no second."""

    def __init__(self, driver: Any) -> None:
        """`driver` is the second connection, or None."""
        self._driver = driver

    @property
    def is_open(self) -> bool:
        """Whether there is a second connection to send statements to."""
        return self._driver is not None

    @contextmanager
    def sending(self, *, is_last: bool = False) -> Iterator[None]:
        """Send the statements of the block immediately, on the second connection; `is_last` if none follow there."""
        driver = self._driver
        if driver is None:
            yield
            return
        if is_last:
            self._driver = None
        with cast(DatabaseWrapper, connection).using(driver):
            yield
            send_now(is_last=is_last)

    def start_first(self) -> None:
        """Make the first connection run its statements while the second is used."""
        if self._driver is not None:
            send_now()


@contextmanager
def second_tenant_scope(tenant_id: UUID) -> Iterator[SecondScope]:
    """Read rows of a tenant on a second connection too, if one is idle (ADR-0264). Open the pipelined scope inside."""
    database = cast(DatabaseWrapper, connection)
    with nullcontext() if settings.DATABASE_CITUS else database.second_connection() as driver:
        if driver is not None:
            with database.using(driver):
                _set_scope("tenant", str(tenant_id))
        yield SecondScope(driver)


def write_in_tenant_scope(tenant_id: UUID, write: Callable[[], Result]) -> Result:
    """Return the result of `write` in a `last_write_scope`; run it again, twice at most, after a conflict.

    Two writes can each lock a row that the other's unique key needs; the database then rolls one of them back. An
    erasure can delete a partition that the write has found.
    """
    is_nested = connection.in_atomic_block
    for tries_left in reversed(range(CONFLICT_TRIES_MAX)):
        try:
            with last_write_scope(tenant_id):
                return write()
        except (OperationalError, IntegrityError) as error:
            is_conflict = isinstance(error.__cause__, (DeadlockDetected, ForeignKeyViolation))
            if not (tries_left and is_conflict) or is_nested:
                raise
    raise AssertionError("the last try returns or raises")


def operator_read_scope(tenant_ids: Iterable[UUID]) -> AbstractContextManager[None]:
    """Read the rows of an operator's tenants."""
    return _scope("operator_read", "{" + ",".join(str(pk) for pk in tenant_ids) + "}")


def admin_write_scope() -> AbstractContextManager[None]:
    """Read and write the rows of every tenant: superusers in Django admin and the management commands."""
    return _scope_of_all_tenants("admin_write")


def authentication_scope(*, is_pipelined: bool = False) -> AbstractContextManager[None]:
    """Read keys, tenants and memberships, before a tenant is known; `is_pipelined` as in `tenant_scope`."""
    return (_pipelined_scope if is_pipelined else _scope)("authentication")


def maintenance_scope() -> AbstractContextManager[None]:
    """Read the rows of every tenant to find work; the work runs in the tenant's own scope."""
    return _scope_of_all_tenants("maintenance")
