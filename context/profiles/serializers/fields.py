"""The serializer fields of a profile's settings, built from their descriptions."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from context.services.profiles.fields import ProfileField
from memory_platform.rest.fields import (
    RuleCheckedField,
    StrictBooleanField,
    StrictChoiceField,
    StrictField,
    StrictIntegerField,
    StrictNumberField,
    StrictTextField,
    text_error,
)

BAD_NAME = "Must be a lower-case word of at most 64 letters, digits, _ and -, such as support-short."


def profile_name_field(**kwargs: Any) -> StrictTextField:
    """Return the field of a profile's name."""
    return StrictTextField(pattern=r"[a-z][a-z0-9_-]{0,63}", pattern_code="bad_name", pattern_detail=BAD_NAME, **kwargs)


def unchecked_field(shape: dict[str, Any], **kwargs: Any) -> RuleCheckedField:
    """Return the optional field of a value whose rule the action checks; the names in it must be storable text."""
    return RuleCheckedField(rule=_storable, shape=shape, required=False, **kwargs)


def _storable(value: Any) -> Any:
    for name in value if isinstance(value, dict) else ():
        if fault := text_error(name):
            raise serializers.ValidationError(fault[1], code=fault[0])
    return value


def input_field(described: ProfileField, choices: Sequence[str] = ()) -> StrictField:
    """Return the optional input field of a switch, a number or one of `choices`."""
    kwargs: dict[str, Any] = {"required": False, "help_text": described.input_help or None}
    if choices:
        return StrictChoiceField(choices=choices, **kwargs)
    if isinstance(described.default, bool):
        return StrictBooleanField(**kwargs)
    if described.is_whole:
        return StrictIntegerField(minimum=int(described.least), maximum=int(described.most), **kwargs)
    return StrictNumberField(minimum=described.least, maximum=described.most, **kwargs)


def output_field(
    described: ProfileField, choices: Sequence[str] = (), **kwargs: Any
) -> serializers.Field[Any, Any, Any, Any]:
    """Return the output field of a number of any type."""
    if described.output_help:
        kwargs["help_text"] = described.output_help
    match described.default:
        case str():
            return serializers.ChoiceField(choices=choices or list(described.choices), **kwargs)
        case bool():
            return serializers.BooleanField(**kwargs)
        case int():
            return serializers.IntegerField(**kwargs)
        case list():
            return serializers.ListField(child=serializers.IntegerField(), **kwargs)
        case dict():
            return serializers.DictField(**kwargs)
    return serializers.FloatField(allow_null=described.default is None, **kwargs)
