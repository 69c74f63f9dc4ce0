"""Forms of compaction review."""

from typing import Any

from django import forms

from compaction.models import Compaction
from compaction.models.sessions import MODEL_CHARACTERS_MAX
from compaction.review.queries import ORDERS
from compaction.services.review.edited_statements import REVIEW_REASON_CHARACTERS_MAX
from memories.tenancy.forms import with_unix_line_ends
from memory_platform.web.forms import PlatformForm

_INTEGER_MAX = 2**31 - 1


class EditVersionForm(PlatformForm):
    """The version of the summary's text that the page shows."""

    edit_version = forms.IntegerField(min_value=0, max_value=_INTEGER_MAX)


class SummaryTextForm(EditVersionForm):
    """The text of a summary."""

    text = forms.CharField(strip=False)

    def clean_text(self) -> str:
        return with_unix_line_ends(self.cleaned_data["text"])


class ReasonForm(EditVersionForm):
    """The reason of a rejection."""

    reason = forms.CharField(max_length=REVIEW_REASON_CHARACTERS_MAX)


class RollBackForm(PlatformForm):
    """The optional reason of a roll-back."""

    reason = forms.CharField(required=False, max_length=REVIEW_REASON_CHARACTERS_MAX)


class OptionalReasonForm(EditVersionForm, RollBackForm):
    """The optional reason of an approval."""


class WithdrawAppendedForm(EditVersionForm):
    """The number of appended statements to remove, and the version of the text with them."""

    statements = forms.IntegerField(min_value=1, max_value=1_000)


class SwapStatementForm(EditVersionForm):
    """The numbers of a sentence to remove and of a candidate to add, in the version of the text that has them."""

    remove = forms.IntegerField(required=False, min_value=1, max_value=_INTEGER_MAX)
    add = forms.IntegerField(required=False, min_value=1, max_value=_INTEGER_MAX)

    def clean(self) -> dict[str, Any]:
        """Return the numbers, of which there is at least one."""
        values: dict[str, Any] = super().clean() or {}
        if values.get("remove") is None and values.get("add") is None:
            raise forms.ValidationError("Name a sentence to remove or a candidate to add.", code="required")
        return values


class StrikeFactForm(PlatformForm):
    """The number of a fact of the journal to strike, or to keep."""

    strike = forms.IntegerField(required=False, min_value=1, max_value=_INTEGER_MAX)
    keep = forms.IntegerField(required=False, min_value=1, max_value=_INTEGER_MAX)


class ReviewStateForm(EditVersionForm):
    """The state that a page shows: state, version of the text, and whether a run was open."""

    state = forms.ChoiceField(choices=Compaction.State)
    is_running = forms.BooleanField(required=False)


class ReviewPlaceForm(PlatformForm):
    """The query parameters of a review: the order of the queue and the last decided compaction."""

    order = forms.ChoiceField(required=False, choices=ORDERS)
    last = forms.UUIDField(required=False)


class RegenerateForm(PlatformForm):
    """Model and prompt of a regenerated summary; empty means as before."""

    model = forms.CharField(required=False, max_length=MODEL_CHARACTERS_MAX)
    prompt_version = forms.IntegerField(label="Prompt", required=False, min_value=1, max_value=_INTEGER_MAX)
