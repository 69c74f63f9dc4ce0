"""Filters of the overviews: ages, and the number of components that are ready."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import template
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def age(value: datetime) -> str:
    """Return the time since `value` in its largest unit: 3 days."""
    elapsed = timesince(value, depth=1)
    return "less than a minute" if elapsed.startswith("0") else elapsed


@register.filter
def ready_count(components: Iterable[Any]) -> int:
    """Return how many of the components are ready."""
    return sum(component.state.is_ok for component in components)
