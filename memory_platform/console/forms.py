"""Forms of the pages that span apps."""

from django import forms

from memories.services.tenancy.act_labels import GROUPS
from memory_platform.console.jobs import JOB_KINDS, JOB_STATES
from memory_platform.web.forms import PlatformForm
from memory_platform.web.time_ranges import SPANS

_TEXT_CHARACTERS_MAX = 200


class EmailForm(PlatformForm):
    """Where the owner of an account is told of failed sign-ins."""

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
    by = forms.ChoiceField(
        required=False, choices=[("", "Everyone"), ("operator", "People"), ("system", "Rules"), ("key", "Agents")]
    )


class JobFilterForm(PlatformForm):
    """Filters of the list of background jobs."""

    kind = forms.ChoiceField(required=False, choices=JOB_KINDS)
    state = forms.ChoiceField(required=False, choices=JOB_STATES)
