"""The alias of the role that owns the tables, which processes know that may change them."""

from django.db import connections

OWNER_ALIAS = "owner"


def known_owner() -> str | None:
    """Return the alias of the tables' owner, None where its URL is not known."""
    return OWNER_ALIAS if OWNER_ALIAS in connections.settings else None
