"""Forms of alert rules and destinations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField

from compaction.alerts.actions import RuleSetting
from compaction.alerts.channels import address_error, is_mail_configured
from compaction.models import AlertDestination, AlertRule
from compaction.models.alerts import ADDRESS_CHARACTERS_MAX
from compaction.services.alerts.rules import RULE_KINDS, RuleKind, state_of_rules
from memory_platform.web.forms import PlatformForm


@dataclass(frozen=True)
class RuleFields:
    """A kind of rule with its two form fields: whether it is on, and its threshold."""

    kind: RuleKind
    is_enabled: BoundField
    threshold: BoundField

    @property
    def threshold_text(self) -> str:
        """The threshold with its unit: 1 pair."""
        return self.kind.written(self.threshold.value())


class AlertRulesForm(PlatformForm):
    """All rules of a tenant: whether each is on, and its threshold."""

    #: The state of the rules that the form shows.
    replaces = forms.CharField(max_length=2_000)
    units = {f"{kind.name}_threshold": kind.unit for kind in RULE_KINDS.values()}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in RULE_KINDS.values():
            self.fields[kind.name] = forms.BooleanField(required=False)
            self.fields[f"{kind.name}_threshold"] = forms.IntegerField(
                min_value=1, max_value=kind.threshold_max, required=kind.has_threshold
            )

    @staticmethod
    def initial_of(rules: Sequence[AlertRule]) -> dict[str, Any]:
        """Return the initial values for the rules of all kinds."""
        values: dict[str, Any] = {"replaces": state_of_rules(rules)}
        for rule in rules:
            values |= {rule.kind: rule.is_enabled, f"{rule.kind}_threshold": rule.threshold}
        return values

    def rows(self) -> Iterator[RuleFields]:
        """Yield the fields of each kind, in the order of the page."""
        for kind in RULE_KINDS.values():
            yield RuleFields(kind, self[kind.name], self[f"{kind.name}_threshold"])

    def changes(self) -> dict[str, Any]:
        """Return the arguments of `set_alert_rules`."""
        values = self.cleaned_data
        settings = {
            kind.name: RuleSetting(values[kind.name], values[f"{kind.name}_threshold"] or kind.threshold)
            for kind in RULE_KINDS.values()
        }
        return {"settings": settings, "replaces": values["replaces"]}


def _first_kind() -> str:
    """Return the kind that a new form selects: e-mail only if it can be sent."""
    return AlertDestination.Kind.EMAIL if is_mail_configured() else AlertDestination.Kind.WEBHOOK


class AlertDestinationForm(PlatformForm):
    """A new destination."""

    kind = forms.ChoiceField(choices=AlertDestination.Kind.choices, initial=_first_kind)
    address = forms.CharField(max_length=ADDRESS_CHARACTERS_MAX)
    sends_closing = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Check the address by its kind."""
        values = super().clean() or {}
        if values.get("address") and (error := address_error(values.get("kind", ""), values["address"])):
            self.add_error("address", error)
        return values
