"""Addresses of this room under /api/v1/."""

from django.urls import path

from context.assembly.api.contexts import ContextEndpoint, ReceiptEndpoint, ReceiptListEndpoint
from context.assembly.api.replay import ContextDiffEndpoint, ReplayEndpoint
from context.assembly.api.search import MemorySearchEndpoint
from context.feedback.api import (
    FeedbackEndpoint,
    FeedbackWithdrawalEndpoint,
    MemoryFeedbackListEndpoint,
    OutcomeEndpoint,
)
from context.profiles.api.budget_profiles import (
    BudgetProfileAssignmentEndpoint,
    BudgetProfileComparisonEndpoint,
    BudgetProfileEndpoint,
    BudgetProfileListEndpoint,
    BudgetProfileRollBackEndpoint,
    BudgetProfileVersionListEndpoint,
)
from context.profiles.api.scoring_profiles import (
    ScoringProfileAssignmentEndpoint,
    ScoringProfileComparisonEndpoint,
    ScoringProfileEndpoint,
    ScoringProfileListEndpoint,
    ScoringProfilePublishEndpoint,
    ScoringProfileRetireEndpoint,
    ScoringProfileRollBackEndpoint,
    ScoringProfileVersionEndpoint,
    ScoringProfileVersionListEndpoint,
)
from memory_platform.rest import converters  # noqa: F401 - makes its types known

PROFILE = "budget-profiles/<name:name>"
_SCORING = "profiles/<name:name>"

urlpatterns = [
    path("memories/search", MemorySearchEndpoint.as_view(), name="api-memories-search"),
    path("context", ContextEndpoint.as_view(), name="api-context"),
    path("context/<uuid:receipt_id>", ReceiptEndpoint.as_view(), name="api-receipt"),
    path("contexts", ReceiptListEndpoint.as_view(), name="api-contexts"),
    path("context/diff", ContextDiffEndpoint.as_view(), name="api-context-diff"),
    path("context/<uuid:receipt_id>/replay", ReplayEndpoint.as_view(), name="api-replay"),
    path("context/<uuid:receipt_id>/outcome", OutcomeEndpoint.as_view(), name="api-outcome"),
    path("feedback", FeedbackEndpoint.as_view(), name="api-feedback"),
    path("feedback/<uuid:feedback_id>", FeedbackWithdrawalEndpoint.as_view(), name="api-vote"),
    path("memories/<uuid:memory_id>/feedback", MemoryFeedbackListEndpoint.as_view(), name="api-memory-feedback"),
    path("budget-profiles", BudgetProfileListEndpoint.as_view(), name="api-budget-profiles"),
    path(
        "budget-profiles/assignments", BudgetProfileAssignmentEndpoint.as_view(), name="api-budget-profile-assignments"
    ),
    path(PROFILE, BudgetProfileEndpoint.as_view(), name="api-budget-profile"),
    path(f"{PROFILE}/versions", BudgetProfileVersionListEndpoint.as_view(), name="api-budget-profile-versions"),
    path(f"{PROFILE}/rollback", BudgetProfileRollBackEndpoint.as_view(), name="api-budget-profile-rollback"),
    path(f"{PROFILE}/compare", BudgetProfileComparisonEndpoint.as_view(), name="api-budget-profile-compare"),
    path("profiles", ScoringProfileListEndpoint.as_view(), name="api-profiles"),
    path("profiles/assignments", ScoringProfileAssignmentEndpoint.as_view(), name="api-profile-assignments"),
    path(_SCORING, ScoringProfileEndpoint.as_view(), name="api-profile"),
    path(f"{_SCORING}/versions", ScoringProfileVersionListEndpoint.as_view(), name="api-profile-versions"),
    path(f"{_SCORING}/versions/<int:version>", ScoringProfileVersionEndpoint.as_view(), name="api-profile-version"),
    path(f"{_SCORING}/publish", ScoringProfilePublishEndpoint.as_view(), name="api-profile-publish"),
    path(f"{_SCORING}/rollback", ScoringProfileRollBackEndpoint.as_view(), name="api-profile-rollback"),
    path(f"{_SCORING}/retire", ScoringProfileRetireEndpoint.as_view(), name="api-profile-retire"),
    path(f"{_SCORING}/compare", ScoringProfileComparisonEndpoint.as_view(), name="api-profile-compare"),
]
