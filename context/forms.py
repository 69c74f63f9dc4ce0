"""What operators type about contexts and budgets, checked field by field before a conductor or an action sees it."""

from django import forms

from context.models import TOKENS_MAX, TOKENS_MIN, BudgetProfile
from context.results import DEFAULT_RENDER, ContextRequest, Focus
from context.sections import PACKERS
from memories.forms import QUERY_MAX_CHARACTERS, PartitionField

#: A query string of a run; a question may be long, its marks take three characters each.
BEFORE_MAX_CHARACTERS = 20_000
#: A name, and of a draft also the number of its version.
PROFILE_MAX_CHARACTERS = 80
SLIDER_STEP_TOKENS = 50
SLIDER_MAX_TOKENS = 8_000


class PreviewForm(forms.Form):
    """One context to look at; every field is optional and stands in the address.

    `before` is the query string of the run that this one is compared with; `keep` holds on to it.
    """

    STYLES = [("markdown", "Markdown"), ("xml", "XML"), ("json", "JSON")]
    # "stable" keeps the order of an earlier context, which a preview does not have.
    ORDERINGS = [("", "As the profile says")] + [
        choice for choice in BudgetProfile.Ordering.choices if choice[0] != BudgetProfile.Ordering.STABLE
    ]
    PACKERS = [
        ("", "As the profile says"),
        *[choice for choice in BudgetProfile.Packer.choices if choice[0] in PACKERS],
    ]

    query = forms.CharField(label="Question", required=False, max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()
    exact = forms.BooleanField(required=False)
    max_tokens = forms.IntegerField(label="Budget", required=False, min_value=TOKENS_MIN, max_value=TOKENS_MAX)
    profile = forms.CharField(label="Scoring profile", required=False, max_length=PROFILE_MAX_CHARACTERS)
    budget_profile = forms.CharField(required=False, max_length=64)
    packer = forms.ChoiceField(required=False, choices=PACKERS)
    ordering = forms.ChoiceField(label="Order", required=False, choices=ORDERINGS)
    focus_memory = forms.UUIDField(label="Focus on a memory", required=False)
    focus_summary = forms.UUIDField(label="Focus on a summary", required=False)
    as_of = forms.DateTimeField(label="As of", required=False)
    style = forms.ChoiceField(required=False, choices=STYLES)
    model = forms.CharField(required=False, max_length=100)
    before = forms.CharField(required=False, max_length=BEFORE_MAX_CHARACTERS)
    keep = forms.BooleanField(required=False)

    def wish(self) -> ContextRequest:
        """The valid fields as the request of a preview, explained."""
        fields = self.cleaned_data
        return ContextRequest(
            query=fields["query"],
            focus=self._focus(),
            partition=fields["partition"],
            exact=fields["exact"],
            max_tokens=fields["max_tokens"],
            profile=fields["profile"],
            budget_profile=fields["budget_profile"],
            packer=fields["packer"],
            ordering=fields["ordering"],
            as_of=fields["as_of"],
            render=fields["style"] or DEFAULT_RENDER,
            model=fields["model"],
            explain=True,
            preview=True,
        )

    def _focus(self) -> Focus | None:
        memory_id, summary_id = self.cleaned_data["focus_memory"], self.cleaned_data["focus_summary"]
        return Focus(memory_id=memory_id, summary_id=summary_id) if memory_id or summary_id else None

    def has_more(self) -> bool:
        """Whether any of the fields that are folded away is filled."""
        return any(self[name].value() or self[name].errors for name in ("focus_memory", "focus_summary", "as_of"))

    def has_details(self) -> bool:
        """The same for the ones about how the text is written."""
        return any(self[name].value() or self[name].errors for name in ("style", "model", "exact"))


class NewProfileForm(forms.Form):
    """A new budget profile: its name, and whose numbers it begins with."""

    name = forms.RegexField(
        r"^[a-z][a-z0-9_-]*$",
        max_length=64,
        error_messages={"invalid": "A lower-case word of letters, digits, _ and -, such as support-short."},
    )
    based_on = forms.CharField(required=False, max_length=64)


class AssignmentForm(forms.Form):
    """Whom a profile is for: an agent's key, else a partition; an empty one is the whole tenant."""

    profile_name = forms.CharField(label="Profile", max_length=64)
    api_key = forms.CharField(label="Key", required=False, max_length=150)
    partition = PartitionField()


class CompareForm(forms.Form):
    """Two versions to compare, each as `name version`."""

    left = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}$", max_length=80)
    right = forms.RegexField(r"^[a-z][a-z0-9_-]* \d{1,9}$", max_length=80)


class ReceiptFilterForm(forms.Form):
    """How the list of contexts is narrowed; everything is optional and stands in the address."""

    q = forms.CharField(label="Question", required=False, max_length=200)
    partition = PartitionField()
    key = forms.CharField(required=False, max_length=20)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)


class VoteForm(forms.Form):
    """A judgement on a memory."""

    VOTES = [("POSITIVE", "Useful"), ("NEGATIVE", "Not useful"), ("VERY_NEGATIVE", "Wrong or harmful")]

    feedback = forms.ChoiceField(label="Vote", choices=VOTES)
    reason = forms.CharField(required=False, max_length=500)


class BudgetTrialForm(forms.Form):
    """The question on which the effect of a changed budget is shown."""

    query = forms.CharField(required=False, max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()
