"""The base class of the console's forms: errors of numbers name unit and limits."""

from collections.abc import Mapping
from typing import ClassVar

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from memory_platform.web.limits import Limit, number_requirement_text, validator_limits


class PlatformForm(forms.Form):
    """A form with readable errors for numbers and long texts."""

    #: The units of numbers by the name of their field.
    units: ClassVar[Mapping[str, str]] = {}

    def unit_of(self, name: str) -> str:
        return self.units.get(name, "")

    def full_clean(self) -> None:
        """Set the error messages, late enough for forms that create fields, then validate."""
        for name, field in self.fields.items():
            if isinstance(field, forms.IntegerField):
                field.error_messages |= _about_number(field, self.unit_of(name))
            elif isinstance(field, forms.CharField) and field.max_length:
                field.error_messages["max_length"] = f"At most {field.max_length:,} characters; it has %(show_value)s."
        super().full_clean()


def _about_number(field: forms.IntegerField, unit: str) -> dict[str, str]:
    """Return the error messages of a number. Those of limits are format strings, so a % is doubled."""
    is_whole = not isinstance(field, forms.FloatField)  # a subclass of IntegerField
    text = number_requirement_text(*validator_limits(field.validators), is_whole=is_whole, unit=unit)
    return {"invalid": text} | dict.fromkeys(("min_value", "max_value"), text.replace("%", "%%"))


def apply_column_limits(field: forms.Field, least: Limit, most: Limit) -> None:
    """Limit a number field to what its column accepts, as Django does only in model forms."""
    if isinstance(field, forms.IntegerField):
        field.validators = [MinValueValidator(least), MaxValueValidator(most)]
        field.widget.attrs |= {"min": least, "max": most}
