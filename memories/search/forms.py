"""The form that changes the search language of a tenant."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms

from memory_platform.web.forms import PlatformForm


class LanguageForm(PlatformForm):
    """The language that a tenant's memories are searched in."""

    language = forms.ChoiceField()
    #: The language that the page showed.
    replaces = forms.CharField()

    def __init__(self, *args: Any, languages: Iterable[str], **options: Any) -> None:
        super().__init__(*args, **options)
        cast(forms.ChoiceField, self.fields["language"]).choices = [(name, name) for name in languages]
