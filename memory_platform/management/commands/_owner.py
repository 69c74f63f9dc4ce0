"""The database alias that changes tables: `owner` where its URL is known, else the app's own."""

from django.db import DEFAULT_DB_ALIAS, connections

OWNER_ALIAS = "owner"


def owner_alias(requested: str) -> str:
    """Return `owner` instead of `default`, whose role may neither create nor truncate a table."""
    is_owner = requested == DEFAULT_DB_ALIAS and OWNER_ALIAS in connections.settings
    return OWNER_ALIAS if is_owner else requested
