"""The base of the console's forms: what is wrong with a number is said with its unit and its limits."""

from collections.abc import Mapping
from typing import ClassVar

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from memory_platform.web.limits import Limit, number_requirement_text, validator_limits


class PlatformForm(forms.Form):
    """A form whose refusals of numbers and of long texts are plain words."""

    #: The units of numbers by the name of their field.
    units: ClassVar[Mapping[str, str]] = {}

    def unit_of(self, name: str) -> str:
        return self.units.get(name, "")

    def full_clean(self) -> None:
        """Here and not before, as some forms make their fields."""
        for name, field in self.fields.items():
            if isinstance(field, forms.IntegerField):
                field.error_messages |= _about_number(field, self.unit_of(name))
            elif isinstance(field, forms.CharField) and field.max_length:
                field.error_messages["max_length"] = f"At most {field.max_length:,} characters; it has %(show_value)s."
        super().full_clean()


def _about_number(field: forms.IntegerField, unit: str) -> dict[str, str]:
    """`FloatField` is an `IntegerField` as well. What comes with the value is a format, so that a % is doubled."""
    is_whole = not isinstance(field, forms.FloatField)
    said = number_requirement_text(*validator_limits(field.validators), is_whole=is_whole, unit=unit)
    return {"invalid": said} | dict.fromkeys(("min_value", "max_value"), said.replace("%", "%%"))


def apply_column_limits(field: forms.Field, least: Limit, most: Limit) -> None:
    """Have a field of a number take what its column takes, which Django asks for only in forms of whole rows."""
    if isinstance(field, forms.IntegerField):
        field.validators = [MinValueValidator(least), MaxValueValidator(most)]
        field.widget.attrs |= {"min": least, "max": most}
