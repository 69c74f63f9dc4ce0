"""Addresses of this room under /api/v1/."""

from django.urls import path

from context.assembly.api.contexts import ContextDoor, ContextsDoor, ReceiptDoor
from context.assembly.api.replay import DiffDoor, ReplayDoor
from context.assembly.api.search import SearchDoor
from context.feedback.api import FeedbackDoor, MemoryFeedbackDoor, OutcomeDoor, VoteDoor
from context.profiles.api.budget_profiles import (
    AssignmentsDoor,
    ComparisonDoor,
    ProfileDoor,
    ProfilesDoor,
    ProfileVersionsDoor,
    RollBackDoor,
)
from context.profiles.api.scoring_profiles import (
    PublishDoor,
    RetireDoor,
    ScoringAssignmentsDoor,
    ScoringComparisonDoor,
    ScoringProfileDoor,
    ScoringProfilesDoor,
    ScoringRollBackDoor,
    ScoringVersionDoor,
    ScoringVersionsDoor,
)
from memory_platform.rest import converters  # noqa: F401 - makes its types known

PROFILE = "budget-profiles/<name:name>"
SCORING = "profiles/<name:name>"

urlpatterns = [
    path("memories/search", SearchDoor.as_view(), name="api-memories-search"),
    path("context", ContextDoor.as_view(), name="api-context"),
    path("context/<uuid:receipt_id>", ReceiptDoor.as_view(), name="api-receipt"),
    path("contexts", ContextsDoor.as_view(), name="api-contexts"),
    path("context/diff", DiffDoor.as_view(), name="api-context-diff"),
    path("context/<uuid:receipt_id>/replay", ReplayDoor.as_view(), name="api-replay"),
    path("context/<uuid:receipt_id>/outcome", OutcomeDoor.as_view(), name="api-outcome"),
    path("feedback", FeedbackDoor.as_view(), name="api-feedback"),
    path("feedback/<uuid:feedback_id>", VoteDoor.as_view(), name="api-vote"),
    path("memories/<uuid:memory_id>/feedback", MemoryFeedbackDoor.as_view(), name="api-memory-feedback"),
    path("budget-profiles", ProfilesDoor.as_view(), name="api-budget-profiles"),
    path("budget-profiles/assignments", AssignmentsDoor.as_view(), name="api-budget-profile-assignments"),
    path(PROFILE, ProfileDoor.as_view(), name="api-budget-profile"),
    path(f"{PROFILE}/versions", ProfileVersionsDoor.as_view(), name="api-budget-profile-versions"),
    path(f"{PROFILE}/rollback", RollBackDoor.as_view(), name="api-budget-profile-rollback"),
    path(f"{PROFILE}/compare", ComparisonDoor.as_view(), name="api-budget-profile-compare"),
    path("profiles", ScoringProfilesDoor.as_view(), name="api-profiles"),
    path("profiles/assignments", ScoringAssignmentsDoor.as_view(), name="api-profile-assignments"),
    path(SCORING, ScoringProfileDoor.as_view(), name="api-profile"),
    path(f"{SCORING}/versions", ScoringVersionsDoor.as_view(), name="api-profile-versions"),
    path(f"{SCORING}/versions/<int:version>", ScoringVersionDoor.as_view(), name="api-profile-version"),
    path(f"{SCORING}/publish", PublishDoor.as_view(), name="api-profile-publish"),
    path(f"{SCORING}/rollback", ScoringRollBackDoor.as_view(), name="api-profile-rollback"),
    path(f"{SCORING}/retire", RetireDoor.as_view(), name="api-profile-retire"),
    path(f"{SCORING}/compare", ScoringComparisonDoor.as_view(), name="api-profile-compare"),
]
