"""Parse the `filters` of a search: `{field: value}` or `{field: {gte, lte, in}}`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memories.services.store.content import CodedError, is_storable_text

#: The kind of values of each field; `metadata.<key>` compares with any JSON scalar.
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
#: Counters are the same for all versions of a memory.
COUNTER_FIELDS = ("usefulness_score", "retrieval_count")
OPERATORS = ("gte", "lte", "in")
MAX_ALTERNATIVES = 200
METADATA_PREFIX = "metadata."
#: Numbers beyond these cannot be values of a column and overflow the database's types.
MAX_NUMBER = 2_147_483_647


@dataclass(frozen=True)
class FilterCondition:
    """One comparison; `metadata_key` is set when it looks into the metadata."""

    field: str
    operator: str
    value: Any
    metadata_key: str | None = None


class FilterError(CodedError):
    """A filter that cannot be applied; `field` names it."""

    def __init__(self, field: str, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.field = field


def parse_filters(filters: Mapping[str, Any]) -> list[FilterCondition]:
    """Return the conditions of `filters`, all of which a row must meet. Raises `FilterError`."""
    if not isinstance(filters, Mapping):
        raise FilterError("filters", "wrong_type", "Filters must be an object of fields and values.")
    return [condition for field, operand in filters.items() for condition in _conditions(field, operand)]


def _conditions(field: str, operand: object) -> Iterator[FilterCondition]:
    key = field.removeprefix(METADATA_PREFIX) if field.startswith(METADATA_PREFIX) else None
    if key is None and field not in FILTER_FIELDS:
        known = ", ".join([*FILTER_FIELDS, "metadata.<key>"])
        raise FilterError(f"filters.{field}", "unknown_field", f"Known filters: {known}.")
    if key is not None and not is_storable_text(key):
        raise FilterError("filters", "wrong_type", "The name of a metadata key contains unstorable characters.")
    kind = "scalar" if key is not None else FILTER_FIELDS[field]
    if not isinstance(operand, Mapping):
        yield FilterCondition(field, "eq", _value(field, kind, operand), key)
        return
    if not operand:
        raise _unknown_operator(field, kind)
    for name, value in operand.items():
        yield FilterCondition(field, name, _operand(field, kind, name, value), key)


def _operand(field: str, kind: str, name: str, value: object) -> Any:
    if name not in _operators_of(kind):
        raise _unknown_operator(field, kind)
    if name != "in":
        return _value(field, kind, value)
    if not isinstance(value, (list, tuple)):
        raise FilterError(f"filters.{field}", "wrong_type", "`in` takes a list.")
    if len(value) > MAX_ALTERNATIVES:
        raise FilterError(f"filters.{field}", "too_many", f"`in` takes at most {MAX_ALTERNATIVES} values.")
    return [_value(field, kind, item) for item in value]


def _operators_of(kind: str) -> tuple[str, ...]:
    return ("in",) if kind in {"scalar", "boolean"} else OPERATORS


def _unknown_operator(field: str, kind: str) -> FilterError:
    detail = f"Compare the field with a value or with one of these operators: {', '.join(_operators_of(kind))}."
    return FilterError(f"filters.{field}", "unknown_operator", detail)


def _value(field: str, kind: str, value: object) -> Any:
    if kind == "time" and isinstance(value, str):
        value = _time(field, value)
    name, is_of_kind = _KINDS[kind]
    if not is_of_kind(value):
        raise FilterError(f"filters.{field}", "wrong_type", f"Compare the field with a {name}.")
    return value


def _time(field: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        # Postgres takes no offset of 16 hours or more. A time without one is refused by its kind.
        return moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise FilterError(f"filters.{field}", "wrong_type", "Must be a time such as 2026-05-08T13:56:00Z.") from error


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


#: The description of values of a kind, and their check.
_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "text": ("text", is_storable_text),
    "number": ("finite number of at most ten digits", _is_number),
    "boolean": ("boolean", lambda value: isinstance(value, bool)),
    "time": ("time with its offset", lambda value: isinstance(value, datetime) and value.utcoffset() is not None),
    "scalar": (
        "text, number, boolean or null",
        lambda value: value is None or isinstance(value, bool) or is_storable_text(value) or _is_number(value),
    ),
}
