"""The database roles in this process: `SET ROLE` in one connection, where the product would change the connection.

A test's transaction needs a single connection. Tests themselves have the permissions of all roles; requests, commands
and tasks have only those of their own role.
"""

import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import psycopg
from celery.app.task import Task
from django.core.signals import request_finished
from django.db import connection
from django.db.backends.postgresql import base
from django.db.transaction import TransactionManagementError
from psycopg import sql

from memory_platform.postgres import roles
from memory_platform.postgres.base import DatabaseWrapper
from tests import servers

ANY_ROLE = "any role"
_MEMBER = "tests_member"
_ROLE = {roles.API: servers.APP, roles.CONSOLE: servers.CONSOLE, roles.MAINTENANCE: servers.MAINTENANCE}
_SET = "SELECT current_setting('app.scope', true), set_config('role', %s, false)"
_own_init, _own_parameters = DatabaseWrapper.__init__, DatabaseWrapper.get_connection_params
_own_state, _run_task = DatabaseWrapper.init_connection_state, Task.__call__
_own_close: Any = inspect.getattr_static(DatabaseWrapper, "_close")


def take_roles_in_transactions() -> None:
    """Make the login of the tests a member of every role; set the role where the product would change connections."""
    make_member()
    for name, replacement in _REPLACED.items():
        setattr(DatabaseWrapper, name, replacement)
    request_finished.connect(_end_request, dispatch_uid="role of the request")
    made_before: Any = connection
    made_before.login = ANY_ROLE
    task: Any = Task
    task.__call__ = _as_api


def make_member() -> None:
    with psycopg.connect(os.environ[servers.SUPERUSER_URL], autocommit=True) as server:
        member = sql.Identifier(_MEMBER)
        if not server.execute("SELECT FROM pg_roles WHERE rolname = %s", [_MEMBER]).rowcount:
            server.execute(sql.SQL("CREATE ROLE {} LOGIN INHERIT PASSWORD 'member'").format(member))
        server.execute(sql.SQL("GRANT pg_maintain TO {}").format(member))  # a refused ANALYZE is only a warning
        for login in _ROLE.values():
            server.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(login.role), member))
        server.execute(
            sql.SQL("GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}").format(
                sql.Identifier(servers.own_database()), member
            )
        )


def _init(self: DatabaseWrapper, settings_dict: dict[str, Any], alias: str) -> None:
    _own_init(self, settings_dict, alias)
    if alias == roles.API:
        self.login = ANY_ROLE


def _as_member(self: DatabaseWrapper) -> dict[str, Any]:
    parameters = _own_parameters(self)
    return parameters | ({"user": _MEMBER, "password": "member"} if self.alias == roles.API else {})


def _log_in(self: DatabaseWrapper, alias: str) -> None:
    if alias == self.login:
        return
    before, self.login = self.login, alias
    if self.connection is not None and not self.needs_rollback and _set_role(self) and before != ANY_ROLE:
        raise TransactionManagementError("a transaction keeps the role with which it began")


def _set_role(self: DatabaseWrapper) -> str:
    """Set the role; return the open row scope."""
    # not a cursor of Django, or tests would count the statement as part of the request
    taken = self.connection.execute(_SET, [_ROLE[self.login].role if self.login in _ROLE else "none"])
    return str(taken.fetchone()[0] or "")


def _take_role(self: DatabaseWrapper) -> None:
    _own_state(self)
    if self.login in _ROLE:
        self.connection.execute(_SET, [_ROLE[self.login].role])


def _leave_role(self: DatabaseWrapper) -> None:
    """Reset the role, because other threads may get the connection."""
    if self.connection is not None and self.login in _ROLE:
        with suppress(psycopg.Error):
            self.connection.execute("RESET ROLE")
        self.login = ANY_ROLE
    _own_close(self)


def _end_request(**_: object) -> None:
    wrapper: Any = connection
    if wrapper.login in _ROLE:
        wrapper.log_in(ANY_ROLE)


_REPLACED = {
    "__init__": _init,
    "get_connection_params": _as_member,
    "ensure_connection": lambda self: base.BaseDatabaseWrapper.ensure_connection(self),
    "log_in": _log_in,
    "init_connection_state": _take_role,
    "_close": _leave_role,
    "pool": base.DatabaseWrapper.pool,
    # it would have no role
    "second_connection": lambda _: nullcontext(),
}
_OWN = {name: inspect.getattr_static(DatabaseWrapper, name) for name in _REPLACED}


@contextmanager
def own_connections() -> Iterator[None]:
    """Let this thread change connections as the product does, outside a test's transaction."""
    wrapper: Any = connection
    wrapper.close()
    wrapper.close_pool()
    try:
        for name, own in _OWN.items():
            setattr(DatabaseWrapper, name, own)
        wrapper.login = roles.API
        request_finished.disconnect(dispatch_uid="role of the request")
        yield
    finally:
        wrapper.log_in(roles.API)
        wrapper.close()
        wrapper.close_pool()
        wrapper.login = ANY_ROLE
        take_roles_in_transactions()


def _as_api(self: Any, *args: Any, **kwargs: Any) -> Any:
    wrapper: Any = connection
    before = wrapper.login
    wrapper.log_in(roles.API if before == ANY_ROLE else before)
    try:
        return _run_task(self, *args, **kwargs)
    finally:
        wrapper.log_in(before)
