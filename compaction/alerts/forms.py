"""Forms of alert rules and destinations."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from django import forms
from django.forms import BoundField

from compaction.alerts.actions import RuleSetting
from compaction.alerts.channels import address_error
from compaction.models import AlertDestination, AlertRule
from compaction.models.alerts import ADDRESS_CHARACTERS_MAX
from compaction.services.alerts.rules import RULE_KINDS, RuleKind
from memory_platform.web.forms import PlatformForm


class RuleFields(NamedTuple):
    """A kind of rule with its two fields."""

    kind: RuleKind
    is_enabled: BoundField
    threshold: BoundField


class AlertRulesForm(PlatformForm):
    """All rules of a tenant: of each whether it is on, and its threshold."""

    units = {f"{kind.name}_threshold": kind.unit for kind in RULE_KINDS.values()}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in RULE_KINDS.values():
            self.fields[kind.name] = forms.BooleanField(required=False)
            self.fields[f"{kind.name}_threshold"] = forms.IntegerField(
                min_value=1, max_value=kind.threshold_max, required=kind.has_threshold
            )

    @staticmethod
    def initial_of(rules: Iterable[AlertRule]) -> dict[str, Any]:
        """Return the initial values for the rules of all kinds."""
        return {
            name: value
            for rule in rules
            for name, value in ((rule.kind, rule.is_enabled), (f"{rule.kind}_threshold", rule.threshold))
        }

    def rows(self) -> Iterator[RuleFields]:
        """Yield the fields of each kind, in the order of the page."""
        for kind in RULE_KINDS.values():
            yield RuleFields(kind, self[kind.name], self[f"{kind.name}_threshold"])

    def settings(self) -> dict[str, RuleSetting]:
        """Return the argument of `set_alert_rules`."""
        values = self.cleaned_data
        return {
            kind.name: RuleSetting(values[kind.name], values[f"{kind.name}_threshold"] or kind.threshold)
            for kind in RULE_KINDS.values()
        }


class AlertDestinationForm(PlatformForm):
    """A new destination."""

    kind = forms.ChoiceField(choices=AlertDestination.Kind.choices)
    address = forms.CharField(max_length=ADDRESS_CHARACTERS_MAX)
    sends_closing = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Check the address by its kind."""
        values = super().clean() or {}
        if values.get("address") and (error := address_error(values.get("kind", ""), values["address"])):
            self.add_error("address", error)
        return values
