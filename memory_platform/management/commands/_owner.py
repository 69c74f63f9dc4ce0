"""The database alias for changing tables: `owner` if its URL is known, else the app's own."""

from django.db import DEFAULT_DB_ALIAS

from memory_platform.postgres.roles import known_owner


def owner_alias(requested: str) -> str:
    """Return `owner` instead of `default`, whose role may neither create nor truncate a table."""
    return (known_owner() or requested) if requested == DEFAULT_DB_ALIAS else requested
