"""The compaction policy of a budget profile as people type and read it: labels, units, hints; shares in percent."""

from collections.abc import Mapping
from typing import Any

from django import forms

from context.services.profiles.compaction_policy import (
    BOUNDS,
    DECISION_POLICIES,
    DEFAULT_POLICY,
    MODEL_NAME_CHARACTERS_MAX,
    POLICY_FIELDS,
    CompactionPolicy,
)

PREFIX = "compaction_"
_WINDOW_SHARE = "% of the window"
#: Label, unit and hint of every number.
POLICY_FIELD_TEXTS = {
    "sleep_threshold": ("Idle threshold", _WINDOW_SHARE, "Sessions above it are compacted when idle."),
    "emergency_threshold": ("Emergency threshold", _WINDOW_SHARE, "Compacts before the next context."),
    "warning_threshold": ("Warning threshold", _WINDOW_SHARE, "Shown on pages and in contexts."),
    "target": ("Target", _WINDOW_SHARE, "Pressure after compaction; below the first threshold."),
    "preserve_messages": ("Preserved messages", "messages", ""),
    "preserve_share": ("Preserved share", _WINDOW_SHARE, "The larger of the two applies."),
    "mask_over_bytes": ("Masking threshold", "bytes", "Reversible; the original stays readable."),
    "retention_floor": ("Minimum retention", "%", "Summaries below it wait for review."),
    "summary_share": ("Summary share", "% of its messages", ""),
    "idle_minutes": ("Idle time", "minutes", ""),
    "decision": ("Decision", "", ""),
    "has_scheduled": ("Scheduled compaction", "", ""),
    "has_emergency": ("Emergency compaction", "", ""),
    "has_masking": ("Tool output masking", "", ""),
    "has_journal": ("Journal", "", "Stores lasting facts as memories."),
    "has_summaries": ("Session summaries", "", "Off: only tool outputs are masked."),
    "has_roll_ups": ("Hourly roll-ups", "", ""),
    "roll_up_compact_tokens": ("Compact roll-up", "tokens", ""),
    "roll_up_detailed_tokens": ("Detailed roll-up", "tokens", ""),
    "compaction_model": ("Summary model", "", "Empty: the session's own."),
}
DECISION_WORDS = {"apply": "applies immediately", "review": "waits for review"}
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
    """Whether a number is stored as 0..1 and typed in percent."""
    return isinstance(getattr(DEFAULT_POLICY, name), float)


def policy_field(name: str) -> forms.Field:
    """The form field of a number. Switches are choices, so that one left out of an address is not one switched off."""
    label = POLICY_FIELD_TEXTS[name][0]
    if name in BOUNDS:
        least, most = BOUNDS[name]
        if is_share(name):
            return forms.FloatField(label=label, min_value=round(100 * least, 6), max_value=round(100 * most, 6))
        return forms.IntegerField(label=label, min_value=int(least), max_value=int(most))
    if name == "decision":
        return forms.ChoiceField(label=label, choices=[(each, DECISION_WORDS[each]) for each in DECISION_POLICIES])
    if isinstance(getattr(DEFAULT_POLICY, name), bool):
        return forms.ChoiceField(label=label, choices=[(ON, "on"), (OFF, "off")])
    return forms.CharField(label=label, required=False, max_length=MODEL_NAME_CHARACTERS_MAX)


def policy_fields() -> dict[str, forms.Field]:
    """Every field by its name in the form."""
    return {PREFIX + name: policy_field(name) for name in POLICY_FIELDS}


def policy_field_step(name: str) -> str:
    """The step of a number's field; "" where it is none."""
    if name not in BOUNDS:
        return ""
    return "any" if is_share(name) else "1"


def policy_form_values(policy: CompactionPolicy) -> dict[str, Any]:
    """A policy as its form holds it."""
    return {PREFIX + name: policy_form_value(name, value) for name, value in policy.as_record().items()}


def policy_form_value(name: str, value: Any) -> Any:
    """A number as its field holds it."""
    if isinstance(value, bool):
        return ON if value else OFF
    return f"{100 * value:.6g}" if is_share(name) else value


def policy_overrides(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """The valid fields as a profile stores them: only what differs from the defaults."""
    chosen = {name: policy_stored_value(name, cleaned[PREFIX + name]) for name in POLICY_FIELDS}
    return {name: value for name, value in chosen.items() if value != getattr(DEFAULT_POLICY, name)}


def policy_stored_value(name: str, value: Any) -> Any:
    """The valid value of a field as a policy holds it."""
    if isinstance(getattr(DEFAULT_POLICY, name), bool):
        return value == ON
    return round(value / 100, 6) if is_share(name) else value


def policy_value_text(name: str, value: Any) -> str:
    """A number with its unit, to read."""
    if name == "decision":
        return DECISION_WORDS.get(value, value)
    if name == "compaction_model":
        return value or "the session's own"
    unit = POLICY_FIELD_TEXTS[name][1]
    number = (
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(policy_form_value(name, value))
    )
    return f"{number} {unit}".strip()


def policy_label(name: str) -> str:
    """What a number is called."""
    return POLICY_FIELD_TEXTS[name][0]
