"""The filters that a saved view of a list keeps."""

from collections.abc import Mapping

#: Maximum characters of all filters of a view, and of its name.
FILTER_CHARACTERS_MAX = 5_000
NAME_CHARACTERS_MAX = 60
#: Query parameters that name a page of the list or how it is loaded, not what it lists.
_NOT_KEPT = frozenset({"cursor", "whole"})


def kept_filters(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the query parameters of a list that a view keeps, in the order of their names."""
    return {name: value for name, value in sorted(parameters.items()) if value and name not in _NOT_KEPT}


def are_too_long(filters: Mapping[str, str]) -> bool:
    """Whether the filters have more characters than a view keeps."""
    return sum(len(name) + len(value) for name, value in filters.items()) > FILTER_CHARACTERS_MAX
