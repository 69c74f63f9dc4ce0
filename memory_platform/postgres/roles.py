"""The database roles that a process may use, by the alias of their URL in the settings (ADR-0160)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connection, connections

from memory_platform.postgres.base import DatabaseWrapper

#: Requests of the API, and tasks of one tenant.
API = DEFAULT_DB_ALIAS
#: Pages, Django admin, probes and metrics.
CONSOLE = "console"
#: Work across tenants, and what only it may do: erase, seal the audit log, and delete tenants.
MAINTENANCE = "maintenance"
OWNER_ALIAS = "owner"
#: The role of the API on a streaming replica.
REPLICA = "replica"


def known_owner() -> str | None:
    """Return the alias of the tables' owner, None if its URL is not known."""
    return OWNER_ALIAS if OWNER_ALIAS in connections.settings else None


def log_in(alias: str) -> None:
    """Run the next statements of this thread as the role of `alias`; without its URL, keep the current role."""
    wrapper = cast(DatabaseWrapper, connection)
    wrapper.log_in(alias if alias in connections.settings else API)


@contextmanager
def logged_in_as(*aliases: str) -> Iterator[None]:
    """Run the block as the first of these roles whose URL is known; without any, keep the current role."""
    wrapper = cast(DatabaseWrapper, connection)
    before = wrapper.login
    wrapper.log_in(next((alias for alias in aliases if alias in connections.settings), before))
    try:
        yield
    finally:
        wrapper.log_in(before)


@contextmanager
def logged_in_across_tenants() -> Iterator[None]:
    """Run the block as a role that may open scopes of all tenants; a role other than that of the API is kept."""
    is_api = cast(DatabaseWrapper, connection).login == API
    with logged_in_as(*([MAINTENANCE, CONSOLE] if is_api else [])):
        yield


@contextmanager
def logged_in_for_maintenance() -> Iterator[None]:
    """Run the block as the maintenance role. Raises `ImproperlyConfigured` if only other roles are known."""
    if MAINTENANCE not in connections.settings and CONSOLE in connections.settings:
        raise ImproperlyConfigured("This needs DATABASE_MAINTENANCE_URL, which the worker has.")
    with logged_in_as(MAINTENANCE):
        yield
