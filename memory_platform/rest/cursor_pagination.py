"""Cursor pages of the API and the console. A cursor names the last row of a page, so none is skipped or repeated."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.signing import BadSignature, Signer
from rest_framework import serializers
from rest_framework.request import Request

from memory_platform.rest.fields import RuleCheckedField, StrictIntegerField
from memory_platform.rest.request_errors import RestError
from memory_platform.rest.serializers import StrictSerializer

PAGE_SIZE_DEFAULT = 50
PAGE_SIZE_MAX = 500
_SIGNER = Signer(sep=".", salt="cursor")

#: The value by which a list is ordered, and the one that breaks ties: an id, or a name where ids are not shown.
OrderedValue = datetime | float | int | str
TieBreaker = UUID | int | str
_READERS: dict[str, Any] = {"datetime": datetime.fromisoformat, "float": float, "int": int, "str": str, "UUID": UUID}


@dataclass(frozen=True)
class CursorPosition:
    """A row's position in an ordering: the ordered value and the id that breaks ties."""

    ordering: str
    value: OrderedValue
    id: TieBreaker
    is_backward: bool = False

    @property
    def number(self) -> int:
        """The id in a list whose ids are integers. Raises `TypeError` in another list."""
        if not isinstance(self.id, int):
            raise TypeError("the ids of this list are not integers")
        return self.id


def position_to_row(position: CursorPosition | None) -> dict[str, Any]:
    """Return the arguments of `TenantRows.page` for a position."""
    return {"after": (position.value, position.id), "is_backward": position.is_backward} if position else {}


class CursorError(ValueError):
    """The cursor is malformed or belongs to another list."""

    code = "bad_cursor"
    detail = "The cursor belongs to another list. Start again without a cursor."


def write_cursor(position: CursorPosition) -> str:
    """Return the opaque text of a position, signed, so that only positions of our own rows are read."""
    places = [(type(each).__name__, str(each)) for each in (position.value, position.id)]
    return _SIGNER.sign_object([position.ordering, *places, position.is_backward])


def read_cursor(text: Any) -> CursorPosition:
    """Return the position that `write_cursor` wrote. Raises `CursorError`."""
    try:
        ordering, *places, is_backward = _SIGNER.unsign_object(str(text))
    except (BadSignature, ValueError) as error:
        raise CursorError from error
    value, row = (_READERS[kind](written) for kind, written in places)
    return CursorPosition(ordering, value, row, is_backward)


class PageInput(StrictSerializer):
    """Query parameters of every list."""

    cursor = RuleCheckedField(
        rule=read_cursor, shape={"type": "string"}, default=None, help_text="From `next` or `previous`."
    )
    page_size = StrictIntegerField(
        minimum=1, maximum=PAGE_SIZE_MAX, default=PAGE_SIZE_DEFAULT, takes_text=True, help_text="Rows of one page."
    )


class PageOutput(serializers.Serializer[Any]):
    """The links of a page; a subclass adds `results`."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)


def list_as_rows(
    rows: Callable[[], Sequence[Any]], *, ordering: str, place_of: Callable[[Any], tuple[Any, Any]]
) -> Callable[[CursorPosition | None, int], Sequence[Any]]:
    """Return the `rows_from` of a list that is read completely; a minus in `ordering` puts the highest value first."""

    def rows_from(position: CursorPosition | None, count: int) -> Sequence[Any]:
        is_down = ordering.startswith("-") != (position is not None and position.is_backward)
        in_order = sorted(rows(), key=place_of, reverse=is_down)
        if position is not None:
            at = (position.value, position.id)
            in_order = [row for row in in_order if (place_of(row) < at if is_down else place_of(row) > at)]
        return in_order[:count]

    return rows_from


@dataclass(frozen=True)
class CursorPage:
    """The rows of one page in order, and the positions from which the adjacent pages start."""

    rows: list[Any]
    previous: CursorPosition | None
    next: CursorPosition | None


def read_page(
    position: CursorPosition | None,
    *,
    ordering: str,
    size: int,
    rows_from: Callable[[CursorPosition | None, int], Iterable[Any]],
    place_of: Callable[[Any], tuple[OrderedValue, TieBreaker]],
) -> CursorPage:
    """Read `size` rows from `position` on, None for the first page, by one call of `rows_from`: nearest rows first."""
    rows = list(rows_from(position, size + 1))
    has_more, rows = len(rows) > size, rows[:size]
    is_backward = position is not None and position.is_backward
    if is_backward:
        rows.reverse()
    has_previous = bool(rows) and (has_more if is_backward else position is not None)
    has_next = bool(rows) and (has_more or is_backward)
    return CursorPage(
        rows,
        CursorPosition(ordering, *place_of(rows[0]), is_backward=True) if has_previous else None,
        CursorPosition(ordering, *place_of(rows[-1])) if has_next else None,
    )


def build_page(
    request: Request,
    values: dict[str, Any],
    *,
    ordering: str,
    kinds: tuple[type, type],
    rows_from: Callable[[CursorPosition | None, int], Iterable[Any]],
    place_of: Callable[[Any], tuple[OrderedValue, TieBreaker]],
    answer: Callable[[Any], Any],
) -> dict[str, Any]:
    """Return `{next, previous, results}` for the values of a `PageInput`. Raises `RestError` for another list's cursor.

    `kinds` are the types of the ordered value and of the id in this list's cursors.
    """
    position: CursorPosition | None = values["cursor"]
    if position is not None and (position.ordering, type(position.value), type(position.id)) != (ordering, *kinds):
        raise RestError(CursorError.code, CursorError.detail, field="cursor")
    page = read_page(position, ordering=ordering, size=values["page_size"], rows_from=rows_from, place_of=place_of)
    return {
        "next": page.next and page_url(request, page.next),
        "previous": page.previous and page_url(request, page.previous),
        "results": [answer(row) for row in page.rows],
    }


def page_url(request: Request, position: CursorPosition, **changed: str) -> str:
    """Return the absolute URL of the same list from `position` on, with `changed` query parameters."""
    query = request.query_params.dict() | changed | {"cursor": write_cursor(position)}
    return request.build_absolute_uri(f"?{urlencode(query)}")


@cache
def page_of(output: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Return the serializer class that documents a page of `output` rows: `MemoryPageOutput` for `MemoryOutput`."""
    fields = {"__doc__": "A page of results.", "results": output(many=True)}
    return type(f"{output.__name__.removesuffix('Output')}PageOutput", (PageOutput,), fields)
