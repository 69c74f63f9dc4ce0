"""Which database alias changes tables: `owner` where its URL is known, else the app's own."""

from django.db import DEFAULT_DB_ALIAS, connections

OWNER_ALIAS = "owner"


def owner_alias(asked: str) -> str:
    """The app's role may neither create nor truncate a table, so what is asked of `default` is done by `owner`."""
    return OWNER_ALIAS if asked == DEFAULT_DB_ALIAS and OWNER_ALIAS in connections.settings else asked
