"""Cursor pages `{next, previous, results}`: a cursor names the row it stands at, so none is skipped or shown twice."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework.request import Request

from memory_platform.rest.errors import RestError
from memory_platform.rest.fields import RuleCheckedField, StrictIntegerField, text_error
from memory_platform.rest.serializers import StrictSerializer

PAGE_SIZE_DEFAULT = 50
PAGE_SIZE_MAX = 500
CURSOR_CHARACTERS_MAX = 500

#: What a list is ordered by, and what breaks ties: an id, or a name where ids must not leave.
Value = datetime | float | int | str
Tie = UUID | int | str


@dataclass(frozen=True)
class CursorPosition:
    """A row's place in an ordering: the ordered value and the id that breaks ties. `ordering` says which order."""

    ordering: str
    value: Value
    id: Tie
    is_backward: bool = False

    @property
    def number(self) -> int:
        """The id, in a list whose rows are numbered."""
        if not isinstance(self.id, int):
            raise TypeError("the rows of this list are not numbered")
        return self.id


def position_to_row(place: CursorPosition | None) -> dict[str, Any]:
    """A place as the queryset method `page` takes it."""
    if place is None:
        return {}
    return {"after": (place.value, place.id), "is_backward": place.is_backward}


class CursorError(ValueError):
    """A cursor that this API did not give."""

    code = "bad_cursor"
    detail = "The cursor is not one of this list; start again without it."


def write_cursor(place: CursorPosition) -> str:
    """The opaque text of a place."""
    content: dict[str, Any] = {"o": place.ordering, "b": int(place.is_backward)}
    if isinstance(place.value, str):
        content["s"] = place.value
    else:
        content |= {"t": place.value.isoformat()} if isinstance(place.value, datetime) else {"n": place.value}
    if isinstance(place.id, str):
        content["k"] = place.id
    else:
        content |= {"u": str(place.id)} if isinstance(place.id, UUID) else {"i": place.id}
    return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(text: Any) -> CursorPosition:
    """The place a cursor names. Raises `CursorError`."""
    if not isinstance(text, str) or len(text) > CURSOR_CHARACTERS_MAX or not text.isascii():
        raise CursorError
    try:
        content = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        value = _text(content["s"]) if "s" in content else _ordered(content)
        row = _text(content["k"]) if "k" in content else _numbered(content)
        is_backward = content["b"]
        ordering = content["o"]
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CursorError from error
    if not isinstance(ordering, str) or is_backward not in (0, 1):
        raise CursorError
    return CursorPosition(ordering, value, row, bool(is_backward))


def _ordered(content: dict[str, Any]) -> datetime | float | int:
    value = _moment(content["t"]) if "t" in content else content["n"]
    if not _is_bounded(value):
        raise CursorError
    return value


def _numbered(content: dict[str, Any]) -> UUID | int:
    row = UUID(content["u"]) if "u" in content else content["i"]
    if not isinstance(row, UUID) and not (_is_bounded(row) and isinstance(row, int)):
        raise CursorError
    return row


def _text(value: Any) -> str:
    if text_error(value):
        raise CursorError
    return str(value)


def _moment(text: str) -> datetime:
    moment = parse_datetime(text)
    if moment is None or moment.tzinfo is None:
        raise CursorError
    return moment.astimezone(UTC)  # Postgres takes no offset of 16 hours or more


def _is_bounded(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, datetime) or (is_number and abs(value) < 2**53)


class PageInput(StrictSerializer):
    """Query parameters of every list."""

    cursor = RuleCheckedField(rule=read_cursor, shape={"type": "string"}, required=False, default=None)
    page_size = StrictIntegerField(
        minimum=1, maximum=PAGE_SIZE_MAX, required=False, default=PAGE_SIZE_DEFAULT, takes_text=True
    )


def list_as_rows(
    rows: Callable[[], Sequence[Any]], *, ordering: str, place_of: Callable[[Any], tuple[Any, Any]]
) -> Callable[[CursorPosition | None, int], Sequence[Any]]:
    """The `rows_from` of a list that is read whole; `ordering` has a minus where the highest comes first."""

    def rows_from(place: CursorPosition | None, count: int) -> Sequence[Any]:
        is_down = ordering.startswith("-") != (place is not None and place.is_backward)
        in_order = sorted(rows(), key=place_of, reverse=is_down)
        if place is not None:
            at = (place.value, place.id)
            in_order = [row for row in in_order if (place_of(row) < at if is_down else place_of(row) > at)]
        return in_order[:count]

    return rows_from


def build_page(
    request: Request,
    values: dict[str, Any],
    *,
    ordering: str,
    kinds: tuple[type, type],
    rows_from: Callable[[CursorPosition | None, int], Sequence[Any]],
    place_of: Callable[[Any], tuple[Value, Tie]],
    answer: Callable[[Any], Any],
) -> dict[str, Any]:
    """One page. `rows_from(place, count)` gives the rows after a place (before it, nearest first, when backward).

    `kinds` are the types of the ordered value and of the id, which a cursor of this list holds.
    """
    place: CursorPosition | None = values["cursor"]
    size: int = values["page_size"]
    if place is not None and (place.ordering, *map(type, (place.value, place.id))) != (ordering, *kinds):
        raise RestError(CursorError.code, CursorError.detail, field="cursor")
    found = list(rows_from(place, size + 1))
    rows, has_more = found[:size], len(found) > size
    is_backward = place is not None and place.is_backward
    if is_backward:
        rows.reverse()

    def link(row: Any, *, is_backward: bool) -> str:
        cursor = write_cursor(CursorPosition(ordering, *place_of(row), is_backward))
        query = request.query_params.copy()
        query["cursor"] = cursor
        return request.build_absolute_uri(f"?{query.urlencode()}")

    has_next = bool(rows) and (has_more if not is_backward else True)
    has_previous = bool(rows) and (has_more if is_backward else place is not None)
    return {
        "next": link(rows[-1], is_backward=False) if has_next else None,
        "previous": link(rows[0], is_backward=True) if has_previous else None,
        "results": [answer(row) for row in rows],
    }
