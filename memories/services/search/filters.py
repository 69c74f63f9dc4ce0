"""The `filters` of a search: `{field: value}` or `{field: {gte, lte, in}}`, read into checked conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

#: field -> what its values are; `metadata.<key>` compares with any JSON scalar.
FILTER_FIELDS = {
    "kind": "text",
    "source_id": "text",
    "session": "text",
    "position": "number",
    "confidence": "number",
    "usefulness_score": "number",
    "retrieval_count": "number",
    "pinned": "boolean",
    "created_at": "time",
    "expires_at": "time",
}
#: What is counted, not said: the same for all versions of a memory.
COUNTER_FIELDS = ("usefulness_score", "retrieval_count")
OPERATORS = ("gte", "lte", "in")
MAX_ALTERNATIVES = 200
METADATA_PREFIX = "metadata."
#: Numbers beyond these are no column's value and overflow the database's types.
MAX_NUMBER = 2_147_483_647


@dataclass(frozen=True)
class FilterCondition:
    """One comparison; `metadata_key` is set when it looks into the metadata."""

    field: str
    operator: str
    value: Any
    metadata_key: str | None = None


class FilterError(ValueError):
    """A filter that cannot be asked: a stable `code`, a `detail`, the `field` to blame."""

    def __init__(self, field: str, code: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field
        self.code = code
        self.detail = detail


def parse_filters(filters: Mapping[str, Any]) -> list[FilterCondition]:
    """The conditions of `filters`, all of which a row must meet.

    Raises `FilterError` with code `unknown_field`, `unknown_operator`, `wrong_type` or `too_many`.
    """
    if not isinstance(filters, Mapping):
        raise FilterError("filters", "wrong_type", "Filters are an object of fields and values.")
    return [condition for field, wanted in filters.items() for condition in _conditions(field, wanted)]


def _conditions(field: str, wanted: object) -> Iterator[FilterCondition]:
    key = field.removeprefix(METADATA_PREFIX) if field.startswith(METADATA_PREFIX) else None
    if key is None and field not in FILTER_FIELDS:
        known = ", ".join([*FILTER_FIELDS, "metadata.<key>"])
        raise FilterError(f"filters.{field}", "unknown_field", f"There is no filter {field!r}; known: {known}.")
    if key is not None and not _is_text(key):
        raise FilterError("filters", "wrong_type", "The name of a metadata key holds characters that cannot be stored.")
    if not isinstance(wanted, Mapping):
        yield FilterCondition(field, "eq", _value(field, key, wanted), key)
        return
    if not wanted:
        raise FilterError(f"filters.{field}", "unknown_operator", f"One of {', '.join(OPERATORS)} is needed.")
    for name, value in wanted.items():
        yield FilterCondition(field, name, _operand(field, key, name, value), key)


def _operand(field: str, key: str | None, name: str, value: object) -> Any:
    if name not in OPERATORS or (key is not None and name != "in"):
        raise FilterError(f"filters.{field}", "unknown_operator", f"{field} cannot be compared by {name!r}.")
    if name != "in":
        if FILTER_FIELDS[field] == "boolean":
            raise FilterError(f"filters.{field}", "unknown_operator", f"{field} cannot be compared by {name!r}.")
        return _value(field, key, value)
    if not isinstance(value, (list, tuple)):
        raise FilterError(f"filters.{field}", "wrong_type", "`in` takes a list.")
    if len(value) > MAX_ALTERNATIVES:
        raise FilterError(f"filters.{field}", "too_many", f"`in` takes at most {MAX_ALTERNATIVES} values.")
    return [_value(field, key, item) for item in value]


def _value(field: str, key: str | None, value: object) -> Any:
    kind = "scalar" if key is not None else FILTER_FIELDS[field]
    if kind == "time" and isinstance(value, str):
        value = _time(field, value)
    if not _IS_OF_KIND[kind](value):
        raise FilterError(f"filters.{field}", "wrong_type", f"{field} is compared with a {_WORDS[kind]}.")
    return value


def _time(field: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        # Postgres takes no offset of 16 hours or more. A time without one is refused by its kind.
        return moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise FilterError(f"filters.{field}", "wrong_type", "A time such as 2026-05-08T13:56:00Z is needed.") from error


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any(
        character == "\x00" or "\ud800" <= character <= "\udfff" for character in value
    )


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= MAX_NUMBER


_IS_OF_KIND: dict[str, Callable[[object], bool]] = {
    "text": _is_text,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "time": lambda value: isinstance(value, datetime) and value.utcoffset() is not None,
    "scalar": lambda value: value is None or isinstance(value, bool) or _is_text(value) or _is_number(value),
}
_WORDS = {
    "text": "text",
    "number": "finite number of at most ten digits",
    "boolean": "boolean",
    "time": "time with its offset",
    "scalar": "text, number, boolean or null",
}
