"""How the overviews tell how long something has waited, and how many parts are there."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import template
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def age(value: datetime) -> str:
    """How long ago, in its largest unit: 3 days."""
    told = timesince(value, depth=1)
    return "less than a minute" if told.startswith("0") else told


@register.filter
def ready_count(parts: Iterable[Any]) -> int:
    """How many of the parts are there."""
    return sum(part.state.is_ok for part in parts)
