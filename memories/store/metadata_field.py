"""The form field of metadata."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

from memories.services.store.content import ContentError, check_metadata


class MetadataField(forms.JSONField):
    """A JSON object of at most 8 KiB; an empty field is an empty object. Invalid input is shown again as typed."""

    def to_python(self, value: Any) -> Any:
        """Return the object. The parser raises other errors for deep nesting and very long numbers."""
        try:
            found = super().to_python(value)
        except (ValueError, RecursionError) as error:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from error
        if found:
            try:
                check_metadata(found)
            except ContentError as error:
                raise ValidationError(error.detail, code=error.code) from error
        return found

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the input as typed, because its parsed and rewritten form may differ."""
        if self.disabled:
            return initial
        return None if data is None else InvalidJSONInput(data)
