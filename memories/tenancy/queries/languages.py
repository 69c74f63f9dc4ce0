"""The text-search configurations of Postgres, which name the languages of tenants."""

from memories.tenancy.queries.insertions import execute

#: The language of a tenant that has not chosen one.
DEFAULT_TEXT_SEARCH_CONFIG = "english"
_CONFIGS = "SELECT cfgname FROM pg_ts_config WHERE cfgnamespace = 'pg_catalog'::regnamespace ORDER BY cfgname"


def text_search_configs() -> list[str]:
    """Return the languages that this Postgres knows, by the names of their text-search configurations."""
    return [name for (name,) in execute(_CONFIGS)]
