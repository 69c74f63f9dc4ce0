"""The compaction policy of a budget profile in forms and on pages; shares are in percent."""

from collections.abc import Mapping
from typing import Any

from django import forms

from context.services.profiles.compaction_policy import (
    DEFAULT_POLICY,
    MODEL_NAME_CHARACTERS_MAX,
    POLICY_FIELDS,
    CompactionPolicy,
)
from context.services.profiles.fields import ProfileField

PREFIX = "compaction_"
ON, OFF = "on", "off"
GROUPS = {
    "Thresholds": (
        "sleep_threshold",
        "idle_minutes",
        "emergency_threshold",
        "warning_threshold",
        "target",
        "has_scheduled",
        "has_emergency",
    ),
    "Preserved content": (
        "preserve_messages",
        "preserve_share",
        "has_masking",
        "mask_over_bytes",
        "has_summaries",
        "summary_share",
        "has_journal",
    ),
    "Summaries": ("decision", "retention_floor", "compaction_model"),
    "Roll-ups": ("has_roll_ups", "roll_up_compact_tokens", "roll_up_detailed_tokens"),
}


def is_share(name: str) -> bool:
    """Return whether a number is stored as 0..1 and typed in percent."""
    return isinstance(POLICY_FIELDS[name].default, float)


def choice_or_number_field(described: ProfileField) -> forms.Field:
    """Return the form field of a choice or of a number within its bounds."""
    if described.choices:
        return forms.ChoiceField(label=described.label, choices=list(described.choices.items()))
    kind = forms.IntegerField if described.is_whole else forms.FloatField
    bounds = described.shape
    return kind(label=described.label, min_value=bounds["minimum"], max_value=bounds["maximum"])


def policy_field(name: str) -> forms.Field:
    """Return the form field of a number. A switch is a choice: one that is absent from a URL is not switched off."""
    field = POLICY_FIELDS[name]
    if field.bounds and is_share(name):
        least, most = (round(100 * bound, 6) for bound in field.bounds)
        return forms.FloatField(label=field.label, min_value=least, max_value=most)
    if isinstance(field.default, bool):
        return forms.ChoiceField(label=field.label, choices=[(ON, "on"), (OFF, "off")])
    if field.default == "":
        return forms.CharField(label=field.label, required=False, max_length=MODEL_NAME_CHARACTERS_MAX)
    return choice_or_number_field(field)


def policy_field_step(name: str) -> str:
    """Return the step of a number's field; "" for a text or a choice."""
    return "any" if is_share(name) else POLICY_FIELDS[name].input_step


def policy_form_values(policy: CompactionPolicy) -> dict[str, Any]:
    """Return a policy as its form contains it."""
    return {PREFIX + name: policy_form_value(name, value) for name, value in policy.as_record().items()}


def policy_form_value(name: str, value: Any) -> Any:
    """Return a number as its field contains it."""
    if isinstance(value, bool):
        return ON if value else OFF
    return f"{100 * value:.6g}" if is_share(name) else value


def policy_overrides(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid fields in stored form: only values that differ from the defaults."""
    chosen = {name: policy_stored_value(name, cleaned[PREFIX + name]) for name in POLICY_FIELDS}
    return {name: value for name, value in chosen.items() if value != getattr(DEFAULT_POLICY, name)}


def policy_stored_value(name: str, value: Any) -> Any:
    """Return the valid value of a field as a policy contains it."""
    if isinstance(POLICY_FIELDS[name].default, bool):
        return value == ON
    return round(value / 100, 6) if is_share(name) else value


def policy_value_text(name: str, value: Any) -> str:
    """Return a number with its unit."""
    field = POLICY_FIELDS[name]
    if field.choices:
        return field.choices.get(value, value)
    if name == "compaction_model":
        return value or "the session's own"
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{f'{value:,}' if is_count else policy_form_value(name, value)} {field.unit}".strip()
