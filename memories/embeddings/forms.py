"""The form that starts a re-embedding."""

from collections.abc import Sequence
from typing import Any, cast

from django import forms

from memories.embeddings.providers import KnownModel
from memory_platform.web.forms import PlatformForm


class ReembeddingForm(PlatformForm):
    """The model to fill, and whether searches switch to it automatically."""

    model = forms.ChoiceField()
    switches_when_filled = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, models: Sequence[KnownModel], **options: Any) -> None:
        super().__init__(*args, **options)
        choices = cast(forms.ChoiceField, self.fields["model"])
        choices.choices = [(model.name, _place_of(model)) for model in models]


def _place_of(model: KnownModel) -> str:
    place = "on this machine" if model.is_local else "over the network"
    return f"{model.name}, dimension {model.dimension}, {place}"
