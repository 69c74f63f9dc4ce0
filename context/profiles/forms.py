"""Forms that create, publish, assign and compare profiles."""

from django import forms

from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm

#: A name, and of a draft also the number of its version.
PROFILE_MAX_CHARACTERS = 80


class NewProfileForm(PlatformForm):
    """A new profile of either kind: its name, and whose numbers it begins with."""

    name = forms.RegexField(
        r"^[a-z][a-z0-9_-]*\Z",
        max_length=64,
        error_messages={"invalid": "A lower-case word of letters, digits, _ and -, such as support-short."},
    )
    based_on = forms.CharField(required=False, max_length=80)


class PublishForm(PlatformForm):
    """What publishing a scoring profile takes: the decision, and the version in force that was seen (0: none)."""

    adr_reference = forms.CharField(label="Decision", required=False, max_length=16)
    replaces = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)


class AssignmentForm(PlatformForm):
    """Whom a profile is for: an agent's key, else a partition; an empty one is the whole tenant."""

    profile_name = forms.CharField(label="Profile", max_length=64)
    api_key = forms.CharField(label="Key", required=False, max_length=150)
    partition = PartitionField()


class VersionComparisonForm(PlatformForm):
    """Two versions to compare, each as `name version`."""

    left = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}\Z", max_length=80)
    right = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}\Z", max_length=80)

    def named_versions(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Both, as name and number."""
        left, right = (self.cleaned_data[side].split() for side in ("left", "right"))
        return (left[0], int(left[1])), (right[0], int(right[1]))
