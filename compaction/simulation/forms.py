"""The form of a simulation."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from compaction.models.sessions import WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from context.profiles.budget_fields import ProfileFieldView
from context.profiles.policy_fields import (
    POLICY_FIELD_TEXTS,
    policy_field,
    policy_field_step,
    policy_form_value,
    policy_stored_value,
)
from context.services.profiles.compaction_policy import CompactionPolicy
from memory_platform.web.forms import PlatformForm

_PRICE_MAX = 10_000
#: What the price field begins with; any unit of money will do.
PRICE_EXAMPLE = 2.5


class SimulationForm(PlatformForm):
    """The numbers of a policy to play a session through with, as a budget profile's page takes them."""

    NAMES = (
        "sleep_threshold",
        "emergency_threshold",
        "target",
        "preserve_messages",
        "preserve_share",
        "mask_over_bytes",
        "summary_share",
        "idle_minutes",
        "has_scheduled",
        "has_emergency",
        "has_masking",
        "has_summaries",
    )

    units: ClassVar[Mapping[str, str]] = {"window": "tokens", "price": "per million"}
    window = forms.IntegerField(label="Window", min_value=WINDOW_TOKENS_MIN, max_value=WINDOW_TOKENS_MAX)
    price = forms.FloatField(label="Price of a million tokens", min_value=0, max_value=_PRICE_MAX)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= {name: policy_field(name) for name in self.NAMES}

    def unit_of(self, name: str) -> str:
        return self.units[name] if name in self.units else POLICY_FIELD_TEXTS[name][1]

    def numbers(self) -> dict[str, Any]:
        """The valid numbers as a policy holds them."""
        return {name: policy_stored_value(name, self.cleaned_data[name]) for name in self.NAMES}

    def views(self) -> list[ProfileFieldView]:
        """Every field with its unit."""
        steps = {"window": "1", "price": "any"} | {name: policy_field_step(name) for name in self.NAMES}
        return [ProfileFieldView(self[name], self.unit_of(name), step, "") for name, step in steps.items()]


def simulation_form_values(policy: CompactionPolicy, window: int) -> dict[str, Any]:
    """A policy as the form holds it."""
    numbers = {name: policy_form_value(name, getattr(policy, name)) for name in SimulationForm.NAMES}
    return {"window": window, "price": PRICE_EXAMPLE, **numbers}
