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
    "sleep_threshold": ("Compact when idle from", _WINDOW_SHARE, "A session over it is compacted once it lies idle."),
    "emergency_threshold": ("Compact at once from", _WINDOW_SHARE, "Before the next context is given."),
    "warning_threshold": ("Warn of fullness from", _WINDOW_SHARE, "On pages and in contexts."),
    "target": ("Target of compaction", _WINDOW_SHARE, "Below the first threshold. What compaction aims at."),
    "preserve_messages": ("Newest messages kept", "messages", ""),
    "preserve_share": ("Or the newest in", _WINDOW_SHARE, "Whichever are more stay as they are."),
    "mask_over_bytes": ("Mask tool outputs over", "bytes", "Reversible; the original stays readable."),
    "retention_floor": ("Facts kept at least", "%", "A summary that keeps fewer waits for review."),
    "summary_share": ("A summary takes up to", "% of its messages", ""),
    "idle_minutes": ("A session is idle after", "minutes", ""),
    "decision": ("A new summary", "", ""),
    "has_scheduled": ("Compacting when idle", "", ""),
    "has_emergency": ("Compacting at once", "", ""),
    "has_masking": ("Masking of tool outputs", "", ""),
    "has_journal": ("Journal of lasting facts", "", "What leaves a session is kept as memories."),
    "has_summaries": ("Summaries of sessions", "", "Off: tool outputs are masked, nothing more."),
    "has_roll_ups": ("Hourly summaries of partitions", "", ""),
    "roll_up_compact_tokens": ("Compact summary of a partition", "tokens", ""),
    "roll_up_detailed_tokens": ("Detailed summary of a partition", "tokens", ""),
    "compaction_model": ("Model of summaries", "", "Empty: the session's own."),
}
DECISION_WORDS = {"apply": "applies at once", "review": "waits for review"}
ON, OFF = "on", "off"
GROUPS = {
    "When sessions are compacted": (
        "sleep_threshold",
        "idle_minutes",
        "emergency_threshold",
        "warning_threshold",
        "target",
        "has_scheduled",
        "has_emergency",
    ),
    "What compaction keeps": (
        "preserve_messages",
        "preserve_share",
        "has_masking",
        "mask_over_bytes",
        "has_summaries",
        "summary_share",
        "has_journal",
    ),
    "How summaries are made": ("decision", "retention_floor", "compaction_model"),
    "Roll-ups of partitions": ("has_roll_ups", "roll_up_compact_tokens", "roll_up_detailed_tokens"),
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
