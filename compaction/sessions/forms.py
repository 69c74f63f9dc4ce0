"""Filter forms of the session list and of one session."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm

SEARCH_CHARACTERS_MAX = 200


class SessionFilterForm(PlatformForm):
    """The filter of the list of sessions; all fields are optional query parameters."""

    units: ClassVar[Mapping[str, str]] = {"min_pressure": "%"}
    STATES = [("", "Open"), ("over", "Above warning threshold"), ("closed", "Closed"), ("all", "All")]

    partition = PartitionField()
    state = forms.ChoiceField(required=False, choices=STATES)
    min_pressure = forms.IntegerField(label="Minimum pressure", required=False, min_value=0, max_value=1000)

    def filters(self) -> dict[str, Any]:
        """Return the valid fields as arguments of `filtered_sessions`."""
        fields = self.cleaned_data
        return {
            "partition": fields["partition"],
            "state": fields["state"],
            "min_pressure": (fields["min_pressure"] or 0) / 100,
        }


class TimelineForm(PlatformForm):
    """The shown part of a session: the page before a sequence, the one around a sequence, or a search."""

    before = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    at = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    q = forms.CharField(label="Search", required=False, max_length=SEARCH_CHARACTERS_MAX)
