"""What operators type into the frame."""

from django import forms

from memory_platform.console.activity import SPANS
from memory_platform.console.jobs import JOB_KINDS, JOB_STATES
from memory_platform.web.forms import PlatformForm

_TEXT_CHARACTERS_MAX = 200


class SearchForm(PlatformForm):
    """A text to look up anywhere."""

    q = forms.CharField(label="Text", required=False, max_length=_TEXT_CHARACTERS_MAX)


class RangeForm(PlatformForm):
    """How far back the curves of the overview reach."""

    range = forms.ChoiceField(required=False, choices=[(span.name, span.label) for span in SPANS])


class JobFilterForm(PlatformForm):
    """How the list of background work is narrowed."""

    kind = forms.ChoiceField(required=False, choices=JOB_KINDS)
    state = forms.ChoiceField(required=False, choices=JOB_STATES)
