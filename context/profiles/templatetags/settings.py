"""The settings of profiles as text: numbers with their unit; lists, section budgets and policies in words."""

from collections.abc import Mapping
from typing import Any

from django import template

from context.profiles.policy_fields import policy_value_text
from context.profiles.scoring_fields import weight_text
from context.profiles.versions import ALL_PROFILE_FIELDS
from context.services.profiles.compaction_policy import POLICY_FIELDS
from context.services.profiles.fields import ProfileField
from memory_platform.web.numerals import with_minus_sign

register = template.Library()


@register.filter
def policy_choices(chosen: Mapping[str, Any]) -> list[str]:
    """Return in words how a profile's compaction policy differs from the defaults."""
    known = [(name, chosen[name]) for name in POLICY_FIELDS if name in chosen]
    return [f"{POLICY_FIELDS[name].label.lower()} {policy_value_text(name, value)}" for name, value in known]


@register.filter
def setting_text(value: Any, field: str) -> list[str]:
    """Return the lines that show the value of a profile's field: 90 of receipt_days -> 90 days."""
    described = ALL_PROFILE_FIELDS.get(field.partition(".")[0], ProfileField(None))
    unit = described.units
    match value:
        case None:
            return ["–"]
        case bool():
            return ["yes" if value else "no"]
        case Mapping() if field == "half_life_days_by_kind":
            return [f"{kind}: {_counted(days, *unit)}" for kind, days in value.items()] or ["as all others"]
        case Mapping():
            return [f"{section.replace('_', ' ')}: {_limit(limit)}" for section, limit in value.items()] or [
                "no limits"
            ]
        case 0 if described.zero_text:
            return [described.zero_text]
        case list():
            return [", ".join(map(str, value)) or "none"]
        case int() | float() if "weights." in field:
            return [weight_text(value)]
        case int() | float():
            return [_counted(value, *unit)]
    return [str(value).replace("_", " ")]


def _limit(limit: Mapping[str, float]) -> str:
    if "share" in limit:
        return f"{100 * limit['share']:g} %"
    return _counted(limit["tokens"], "token", "tokens")


def _counted(value: float, one: str, many: str) -> str:
    number = f"{value:,}" if isinstance(value, int) else f"{value:.8g}"  # as many digits as in forms
    return with_minus_sign(f"{number} {one if value == 1 else many}".rstrip())
