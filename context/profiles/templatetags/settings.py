"""The numbers of profiles as people read them: with their unit, and lists and rooms in words."""

from collections.abc import Mapping
from typing import Any

from django import template

from memory_platform.web.numerals import with_minus_sign

register = template.Library()

#: One and many of what a number counts, or what stands after it either way.
SETTING_UNITS = {
    "default_tokens": ("token", "tokens"),
    "include_memories_top_k": ("memory", "memories"),
    "overfetch_ratio": ("× budget", "× budget"),
    "pinned_share": ("of the room", "of the room"),
    "near_duplicate_threshold": ("cosine", "cosine"),
    "elastic_target_items": ("item", "items"),
    "elastic_min_tokens": ("token", "tokens"),
    "elastic_max_tokens": ("token", "tokens"),
    "half_life_days": ("day", "days"),
    "half_life_days_by_kind": ("day", "days"),
    "pool_size": ("candidate", "candidates"),
    "neighbour_reach": ("message", "messages"),
    "receipt_days": ("day", "days"),
    "receipt_count": ("receipt", "receipts"),
}

#: What 0 says where it is no amount.
ZEROS = {"pool_size": "as many as the budget asks for", "neighbour_reach": "off", "mmr_diversity": "off"}


@register.filter
def setting_text(value: Any, field: str) -> list[str]:
    """The lines that tell the value of a profile's field: 90 of receipt_days -> 90 days."""
    unit = SETTING_UNITS.get(field.partition(".")[0], ("", ""))
    match value:
        case None:
            return ["–"]
        case bool():
            return ["yes" if value else "no"]
        case Mapping() if field == "half_life_days_by_kind":
            return [f"{kind}: {_counted(days, *unit)}" for kind, days in value.items()] or ["as all others"]
        case Mapping():
            return [f"{_words(section)}: {_room(room)}" for section, room in value.items()] or ["no limits"]
        case 0 if field in ZEROS:
            return [ZEROS[field]]
        case list():
            return [", ".join(map(str, value)) or "none"]
        case int() | float():
            return [_counted(value, *unit)]
    return [_words(str(value))]


def _room(room: Mapping[str, float]) -> str:
    if "share" in room:
        return f"{100 * room['share']:g} %"
    return _counted(room["tokens"], "token", "tokens")


def _counted(value: float, one: str, many: str) -> str:
    number = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return with_minus_sign(f"{number} {one if value == 1 else many}".rstrip())


def _words(name: str) -> str:
    return name.replace("_", " ")
