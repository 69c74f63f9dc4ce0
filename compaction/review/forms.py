"""Forms of compaction review."""

from django import forms

from compaction.models import Compaction
from compaction.models.sessions import MODEL_CHARACTERS_MAX
from compaction.review.queue import ORDERS
from compaction.services.review.editing import REVIEW_REASON_CHARACTERS_MAX
from memory_platform.web.forms import PlatformForm


class SummaryTextForm(PlatformForm):
    """The text of a summary; `edit_version` is the one its editor saw."""

    edit_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    text = forms.CharField(strip=False)

    def clean_text(self) -> str:
        """Browsers send line ends as CR LF whatever the text had."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")


class ReasonForm(PlatformForm):
    """Why something is refused; `edit_version` is that of the text that was looked at, where one was."""

    reason = forms.CharField(max_length=REVIEW_REASON_CHARACTERS_MAX)
    edit_version = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)


class OptionalReasonForm(ReasonForm):
    """Why something is approved or undone, where somebody says so."""

    reason = forms.CharField(required=False, max_length=REVIEW_REASON_CHARACTERS_MAX)


class AppendFactsForm(PlatformForm):
    """Seeing which text facts are appended to it."""

    edit_version = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)


class WithdrawAppendedForm(PlatformForm):
    """How many statements were appended last, and the text's version since."""

    statements = forms.IntegerField(min_value=1, max_value=1_000)
    edit_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)


class ReviewStateForm(PlatformForm):
    """What somebody has on the screen: a compaction's state, its text's version, and whether a run was under way."""

    state = forms.ChoiceField(choices=Compaction.State)
    edit_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    is_running = forms.BooleanField(required=False)


class ReviewPlaceForm(PlatformForm):
    """What stands in a review's address: the order of the queue, the first original shown, what was decided last."""

    order = forms.ChoiceField(required=False, choices=ORDERS)
    last = forms.UUIDField(required=False)


class RegenerateForm(PlatformForm):
    """What is to be different about a summary that is made anew; empty is the same as before."""

    model = forms.CharField(required=False, max_length=MODEL_CHARACTERS_MAX)
    prompt_version = forms.IntegerField(label="Prompt", required=False, min_value=1, max_value=2**31 - 1)
