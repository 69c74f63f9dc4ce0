"""The form field of metadata: whatever is typed is stored, or refused beside the field and shown again as typed."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

from memories.services.store.content import ContentError, check_metadata


class MetadataField(forms.JSONField):
    """A JSON object that a memory can carry; nothing typed is an empty one."""

    def to_python(self, value: Any) -> Any:
        """The object. The parser gives up on deep nesting and on very long numbers with errors of its own."""
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
        """What was typed, letter by letter: parsed and written again it may be no text of a page."""
        if self.disabled:
            return initial
        return None if data is None else InvalidJSONInput(data)
