"""Validation with a cached serializer gives the same result as with a new one."""

from threading import Thread
from typing import Any

import pytest
from rest_framework import serializers

from memory_platform.rest.fields import StrictIntegerField, StrictListField, StrictTextField
from memory_platform.rest.serializers import StrictSerializer, flat_errors, validate_input


class _PlaceInput(StrictSerializer):
    town = StrictTextField(max_length=5)


class _TripInput(StrictSerializer):
    days = StrictIntegerField(minimum=1, maximum=9, required=False, default=3)
    places = _PlaceInput(many=True, required=False, default=list)
    tags = StrictListField(child=StrictTextField(), required=False, default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {**attrs, "seen_by": self.context["by"]}


def test_each_input_has_its_own_values_defaults_and_context() -> None:
    first = validate_input(_TripInput, {"days": 5, "places": [{"town": "Rome"}], "tags": ["a"]}, {"by": "one"})
    second = validate_input(_TripInput, {}, {"by": "two"})
    assert first == {"days": 5, "places": [{"town": "Rome"}], "tags": ["a"], "seen_by": "one"}
    assert second == {"days": 3, "places": [], "tags": [], "seen_by": "two"}


@pytest.mark.parametrize("data", [None, [], {"days": 0}, {"unknown": 1}, {"places": [{"town": "Cologne"}, {}]}])
def test_errors_are_those_of_a_new_serializer(data: Any) -> None:
    validate_input(_TripInput, {}, {"by": "one"})
    with pytest.raises(serializers.ValidationError) as error:
        validate_input(_TripInput, data, {"by": "two"})
    new = _TripInput(data=data, context={"by": "two"})
    assert not new.is_valid()
    assert flat_errors(error.value.detail) == flat_errors(new.errors)
    assert validate_input(_TripInput, {}, {"by": "three"})["seen_by"] == "three"


def test_threads_do_not_share_a_serializer() -> None:
    seen: list[str] = []

    class _Nested(_TripInput):
        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            if self.context["by"] == "outer":
                inner = Thread(target=lambda: seen.append(validate_input(_Nested, {}, {"by": "inner"})["seen_by"]))
                inner.start()
                inner.join()
            return super().validate(attrs)

    assert validate_input(_Nested, {}, {"by": "outer"})["seen_by"] == "outer"
    assert seen == ["inner"]
