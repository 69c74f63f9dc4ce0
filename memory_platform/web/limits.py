"""The numbers that a field accepts, as one sentence for every error."""

from collections.abc import Iterable
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator

Limit = float | None


def number_requirement_text(least: Limit, most: Limit, *, is_whole: bool, unit: str = "") -> str:
    """Return a sentence: (1, 2000000, tokens) -> A whole number from 1 to 2,000,000 tokens."""
    number = "A whole number" if is_whole else "A number"
    unit = f" {unit}" if unit else ""
    if least is not None and most is not None:
        return f"{number} from {_written(least)} to {_written(most)}{unit}."
    if least is not None:
        return f"{number}, at least {_written(least)}{unit}."
    return f"{number} is needed." if most is None else f"{number}, at most {_written(most)}{unit}."


def validator_limits(validators: Iterable[Any]) -> tuple[Limit, Limit]:
    """Return the narrowest limits that the validators set."""
    listed = list(validators)
    least = [each.limit_value for each in listed if isinstance(each, MinValueValidator)]
    most = [each.limit_value for each in listed if isinstance(each, MaxValueValidator)]
    return max(least, default=None), min(most, default=None)


def _written(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.10g}"
