"""The form for the settings of a simulation."""

from typing import Any

from django import forms

from compaction.models.sessions import WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from compaction.services.simulation.simulator import SIMULATED_FIELDS
from context.profiles.forms import ProfileFieldView
from context.profiles.policy_fields import policy_field, policy_field_step, policy_form_value, policy_stored_value
from context.services.profiles.compaction_policy import POLICY_FIELDS, CompactionPolicy
from memory_platform.web.forms import PlatformForm

_PRICE_MAX = 10_000
#: Initial value of the price field, in any currency.
PRICE_EXAMPLE = 2.5


class SimulationForm(PlatformForm):
    """The settings of a policy for a simulation, in the units of a budget profile's page."""

    units = {"window": "tokens", "price": "in any currency"}
    units |= {name: POLICY_FIELDS[name].unit for name in SIMULATED_FIELDS}
    window = forms.IntegerField(label="Window", min_value=WINDOW_TOKENS_MIN, max_value=WINDOW_TOKENS_MAX)
    price = forms.FloatField(label="Price per million tokens", min_value=0, max_value=_PRICE_MAX)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= {name: policy_field(name) for name in SIMULATED_FIELDS}

    def numbers(self) -> dict[str, Any]:
        """Return the valid numbers in the units of a policy."""
        return {name: policy_stored_value(name, self.cleaned_data[name]) for name in SIMULATED_FIELDS}

    def views(self) -> list[ProfileFieldView]:
        """Return every field with its unit."""
        steps = {"window": "1", "price": "any"} | {name: policy_field_step(name) for name in SIMULATED_FIELDS}
        return [ProfileFieldView(self[name], self.units[name], step, "") for name, step in steps.items()]


def simulation_form_values(policy: CompactionPolicy, window: int) -> dict[str, Any]:
    """Return the form values of a policy."""
    numbers = {name: policy_form_value(name, getattr(policy, name)) for name in SIMULATED_FIELDS}
    return {"window": window, "price": PRICE_EXAMPLE, **numbers}
