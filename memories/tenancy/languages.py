"""The languages that a tenant's memories may be in."""

from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.queries.languages import text_search_configs


def check_language(language: str) -> None:
    """Raise `InvalidInput` `invalid_choice` for a language that this Postgres does not know."""
    known = text_search_configs()
    if language not in known:
        raise InvalidInput("invalid_choice", f"The language must be one of {', '.join(known)}.", "language")
