"""A serializer that knows its fields and nothing else."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from memory_platform.rest.errors import printable_field_name

UNKNOWN = "unknown_field"


class StrictSerializer(serializers.Serializer[Any]):
    """Names every unknown field; a body that is no object is refused as a whole."""

    def to_internal_value(self, data: Any) -> Any:
        """Check the known fields and name the unknown ones, all in one answer."""
        errors: dict[str, Any] = {}
        if isinstance(data, Mapping):
            errors = {
                printable_field_name(name): [serializers.ErrorDetail("There is no such field.", code=UNKNOWN)]
                for name in data
                if name not in self.fields
            }
        elif data is not None:
            detail = serializers.ErrorDetail("A JSON object is needed.", code="not_an_object")
            raise serializers.ValidationError({"": [detail]})
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            faults = error.detail if isinstance(error.detail, dict) else {"": error.detail}
            raise serializers.ValidationError({**faults, **errors}) from error
        if errors:
            raise serializers.ValidationError(errors)
        return values

    def create(self, validated_data: Any) -> Any:
        """Serializers only translate; actions write."""
        raise TypeError("serializers do not write")

    def update(self, instance: Any, validated_data: Any) -> Any:
        """Serializers only translate; actions write."""
        raise TypeError("serializers do not write")


class EmptyInput(StrictSerializer):
    """A body or a query without fields, for addresses that say everything."""


def flat_errors(detail: Any, path: str = "") -> list[dict[str, str]]:
    """REST framework's nested details as a flat list of field, code and detail; `field` is a dotted path."""
    if isinstance(detail, dict):
        named = ((name if name != "non_field_errors" else "", inner) for name, inner in detail.items())
        return [row for name, inner in named for row in flat_errors(inner, ".".join(filter(None, (path, str(name)))))]
    if isinstance(detail, list):
        places = ((f"{path}.{index}" if isinstance(inner, dict) else path, inner) for index, inner in enumerate(detail))
        return [row for place, inner in places if inner for row in flat_errors(inner, place.lstrip("."))]
    return [{"field": path, "code": getattr(detail, "code", None) or "invalid", "detail": str(detail)}]


def query_values(query: QueryDict) -> dict[str, Any]:
    """Query parameters as one value each; one given twice is an error by name."""
    twice = [name for name, values in query.lists() if len(values) != 1]
    if twice:
        raise serializers.ValidationError(
            {
                printable_field_name(name): [serializers.ErrorDetail("Give this once.", code="given_twice")]
                for name in twice
            }
        )
    return query.dict()
