"""What operators type about contexts and budgets, checked field by field before a conductor or an action sees it."""

from typing import Any

from django import forms

from context.models import TOKENS_MAX, TOKENS_MIN, BudgetProfile
from context.results import DEFAULT_RENDER, ContextRequest
from context.sections import PACKERS
from memories.forms import QUERY_MAX_CHARACTERS, PartitionField

# What the page of budgets shows; the other numbers of a profile stay as they are when it saves.
BUDGET_PAGE_FIELDS = (
    "default_tokens",
    "overfetch_ratio",
    "minimum_score",
    "packer",
    "ordering",
    "include_tenant_memo",
    "include_memories_top_k",
)
BUDGET_LABELS = {
    "default_tokens": "Default budget",
    "overfetch_ratio": "Candidates",
    "include_tenant_memo": "Tenant memo",
    "include_memories_top_k": "Memories without a question",
}
SLIDER_STEP_TOKENS = 50
SLIDER_MAX_TOKENS = 8_000


class PreviewForm(forms.Form):
    """One context to look at; every field is optional and stands in the address."""

    STYLES = [("markdown", "Markdown"), ("xml", "XML"), ("json", "JSON")]
    # "stable" keeps the order of an earlier context, which a preview does not have.
    ORDERINGS = [("", "As the profile says")] + [
        choice for choice in BudgetProfile.Ordering.choices if choice[0] != BudgetProfile.Ordering.STABLE
    ]

    query = forms.CharField(label="Question", required=False, max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()
    exact = forms.BooleanField(required=False)
    max_tokens = forms.IntegerField(label="Budget", required=False, min_value=TOKENS_MIN, max_value=TOKENS_MAX)
    ordering = forms.ChoiceField(required=False, choices=ORDERINGS)
    style = forms.ChoiceField(required=False, choices=STYLES)
    model = forms.CharField(required=False, max_length=100)

    def wish(self, draft: BudgetProfile | None = None) -> ContextRequest:
        """The valid fields as the request of a preview, explained."""
        fields = self.cleaned_data
        return ContextRequest(
            query=fields["query"],
            partition=fields["partition"],
            exact=fields["exact"],
            max_tokens=fields["max_tokens"],
            ordering=fields["ordering"],
            render=fields["style"] or DEFAULT_RENDER,
            model=fields["model"],
            draft=draft,
            explain=True,
            preview=True,
        )


class BudgetProfileForm(forms.Form):
    """The numbers of a budget profile; fields, choices and bounds are the model's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = forms.fields_for_model(BudgetProfile, fields=BUDGET_PAGE_FIELDS, labels=BUDGET_LABELS)
        # The rows may name packers that are not built yet; nobody can choose one.
        built = [choice for choice in BudgetProfile.Packer.choices if choice[0] in PACKERS]
        self.fields["packer"] = forms.ChoiceField(choices=built)


class BudgetTrialForm(forms.Form):
    """The question on which the effect of a changed budget is shown."""

    query = forms.CharField(required=False, max_length=QUERY_MAX_CHARACTERS)
    partition = PartitionField()
