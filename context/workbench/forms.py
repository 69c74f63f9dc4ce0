"""Forms of the context workbench."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django import forms

from context.models import BudgetProfile
from context.profiles.budget_fields import PACKER_CHOICES
from context.profiles.forms import PROFILE_MAX_CHARACTERS
from context.receipts.results import DEFAULT_RENDER, ContextRequest, Focus
from context.services.profiles.fields import TOKENS_MAX, TOKENS_MIN
from memories.services.store.content import MAX_CONTENT_BYTES
from memories.store.forms import QUERY_ENCODED_MAX, SearchTextField
from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm

#: The query string of a run; a question may be long, and an escaped character takes three.
BEFORE_MAX_CHARACTERS = 20_000
SLIDER_STEP_TOKENS = 50
SLIDER_MAX_TOKENS = 8_000


class PreviewForm(PlatformForm):
    """One context to preview; every field is optional and part of the URL.

    `before` is the query string of the run that this one is compared with, unless `against` says otherwise. Neither
    they nor `directive` change the context.
    """

    AGAINST = [
        ("", "Previous run"),
        ("keep", "This run, kept"),
        ("receipt", "A receipt"),
        ("snapshot", "A snapshot"),
        ("nothing", "Nothing"),
    ]

    STYLES = [("markdown", "Markdown"), ("xml", "XML"), ("json", "JSON")]
    # "stable" keeps the order of an earlier context, which a preview does not have.
    ORDERINGS = [("", "Profile default")] + [
        choice for choice in BudgetProfile.Ordering.choices if choice[0] != BudgetProfile.Ordering.STABLE
    ]
    PACKERS = [("", "Profile default"), *PACKER_CHOICES]
    #: Fields of the same name in a context request.
    SAME = (
        *("query", "exact", "max_tokens", "profile", "budget_profile", "packer", "ordering", "as_of"),
        "model",
    )

    units: ClassVar[Mapping[str, str]] = {"max_tokens": "tokens", "directive": "tokens"}

    query = forms.CharField(label="Question", required=False, max_length=MAX_CONTENT_BYTES)
    partition = PartitionField()
    exact = forms.BooleanField(required=False)
    max_tokens = forms.IntegerField(label="Budget", required=False, min_value=TOKENS_MIN, max_value=TOKENS_MAX)
    profile = forms.CharField(label="Scoring profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    budget_profile = forms.CharField(required=False, max_length=PROFILE_MAX_CHARACTERS)
    packer = forms.ChoiceField(required=False, choices=PACKERS)
    ordering = forms.ChoiceField(label="Ordering", required=False, choices=ORDERINGS)
    focus_memory = forms.CharField(label="Memory focus", required=False, max_length=200)
    focus_summary = forms.UUIDField(label="Summary focus", required=False)
    as_of = forms.DateTimeField(label="As of", required=False)
    style = forms.ChoiceField(required=False, choices=STYLES)
    model = forms.CharField(required=False, max_length=100)
    before = forms.CharField(required=False, max_length=BEFORE_MAX_CHARACTERS)
    directive = forms.IntegerField(label="Directive and messages", required=False, min_value=0, max_value=TOKENS_MAX)
    against = forms.ChoiceField(label="Compare with", required=False, choices=AGAINST)
    receipt = forms.UUIDField(label="Receipt", required=False, error_messages={"invalid": "Not a valid receipt ID."})
    snapshot = forms.CharField(label="Snapshot", required=False, max_length=100)

    def to_request(self) -> ContextRequest:
        """Return the valid fields as the request of an explained preview."""
        fields = self.cleaned_data
        memory_id, summary_id = uuid_or_none(fields["focus_memory"]), fields["focus_summary"]
        return ContextRequest(
            **{name: fields[name] for name in self.SAME},
            partition=fields["partition"] or None,
            focus=Focus(memory_id=memory_id, summary_id=summary_id) if memory_id or summary_id else None,
            render=fields["style"] or DEFAULT_RENDER,
            explain=True,
            preview=True,
        )

    @property
    def searched_focus(self) -> str:
        """Words in place of a memory id; the memory is still to be chosen."""
        text: str = self.cleaned_data["focus_memory"].strip()
        return "" if uuid_or_none(text) else text

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        for name in ("receipt", "snapshot"):
            if fields.get("against") == name and not fields.get(name) and name not in self.errors:
                self.add_error(name, f"Select a {name}.")
        if fields.get("against") == "snapshot" and fields.get("as_of"):
            self.add_error("snapshot", "Compare with a snapshot only at the present time.")
        return fields

    def has_choices(self) -> bool:
        """Whether a field of the collapsed part about the model is filled; a style always is."""
        return self._has_any("model", "directive") or self["style"].value() not in (None, "", DEFAULT_RENDER)

    def has_times(self) -> bool:
        """Whether a field about the focus or the time is filled."""
        return self._has_any("focus_memory", "focus_summary", "as_of", "exact")

    def has_comparison(self) -> bool:
        """Whether a field of the comparison is filled."""
        return self._has_any("against", "receipt", "snapshot")

    def _has_any(self, *names: str) -> bool:
        return any(self[name].value() or self[name].errors for name in names)


def uuid_or_none(text: str) -> UUID | None:
    """Return the UUID in `text`; None if it is none."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


class InclusionBudgetForm(PreviewForm):
    """A preview, and the item whose inclusion budget is requested."""

    item = forms.UUIDField(label="Item", error_messages={"invalid": "Not a valid item ID."})


class ExplanationForm(PreviewForm):
    """A preview, and the memory in question, by its id or by words that find it."""

    memory = forms.CharField(label="Memory", required=False, max_length=200)
    #: The partition to which the memory is moved.
    to = PartitionField()


class SuggestionForm(PlatformForm):
    """The text entered so far in one field of the workbench."""

    focus_memory = forms.CharField(required=False, max_length=200)
    memory = forms.CharField(required=False, max_length=200)
    partition = forms.CharField(required=False, max_length=200)

    @property
    def words(self) -> str:
        """The text of the field that finds a memory."""
        return str(self.cleaned_data["focus_memory"] or self.cleaned_data["memory"])


class SideBySideForm(PreviewForm):
    """One question for two profiles; "" is the assigned profile."""

    left = forms.CharField(label="Left scoring profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    right = forms.CharField(label="Right scoring profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    left_budget = forms.CharField(label="Left budget profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    right_budget = forms.CharField(label="Right budget profile", required=False, max_length=PROFILE_MAX_CHARACTERS)


class BudgetTrialForm(PlatformForm):
    """The question that shows the effect of a changed budget."""

    query = SearchTextField(label="Query", max_length=QUERY_ENCODED_MAX)
    partition = PartitionField()
