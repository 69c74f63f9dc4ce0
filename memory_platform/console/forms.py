"""Forms of the pages that span apps."""

from datetime import datetime
from operator import itemgetter
from typing import Any

from django import forms

from memories.services.tenancy.act_labels import ACT_LABELS, GROUPS, VERBS
from memory_platform.console.jobs import JOB_KINDS, JOB_STATES
from memory_platform.web.forms import PlatformForm
from memory_platform.web.time_ranges import RECENT_RANGE_CHOICES, SPANS, range_start

_TEXT_CHARACTERS_MAX = 200
_LABEL = itemgetter(1)


class EmailForm(PlatformForm):
    """The address to which notices of failed sign-ins are sent."""

    email = forms.EmailField(label="E-mail", required=False, max_length=254)


class CodeForm(PlatformForm):
    """A code of an authenticator app, or a recovery code."""

    code = forms.CharField(label="Code", max_length=40)


class SecondFactorForm(CodeForm):
    """A change of the second factor, which needs the password too."""

    password = forms.CharField(label="Password", max_length=4_096, strip=False)
    setup = forms.CharField(required=False, max_length=1_000, widget=forms.HiddenInput)


class SearchForm(PlatformForm):
    """The text of a global search."""

    q = forms.CharField(label="Text", required=False, max_length=_TEXT_CHARACTERS_MAX)


class RangeForm(PlatformForm):
    """The time range of the charts of the overview."""

    range = forms.ChoiceField(required=False, choices=[(span.name, span.label) for span in SPANS])


class ActFilterForm(PlatformForm):
    """Filters of the list of acts."""

    group = forms.ChoiceField(required=False, choices=[("", "All"), *GROUPS.items()])
    kind = forms.ChoiceField(
        required=False,
        choices=[("", "Any"), *((GROUPS[group], sorted(verbs.items(), key=_LABEL)) for group, verbs in VERBS.items())],
        widget=forms.Select({"class": "form-select"}),
    )
    by = forms.ChoiceField(
        required=False, choices=[("", "Any"), ("operator", "Operators"), ("system", "System"), ("key", "API keys")]
    )
    # saved views contain the former name
    person = forms.CharField(label="Operator", required=False, max_length=150)
    q = forms.CharField(label="Object", required=False, max_length=_TEXT_CHARACTERS_MAX)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)
    range = forms.ChoiceField(required=False, choices=RECENT_RANGE_CHOICES)

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(self.cleaned_data.values())

    def filters(self, now: datetime) -> dict[str, Any]:
        """Return the valid filters as `list_acts` takes them; a range ends now and replaces `after`."""
        fields = self.cleaned_data
        verbs = [fields["kind"]] if fields["kind"] else list(VERBS.get(fields["group"], ACT_LABELS))
        times = {"after": range_start(fields["range"], now) or fields["after"], "before": fields["before"]}
        return {"verbs": verbs, "by": fields["by"], "operator": fields["person"], "text": fields["q"], **times}


class JobFilterForm(PlatformForm):
    """Filters of the list of background jobs."""

    kind = forms.ChoiceField(required=False, choices=JOB_KINDS)
    state = forms.ChoiceField(required=False, choices=JOB_STATES)
