"""The place of a list in its page's address."""

from typing import Any
from uuid import UUID

from memory_platform.rest.pages import CursorError, Place, read_cursor, write_cursor
from memory_platform.web import HtmxRequest


def place_in(request: HtmxRequest, ordering: str, *kinds: type) -> tuple[Any, UUID] | None:
    """Where the page begins; a cursor of another order or kind of value, or none at all, begins at the start."""
    cursor = request.GET.get("cursor")
    try:
        place = read_cursor(cursor) if cursor else None
    except CursorError:
        return None
    if place is None or place.ordering != ordering or not isinstance(place.id, UUID):
        return None
    return (place.value, place.id) if isinstance(place.value, kinds) else None


def query_at(request: HtmxRequest, place: Place | None) -> str:
    """The address's query with another place: that of the first page for None."""
    query = request.GET.copy()
    query.pop("cursor", None)
    if place is not None:
        query["cursor"] = write_cursor(place)
    return query.urlencode()
