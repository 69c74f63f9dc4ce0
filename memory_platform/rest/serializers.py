"""Strict serializers and the conversion of their errors."""

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from memory_platform.rest.request_errors import printable_field_name

UNKNOWN = "unknown_field"
#: Errors of an answer, and of one row of a bulk request; a body of 8 MiB can have a million.
PROBLEMS_MAX, ROW_PROBLEMS_MAX = 50, 10
UNKNOWN_NAMED_MAX = 20


def _not_an_object(code: str = "not_an_object") -> serializers.ValidationError:
    detail = serializers.ErrorDetail("Must be a JSON object.", code=code)
    return serializers.ValidationError({"": [detail]})


class StrictSerializer(serializers.Serializer[Any]):
    """Reports every unknown field, and a body that is not an object."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if data is None and self.root is self:  # the library has its own text for a body of `null`
            raise _not_an_object("null")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        errors: dict[str, Any] = {}
        if isinstance(data, Mapping):
            errors = _unknown_fields(data, set(self.fields))
        elif data is not None:
            raise _not_an_object()
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            faults = error.detail if isinstance(error.detail, dict) else {"": error.detail}
            raise serializers.ValidationError({**faults, **errors}) from error
        if errors:
            raise serializers.ValidationError(errors)
        return values


class _SerializerCache(threading.local):
    """The serializers of a thread, by class."""

    def __init__(self) -> None:
        self.by_class: dict[type[serializers.Serializer[Any]], Any] = {}


_kept_serializers = _SerializerCache()


def cached_serializer(serializer: type[serializers.Serializer[Any]]) -> Any:
    """Return this thread's serializer of a class, because creating one copies all of its fields."""
    by_class = _kept_serializers.by_class
    return by_class.get(serializer) or by_class.setdefault(serializer, serializer(context={}))


def validate_input(serializer: type[StrictSerializer], data: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` as validated by `serializer`. Raises `ValidationError` with all errors.

    Serializers are reused, because creating one takes several times as long as validating a context request. They must
    therefore not store anything about their input.
    """
    kept = cached_serializer(serializer)
    kept.context.update(context)
    try:
        return dict(kept.run_validation(data))
    except serializers.ValidationError:
        # the way of REST framework, for the shape of its errors
        refused = serializer(data=data, context=dict(context))
        refused.is_valid(raise_exception=True)
        raise
    finally:
        kept.context.clear()


class RowChecker:
    """Validates many rows with one serializer, each only by the fields that it contains; others get their defaults.

    Only for serializers whose fields are independent and whose defaults are constants or callables.
    """

    def __init__(self, serializer: StrictSerializer) -> None:
        self._serializer, self._fields = serializer, dict(serializer.fields)
        self._required = {name for name, field in self._fields.items() if field.required}
        optional = {name: field.default for name, field in self._fields.items() if name not in self._required}
        self._made = {name: default for name, default in optional.items() if callable(default)}
        self._defaults = {name: default for name, default in optional.items() if name not in self._made}

    def check(self, row: Any) -> dict[str, Any]:
        """Return the validated values. Raises `ValidationError` with all errors."""
        if isinstance(row, dict) and self._required <= row.keys() <= self._fields.keys():
            try:
                values = self._defaults | {name: make() for name, make in self._made.items() if name not in row}
                values |= {name: self._fields[name].run_validation(value) for name, value in row.items()}
                return dict(self._serializer.validate(values))
            except serializers.ValidationError:
                pass  # the serializer reports the faults of the other fields too
        return dict(self._serializer.run_validation(row))


def _unknown_fields(data: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the errors of unknown fields: the first ones by name, the others counted, as there can be a million."""
    names = [name for name in data if name not in known]
    errors: dict[str, Any] = {}
    if (left := len(names) - UNKNOWN_NAMED_MAX) > 0:
        errors[""] = [serializers.ErrorDetail(f"{left:,} more unknown fields.", code=f"{UNKNOWN}s")]
    for name in names[:UNKNOWN_NAMED_MAX]:
        errors[printable_field_name(name)] = [serializers.ErrorDetail("There is no such field.", code=UNKNOWN)]
    return errors


class EmptyInput(StrictSerializer):
    """A body or query without fields."""


def flat_errors(detail: Any, path: str = "") -> list[dict[str, str]]:
    """Return REST framework's nested details as a flat list of field, code and detail; `field` is a dotted path."""
    if isinstance(detail, dict):
        named = ((name if name != "non_field_errors" else "", inner) for name, inner in detail.items())
        return [row for name, inner in named for row in flat_errors(inner, ".".join(filter(None, (path, str(name)))))]
    if isinstance(detail, list):
        places = ((f"{path}.{index}" if isinstance(inner, dict) else path, inner) for index, inner in enumerate(detail))
        return [row for place, inner in places if inner for row in flat_errors(inner, place.lstrip("."))]
    return [{"field": path, "code": getattr(detail, "code", None) or "invalid", "detail": str(detail)}]


def bounded_errors(errors: Sequence[dict[str, str]], most: int = PROBLEMS_MAX) -> list[dict[str, str]]:
    """Return at most `most` of the errors; the last one then counts those that are not shown."""
    if len(errors) <= most:
        return list(errors)
    left = len(errors) - most + 1
    return [*errors[: most - 1], {"field": "", "code": "more_problems", "detail": f"{left:,} more problems not shown."}]


def query_values(query: QueryDict) -> dict[str, Any]:
    """Return query parameters with one value each. Raises `ValidationError` for a repeated one."""
    twice = [name for name, values in query.lists() if len(values) != 1]
    if twice:
        once = [serializers.ErrorDetail("Send this parameter only once.", code="given_twice")]
        raise serializers.ValidationError({printable_field_name(name): once for name in twice})
    return query.dict()
