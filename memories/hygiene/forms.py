"""Forms of the hygiene lists."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from memories.store.forms import DIGITS_MAX, ROWS_SELECTED_MAX
from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm


class HygieneFilterForm(PlatformForm):
    """The filter and order of a hygiene list; both are optional and in the URL."""

    partition = PartitionField()
    sort = forms.ChoiceField(required=False)

    def __init__(self, data: Any, *, sorts: Iterable[str]) -> None:
        super().__init__(data)
        self.sorts = list(sorts)
        self.fields["sort"] = forms.ChoiceField(required=False, choices=[(name, name) for name in self.sorts])

    def clean_sort(self) -> str:
        return str(self.cleaned_data["sort"] or self.sorts[0])


class RowIdsField(forms.Field):
    """Ids of rows, each once, up to `ROWS_SELECTED_MAX`."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> list[int]:
        texts = list(dict.fromkeys(value or ()))
        if not 0 < len(texts) <= ROWS_SELECTED_MAX:
            raise ValidationError(f"Select 1 to {ROWS_SELECTED_MAX} rows.", code="out_of_range")
        if not all(text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX for text in texts):
            raise ValidationError("Select rows by number.", code="not_a_number")
        return [int(text) for text in texts]


class HygieneActionForm(PlatformForm):
    """An action on rows of a list; `keep` is the selected memory that a merge keeps, if any."""

    action = forms.ChoiceField(choices=[(action, action) for action in ("merge", "archive", "restore", "dismiss")])
    id = RowIdsField()
    keep = forms.UUIDField(required=False)
