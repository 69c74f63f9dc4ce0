"""The compaction policy of a profile in words."""

from collections.abc import Mapping
from typing import Any

from django import template

from context.profiles.policy_fields import policy_value_text
from context.services.profiles.compaction_policy import POLICY_FIELDS

register = template.Library()


@register.filter
def policy_choices(chosen: Mapping[str, Any]) -> list[str]:
    """Return what a profile chooses other than the defaults, in words."""
    known = [(name, chosen[name]) for name in POLICY_FIELDS if name in chosen]
    return [f"{POLICY_FIELDS[name].label.lower()} {policy_value_text(name, value)}" for name, value in known]
