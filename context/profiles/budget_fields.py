"""The form of a budget profile."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from context.models import BudgetProfile
from context.profiles.forms import ProfileFieldView
from context.profiles.policy_fields import GROUPS as POLICY_GROUPS
from context.profiles.policy_fields import PREFIX as POLICY_PREFIX
from context.profiles.policy_fields import policy_field, policy_field_step, policy_form_values, policy_overrides
from context.services.assembly.section_budgets import BUDGETED_SECTIONS
from context.services.profiles.compaction_policy import POLICY_FIELDS
from context.services.profiles.fields import BUDGET_FIELDS
from memory_platform.web.forms import PlatformForm, apply_column_limits

FIRST_FIELDS = (
    "default_tokens",
    "packer",
    "ordering",
    "minimum_score",
    "include_memories_top_k",
    "include_tenant_memo",
    "include_linked_memories",
    "include_memory_days",
)
LIMIT_FIELDS = {
    "Partition summaries": ("levels", "summary_style"),
    "Pinned memories, candidates, near-duplicates": ("pinned_share", "overfetch_ratio", "near_duplicate_threshold"),
    "Elastic packer": ("elastic_fills_budget", "elastic_target_items", "elastic_min_tokens", "elastic_max_tokens"),
    "Receipts kept": ("receipt_days", "receipt_count"),
}
# The columns that the form takes unchanged; section budgets and levels are entered in another form.
BUDGET_PAGE_FIELDS = (*FIRST_FIELDS, *[name for names in LIMIT_FIELDS.values() for name in names if name != "levels"])
#: The descriptions of fields whose column is entered in another form.
_TYPED_OTHERWISE = {"levels": BUDGET_FIELDS["include_summaries_at"]}
#: The packers, with labels for a narrow list.
PACKER_CHOICES = [("greedy", "greedy: best first"), ("elastic", "elastic: shortens"), ("optimal", "optimal: top sum")]


class BudgetProfileForm(PlatformForm):
    """The settings of a budget profile. A section budget is entered as amount and unit, levels with commas."""

    #: The tabs of the page by name, with their labels.
    tabs = [("context", "Context"), ("limits", "Limits"), ("sessions", "Compaction")]
    UNITS = [("tokens", "tokens"), ("share", "%")]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = forms.fields_for_model(BudgetProfile, fields=BUDGET_PAGE_FIELDS)
        # a row may name a packer that does not exist
        packer: Any = self.fields["packer"]
        packer.choices = PACKER_CHOICES
        for name in BUDGET_PAGE_FIELDS:
            described = BUDGET_FIELDS[name]
            if described.bounds:
                apply_column_limits(self.fields[name], described.least, described.most)
            if described.label:
                self.fields[name].label = described.label
        self.fields |= {POLICY_PREFIX + name: policy_field(name) for name in POLICY_FIELDS}
        self.fields["levels"] = forms.CharField(label=_TYPED_OTHERWISE["levels"].label, required=False, max_length=60)
        for section in BUDGETED_SECTIONS:
            label = f"Space for {section.replace('_', ' ')}"
            self.fields[f"limit_{section}"] = forms.FloatField(label=label, required=False, min_value=0)
            self.fields[f"unit_{section}"] = forms.ChoiceField(choices=self.UNITS, required=False)

    def unit_of(self, name: str) -> str:
        described = BUDGET_FIELDS.get(name) or POLICY_FIELDS.get(name.removeprefix(POLICY_PREFIX))
        return described.unit if described and described.is_amount else ""

    def clean_levels(self) -> list[int]:
        """Return the levels of a text such as `0, 1` as numbers."""
        parts = [part.strip() for part in self.cleaned_data["levels"].split(",") if part.strip()]
        if not all(part.isdecimal() and len(part) < 3 for part in parts):
            raise ValidationError("Enter whole numbers separated by commas, such as 0, 1.", code="invalid")
        return [int(part) for part in parts]

    def changes(self) -> dict[str, Any]:
        """Return the valid fields as the columns of a profile."""
        numbers = {name: self.cleaned_data[name] for name in BUDGET_PAGE_FIELDS}
        limits = {section: limit for section in BUDGETED_SECTIONS if (limit := self._limit(section)) is not None}
        typed_otherwise = {"include_summaries_at": self.cleaned_data["levels"], "sections": limits}
        return numbers | typed_otherwise | {"compaction": policy_overrides(self.cleaned_data)}

    def _limit(self, section: str) -> dict[str, float] | None:
        amount = self.cleaned_data[f"limit_{section}"]
        if amount is None:
            return None
        if self.cleaned_data[f"unit_{section}"] == "share":
            return {"share": round(amount / 100, 6)}
        return {"tokens": round(amount)}

    def as_pairs(self) -> list[tuple[str, Any]]:
        """Return every field as the value of a hidden input; an unchecked box sends nothing."""
        pairs = [(name, self[name].value()) for name in self.fields]
        return [(name, "" if value is None else value) for name, value in pairs if value is not False]

    def first_fields(self) -> list[ProfileFieldView]:
        """Return the fields that are changed most often."""
        return self._views(FIRST_FIELDS)

    def first_tab(self) -> str:
        """Return the tab that is open at first: that of the first invalid field."""
        invalid = next(iter(self.errors), FIRST_FIELDS[0])
        if invalid.startswith(POLICY_PREFIX):
            return "sessions"
        return "context" if invalid in FIRST_FIELDS else "limits"

    def groups(self) -> list[dict[str, Any]]:
        """Return the fields of the tab of limits in groups."""
        return [{"title": title, "fields": self._views(names)} for title, names in LIMIT_FIELDS.items()]

    def policy_groups(self) -> list[dict[str, Any]]:
        """Return the fields of the compaction policy, grouped for display."""
        return [
            {
                "title": title,
                "fields": [
                    ProfileFieldView.of(self[POLICY_PREFIX + name], POLICY_FIELDS[name], policy_field_step(name))
                    for name in names
                ],
            }
            for title, names in POLICY_GROUPS.items()
        ]

    def section_budgets(self) -> list[dict[str, Any]]:
        """Return the label, the amount and the unit of every section's budget."""
        return [
            {
                "label": section.replace("_", " ").capitalize(),
                "amount": self[f"limit_{section}"],
                "unit": self[f"unit_{section}"],
            }
            for section in BUDGETED_SECTIONS
        ]

    def _views(self, names: Iterable[str]) -> list[ProfileFieldView]:
        described = BUDGET_FIELDS | _TYPED_OTHERWISE
        return [ProfileFieldView.of(self[name], described[name]) for name in names]


def budget_profile_form_values(profile: BudgetProfile) -> dict[str, Any]:
    """Return the numbers of a profile as form values."""
    typed = {name: _without_point(getattr(profile, name)) for name in BUDGET_PAGE_FIELDS}
    typed |= policy_form_values(profile.compaction_policy)
    typed["levels"] = ", ".join(map(str, profile.include_summaries_at))
    for section, limit in profile.sections.items():
        unit, amount = next(iter(limit.items()))
        typed |= {f"limit_{section}": f"{amount * 100 if unit == 'share' else amount:g}", f"unit_{section}": unit}
    return typed


def _without_point(value: Any) -> Any:
    """Return a whole number without its decimal point, as the versions show it: 0.0 -> 0; else the value."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def bound_budget_form(typed: Mapping[str, Any] | None, profile: BudgetProfile) -> BudgetProfileForm:
    """Return the form with the submitted values (an absent checkbox is off), else the profile's own numbers."""
    own = budget_profile_form_values(profile)
    if typed is None:
        return BudgetProfileForm(own)
    own = {name: value for name, value in own.items() if not isinstance(value, bool)}
    return BudgetProfileForm(own | {name: typed[name] for name in typed})
