"""What operators type into the frame."""

from django import forms

TEXT_CHARACTERS_MAX = 200


class SearchForm(forms.Form):
    """A text to look up anywhere."""

    q = forms.CharField(label="Text", required=False, max_length=TEXT_CHARACTERS_MAX)
