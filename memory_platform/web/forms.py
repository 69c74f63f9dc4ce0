"""The base class of the console's forms: errors of numbers name unit and limits."""

from collections.abc import Mapping
from typing import ClassVar

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

Limit = float | None


class PlatformForm(forms.Form):
    """A form with readable errors for numbers and long texts."""

    #: The units of numbers by the name of their field.
    units: ClassVar[Mapping[str, str]] = {}
    #: Whether someone else saved in the meantime. The page shows that state, so saving again may replace it.
    is_stale = False

    def unit_of(self, name: str) -> str:
        return self.units.get(name, "")

    def full_clean(self) -> None:
        """Set the error messages, after forms have created their fields, then validate."""
        for name, field in self.fields.items():
            if isinstance(field, forms.IntegerField):
                field.error_messages |= _about_number(field, self.unit_of(name))
            elif isinstance(field, forms.CharField) and field.max_length:
                field.error_messages["max_length"] = f"At most {field.max_length:,} characters; it has %(show_value)s."
        super().full_clean()


def _about_number(field: forms.IntegerField, unit: str) -> dict[str, str]:
    """Return the error messages of a number. Those of limits are format strings, so a % is doubled."""
    is_whole = not isinstance(field, forms.FloatField)  # a subclass of IntegerField
    least = [each.limit_value for each in field.validators if isinstance(each, MinValueValidator)]
    most = [each.limit_value for each in field.validators if isinstance(each, MaxValueValidator)]
    text = number_requirement_text(max(least, default=None), min(most, default=None), is_whole=is_whole, unit=unit)
    return {"invalid": text} | dict.fromkeys(("min_value", "max_value"), text.replace("%", "%%"))


def apply_column_limits(field: forms.Field, least: Limit, most: Limit) -> None:
    """Limit a number field to what its column accepts, as Django does only in model forms."""
    if isinstance(field, forms.IntegerField):
        field.validators = [MinValueValidator(least), MaxValueValidator(most)]
        field.widget.attrs |= {"min": least, "max": most}


def number_requirement_text(least: Limit, most: Limit, *, is_whole: bool, unit: str = "") -> str:
    """Return a sentence: (1, 2000000, tokens) -> A whole number from 1 to 2,000,000 tokens."""
    number = "A whole number" if is_whole else "A number"
    unit = f" {unit}" if unit else ""
    if least is not None and most is not None:
        return f"{number} from {_written(least)} to {_written(most)}{unit}."
    if least is not None:
        return f"{number}, at least {_written(least)}{unit}."
    return f"{number} is required." if most is None else f"{number}, at most {_written(most)}{unit}."


def _written(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.10g}"
