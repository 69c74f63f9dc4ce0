"""Rules of fields that several inputs share."""

from typing import Any

from memories.services.content import check_content, normalise_content


def checked_query(value: Any) -> str:
    """A text to search for."""
    check_content(value)
    return normalise_content(value)


def query_or_nothing(value: Any) -> str:
    """The same, or "" for a blank one."""
    return "" if isinstance(value, str) and not value.strip() else checked_query(value)
