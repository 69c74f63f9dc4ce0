"""Fields that accept only their JSON type and never repeat an invalid value in the message."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn
from uuid import UUID

from django.utils.dateparse import parse_datetime
from drf_spectacular.drainage import set_override
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

AHEAD_MAX = timedelta(days=1)
INTEGER_MAX = 2**31 - 1
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def format_utc(value: datetime | None) -> str | None:
    """Return a time as ISO 8601 in UTC, with a Z."""
    if value is None:
        return None
    text = value.isoformat()
    # the database sends UTC; converting all of a context's times takes longer than writing them
    return f"{text[:-6]}Z" if text.endswith("+00:00") else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


class StrictField(serializers.Field[Any, Any, Any, Any]):
    """The base of strict fields: errors have codes and fixed texts, so that no library text repeats the value."""

    default_error_messages = {"required": "This field is required.", "null": "This field cannot be null."}

    def refuse(self, code: str, detail: str) -> NoReturn:
        """Raise the validation error `code` for this field."""
        raise serializers.ValidationError(detail, code=code)

    def to_representation(self, value: Any) -> Any:
        return value


class StrictListField(serializers.ListField):
    """A list whose errors are fixed texts."""

    default_error_messages = StrictField.default_error_messages | {
        "not_a_list": "Must be a list.",
        "min_length": "The list must have at least {min_length} entries.",
        "max_length": "The list must have at most {max_length} entries.",
    }

    def run_child_validation(self, data: Any) -> Any:
        """Validate the entries unless there are too many: REST framework would first report an error for each."""
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().run_child_validation(data)


def text_error(value: object) -> tuple[str, str] | None:
    """Return code and detail of the reason why `value` cannot be stored as text; None if it can."""
    if not isinstance(value, str):
        return "not_text", "Must be a string."
    if "\x00" in value:
        return "null_character", "The text contains a NUL character."
    if re.search("[\ud800-\udfff]", value):
        return "lone_surrogate", "The text contains an unpaired surrogate."
    return None


class StrictTextField(StrictField):
    """A string without NUL and lone surrogates, within bounds; `pattern_detail` explains a mismatch of `pattern`."""

    def __init__(
        self,
        *,
        max_length: int = 0,
        min_length: int = 0,
        pattern: str = "",
        pattern_code: str = "bad_pattern",
        pattern_detail: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_length, self.min_length = max_length, min_length
        self.pattern, self.pattern_code = pattern, pattern_code
        self.pattern_detail = pattern_detail or f"The text must match {pattern}."
        limits = {"maxLength": max_length, "minLength": min_length, "pattern": pattern}
        set_override(self, "field", {"type": "string"} | {name: limit for name, limit in limits.items() if limit})

    def to_internal_value(self, data: Any) -> str:
        if fault := text_error(data):
            self.refuse(*fault)
        if len(data) < self.min_length:
            detail = f"At least {self.min_length:,} characters are required."
            self.refuse("too_short", detail if self.min_length > 1 else "At least one character is required.")
        if self.max_length and len(data) > self.max_length:
            self.refuse("too_long", f"At most {self.max_length:,} characters are allowed.")
        if self.pattern and not re.fullmatch(self.pattern, data):
            self.refuse(self.pattern_code, self.pattern_detail)
        return str(data)


class StrictNumberField(StrictField):
    """A finite number within bounds; true and "1" are not numbers."""

    def __init__(self, *, minimum: float, maximum: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.minimum, self.maximum = minimum, maximum
        set_override(self, "field", {"type": "number", "minimum": minimum, "maximum": maximum})

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, (int, float)):
            self.refuse("not_a_number", "Must be a number.")
        if isinstance(data, float) and not math.isfinite(data):
            self.refuse("not_finite", "Must be a finite number.")
        if not self.minimum <= data <= self.maximum:
            self.refuse("out_of_range", f"The number must be between {self.minimum:g} and {self.maximum:g}.")
        return float(data)


class StrictIntegerField(StrictField):
    """An integer within bounds; 1.0, true and "1" are not integers. `takes_text` is for query parameters."""

    def __init__(
        self, *, minimum: int = 0, maximum: int = INTEGER_MAX, takes_text: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.minimum, self.maximum, self.takes_text = minimum, maximum, takes_text
        set_override(self, "field", {"type": "integer", "minimum": minimum, "maximum": maximum})

    def to_internal_value(self, data: Any) -> int:
        if self.takes_text and isinstance(data, str) and re.fullmatch(r"-?[0-9]{1,18}", data):
            data = int(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.refuse("not_an_integer", "Must be an integer.")
        self.check_range(data)
        return data

    def check_range(self, number: int) -> None:
        """Refuse an integer out of bounds."""
        if not self.minimum <= number <= self.maximum:
            self.refuse("out_of_range", f"The integer must be between {self.minimum:,} and {self.maximum:,}.")


@extend_schema_field({"type": "boolean"})
class StrictBooleanField(StrictField):
    """true or false only; with `takes_text` these two words, for query parameters."""

    def __init__(self, *, takes_text: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.takes_text = takes_text

    def to_internal_value(self, data: Any) -> bool:
        if self.takes_text and data in ("true", "false"):
            return bool(data == "true")
        if not isinstance(data, bool):
            self.refuse("not_a_boolean", "Must be true or false.")
        return data


class StrictChoiceField(StrictField):
    """One of the given words."""

    def __init__(self, *, choices: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = tuple(choices)
        set_override(self, "field", {"type": "string", "enum": list(self.choices)})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.refuse("invalid_choice", f"Must be one of: {', '.join(self.choices)}.")
        return data


@extend_schema_field({"type": "string", "format": "uuid"})
class StrictUuidField(StrictField):
    """A UUID in its usual form."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str) or not _UUID.fullmatch(data):
            self.refuse("not_a_uuid", "Must be a UUID.")
        return UUID(data)


@extend_schema_field({"type": "string", "format": "date-time"})
class StrictDateTimeField(StrictField):
    """A date and time with offset, at most a day after the request with `is_past` and not after it with `is_over`."""

    def __init__(self, *, is_past: bool = False, is_over: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.is_past, self.is_over = is_past, is_over

    def to_internal_value(self, data: Any) -> datetime:
        # ASCII without NUL only: Django's pattern accepts the digits of every script.
        is_plain = isinstance(data, str) and data.isascii() and "\x00" not in data
        try:
            moment = parse_datetime(data) if is_plain else None
        except ValueError:
            moment = None
        if moment is None:
            self.refuse(
                "not_a_time", "Must be an ISO 8601 date and time with a UTC offset, such as 2026-05-04T09:30:00Z."
            )
        if moment.tzinfo is None:
            self.refuse("no_offset", "The time must have a UTC offset, such as Z or +02:00.")
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            self.refuse("not_a_time", "The time is outside the years 1 to 9999.")
        if self.is_past and moment > self.context["now"] + AHEAD_MAX:
            self.refuse("too_far_ahead", "The time is more than a day ahead.")
        if self.is_over and moment > self.context["now"]:
            self.refuse("in_the_future", "The time is in the future.")
        return moment


class RuleCheckedField(StrictField):
    """A value checked by a rule of a `services` module, whose errors have `code` and `detail`."""

    def __init__(self, *, rule: Callable[[Any], Any], shape: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rule = rule
        set_override(self, "field", shape)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return self.rule(data)
        except ValueError as error:
            self.refuse(getattr(error, "code", "invalid"), getattr(error, "detail", "The value cannot be used."))
