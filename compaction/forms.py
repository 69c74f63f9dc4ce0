"""What operators type about sessions and compaction, checked field by field before an action sees it."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from compaction.actions.compactions import REASON_CHARACTERS_MAX
from compaction.browsing import SessionFilter
from compaction.models import Compaction
from compaction.models.compactions import PROMPT_CHARACTERS_MAX
from compaction.models.sessions import MODEL_CHARACTERS_MAX, WINDOW_TOKENS_MAX, WINDOW_TOKENS_MIN
from compaction.review_queue import ORDERS
from context.policy_fields import SHOWN_AS, policy_field, step_of, stored_value, typed_value
from context.profile_form import FieldView
from context.services.compaction_policy import CompactionPolicy
from memories.forms import PartitionField
from memory_platform.plain_forms import PlainForm

SEARCH_CHARACTERS_MAX = 200
PRICE_MAX = 10_000
#: What the price field begins with; any unit of money will do.
PRICE_EXAMPLE = 2.5


class SessionFilterForm(PlainForm):
    """How the list of sessions is narrowed; everything is optional and stands in the address."""

    units: ClassVar[Mapping[str, str]] = {"least": "%"}
    STATES = [("", "Open"), ("over", "Over their warning"), ("closed", "Closed"), ("all", "All")]

    partition = PartitionField()
    state = forms.ChoiceField(required=False, choices=STATES)
    least = forms.IntegerField(label="Least pressure", required=False, min_value=0, max_value=1000)

    def wanted(self) -> SessionFilter:
        """The valid fields."""
        fields = self.cleaned_data
        return SessionFilter(fields["partition"], fields["state"], (fields["least"] or 0) / 100)


class TimelineForm(PlainForm):
    """Which part of a session is shown: the page that ends before a sequence, the one around a sequence, or finds."""

    before = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    at = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    q = forms.CharField(label="Search", required=False, max_length=SEARCH_CHARACTERS_MAX)


class SimulationForm(PlainForm):
    """The numbers of a policy to play a session through with, as a budget profile's page takes them."""

    NAMES = (
        "sleep_threshold",
        "emergency_threshold",
        "target",
        "preserve_messages",
        "preserve_share",
        "mask_over_bytes",
        "summary_share",
        "idle_minutes",
        "has_scheduled",
        "has_emergency",
        "has_masking",
        "has_summaries",
    )

    units: ClassVar[Mapping[str, str]] = {"window": "tokens", "price": "per million"}
    window = forms.IntegerField(label="Window", min_value=WINDOW_TOKENS_MIN, max_value=WINDOW_TOKENS_MAX)
    price = forms.FloatField(label="Price of a million tokens", min_value=0, max_value=PRICE_MAX)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= {name: policy_field(name) for name in self.NAMES}

    def unit_of(self, name: str) -> str:
        return self.units[name] if name in self.units else SHOWN_AS[name][1]

    def numbers(self) -> dict[str, Any]:
        """The valid numbers as a policy holds them."""
        return {name: stored_value(name, self.cleaned_data[name]) for name in self.NAMES}

    def views(self) -> list[FieldView]:
        """Every field with its unit."""
        steps = {"window": "1", "price": "any"} | {name: step_of(name) for name in self.NAMES}
        return [FieldView(self[name], self.unit_of(name), step, "") for name, step in steps.items()]


def typed_simulation(policy: CompactionPolicy, window: int) -> dict[str, Any]:
    """A policy as the form holds it."""
    numbers = {name: typed_value(name, getattr(policy, name)) for name in SimulationForm.NAMES}
    return {"window": window, "price": PRICE_EXAMPLE, **numbers}


class SummaryTextForm(PlainForm):
    """The text of a summary; `edit_version` is the one its editor saw."""

    edit_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    text = forms.CharField(strip=False)

    def clean_text(self) -> str:
        """Browsers send line ends as CR LF whatever the text had."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")


class ReasonForm(PlainForm):
    """Why something is refused; `edit_version` is that of the text that was looked at, where one was."""

    reason = forms.CharField(max_length=REASON_CHARACTERS_MAX)
    edit_version = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)


class OptionalReasonForm(ReasonForm):
    """Why something is approved or undone, where somebody says so."""

    reason = forms.CharField(required=False, max_length=REASON_CHARACTERS_MAX)


class AppendForm(PlainForm):
    """Seeing which text facts are appended to it."""

    edit_version = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)


class AppendedForm(PlainForm):
    """How many statements were appended last, and the text's version since."""

    statements = forms.IntegerField(min_value=1, max_value=1_000)
    edit_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)


class SeenForm(PlainForm):
    """What somebody has on the screen: a compaction's state, its text's version, and whether a run was under way."""

    state = forms.ChoiceField(choices=Compaction.State)
    edit_version = forms.IntegerField(min_value=0, max_value=2**31 - 1)
    is_running = forms.BooleanField(required=False)


class ReviewPlaceForm(PlainForm):
    """What stands in a review's address: the order of the queue, the first original shown, what was decided last."""

    order = forms.ChoiceField(required=False, choices=ORDERS)
    last = forms.UUIDField(required=False)


class RegenerateForm(PlainForm):
    """What is to be different about a summary that is made anew; empty is the same as before."""

    model = forms.CharField(required=False, max_length=MODEL_CHARACTERS_MAX)
    prompt_version = forms.IntegerField(label="Prompt", required=False, min_value=1, max_value=2**31 - 1)


class PromptForm(PlainForm):
    """A tenant's prompt; `edited_from` is the version its editor saw, `session` the one it is tried on."""

    edited_from = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    text = forms.CharField(strip=False, max_length=PROMPT_CHARACTERS_MAX)
    session = forms.UUIDField(required=False)

    def clean_text(self) -> str:
        """Browsers send line ends as CR LF whatever the text had."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")
