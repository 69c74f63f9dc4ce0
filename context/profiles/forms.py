"""Forms that create, publish, assign and compare profiles."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from django import forms

from context.profiles.actions.keep_budget import KeepBudgetIn
from context.services.profiles.fields import TOKENS_MAX, TOKENS_MIN, ProfileField
from context.services.profiles.publishing import ARGUMENT_PARTS, TEXT_BOUNDS
from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm

#: Maximum characters of a profile's name, for a draft with the number of its version.
PROFILE_MAX_CHARACTERS = 80
PROFILE_NAME = r"^[a-z][a-z0-9_-]*\Z"
PROFILE_NAME_HINT = "Use lower-case letters, digits, _ and -, such as support-short."


@dataclass(frozen=True)
class ProfileFieldView:
    """A field of a profile with the unit next to its input and the hint below it."""

    bound: forms.BoundField
    unit: str
    step: str
    hint: str

    @classmethod
    def of(cls, bound: forms.BoundField, described: ProfileField, step: str | None = None) -> Self:
        """Return the view of a field with the texts of its description; a text has no unit."""
        shown_step = described.input_step if step is None else step
        return cls(bound, described.unit if shown_step else "", shown_step, described.hint)


def profile_name_field(**options: Any) -> forms.RegexField:
    """Return the field of a new profile's name."""
    return forms.RegexField(PROFILE_NAME, max_length=64, error_messages={"invalid": PROFILE_NAME_HINT}, **options)


class NewProfileForm(PlatformForm):
    """A new profile of either kind: its name, and the profile that it copies."""

    name = profile_name_field()
    based_on = forms.CharField(required=False, max_length=PROFILE_MAX_CHARACTERS)


class RenameProfileForm(PlatformForm):
    """Another name of a budget profile."""

    name = profile_name_field(label="New name")


class PublishForm(PlatformForm):
    """The argument for a published version, a reason, and the active version that was seen (0: none)."""

    #: The fields of the problems that publishing names.
    NAMES: ClassVar = {f"argument.{part}": part for part in ARGUMENT_PARTS}
    HINTS: ClassVar = {
        "context": "What is the problem, and what was measured?",
        "decision": "Which settings change, and why?",
        "consequences": "What gets better, what gets worse, what to watch?",
        "reason": "Required where the version is worse or not clearly better. The audit log shows it.",
    }

    replaces = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, hint in self.HINTS.items():
            label = "Reason to publish anyway" if name == "reason" else None
            self.fields[name] = forms.CharField(required=False, max_length=TEXT_BOUNDS[1], label=label, help_text=hint)

    def texts(self) -> list[forms.BoundField]:
        """Return the fields that a person writes, in order."""
        return [self[name] for name in self.HINTS]

    def values(self) -> dict[str, Any]:
        """Return the submitted values, valid or not, as arguments of the action and of the gate."""
        typed = {name: str(self[name].value() or "") for name in self.HINTS}
        return {"argument": {part: typed[part] for part in ARGUMENT_PARTS}, "reason": typed["reason"]}


class AssignmentForm(PlatformForm):
    """An assignment to an agent's key, else to a partition; an empty one is the whole tenant."""

    profile_name = forms.CharField(label="Profile", max_length=64)
    api_key = forms.CharField(label="Key", required=False, max_length=150)
    partition = PartitionField()
    #: The partition without memories that the operator confirmed.
    confirmed = PartitionField()
    #: The ids of the active assignments that the page showed, or none; absent in the URL of an undo.
    shown = forms.RegexField(r"^(none|\d{1,18}(,\d{1,18})*)\Z", required=False, widget=forms.HiddenInput)

    def clean_shown(self) -> list[int] | None:
        typed = str(self.cleaned_data["shown"])
        return [int(each) for each in typed.split(",") if each != "none"] if typed else None


class AssignmentEndForm(PlatformForm):
    """The end of the assignment of an agent's key, else of a partition."""

    api_key = forms.CharField(required=False, max_length=150)
    partition = PartitionField()
    #: The id of the assignment that the page showed.
    replaces = forms.IntegerField(min_value=1)


class VersionComparisonForm(PlatformForm):
    """Two versions to compare, each as `name version`."""

    left = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}\Z", max_length=PROFILE_MAX_CHARACTERS)
    right = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}\Z", max_length=PROFILE_MAX_CHARACTERS)

    def named_versions(self) -> list[tuple[str, int]]:
        """Return both, as name and number."""
        sides = (self.cleaned_data[side].split() for side in ("left", "right"))
        return [(name, int(version)) for name, version in sides]


class KeepBudgetForm(PlatformForm):
    """A budget in tokens, where it is saved, and the version of the profile that was seen."""

    CHOICES = [
        (KeepBudgetIn.PROFILE, "In the profile"),
        (KeepBudgetIn.NEW_PROFILE, "In a new profile"),
        (KeepBudgetIn.PARTITION, "For this partition"),
    ]

    max_tokens = forms.IntegerField(label="Budget", min_value=TOKENS_MIN, max_value=TOKENS_MAX)
    keep_in = forms.ChoiceField(label="Save", choices=CHOICES)
    new_name = profile_name_field(required=False)
    edited_from = forms.IntegerField(min_value=0)

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if (
            fields.get("keep_in") != KeepBudgetIn.PROFILE
            and not fields.get("new_name")
            and not self.has_error("new_name")
        ):
            self.add_error("new_name", "Enter a name for the new profile.")
        return fields
