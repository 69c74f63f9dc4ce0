"""URLs of the context app under /api/v1/."""

from django.urls import URLPattern, path

from context.assembly.api.contexts import ContextEndpoint, ReceiptEndpoint, ReceiptListEndpoint
from context.assembly.api.replay import ContextDiffEndpoint, ReplayEndpoint
from context.assembly.api.search import MemorySearchEndpoint
from context.evaluation.api import evaluations, golden_questions
from context.feedback import api as feedback
from context.profiles.api.endpoints import (
    BudgetProfileAssignmentEndpoints,
    BudgetProfileEndpoints,
    ScoringAssignmentEndpoints,
    ScoringProfileEndpoints,
)
from context.profiles.api.profiles import AssignmentEndpoints, ProfileEndpoints
from context.workbench.api import ContextExplainEndpoint
from memory_platform.rest import url_converters  # noqa: F401 - makes its types known

_VOTES = "memories/<uuid:memory_id>/feedback"
_SCORING = "profiles/<name:name>"
_RUN = "evaluations/<uuid:run_id>"
_QUESTION = "golden-questions/<uuid:question_id>"
_EVIDENCE = f"{_QUESTION}/memories/<uuid:memory_id>"


def _profile_urls(
    route: str, name: str, profiles: type[ProfileEndpoints], assignments: type[AssignmentEndpoints], **changes: str
) -> list[URLPattern]:
    """Return the URLs that both kinds of profiles have; `changes` are the methods that change a profile."""
    one = f"{route}/<name:name>"
    targets = assignments.as_view({"get": "list_assignments", "put": "assign", "delete": "unassign"})
    return [
        path(route, profiles.as_view({"get": "list_profiles", "post": "create"}), name=f"{name}s"),
        path(f"{route}/assignments", targets, name=f"{name}-assignments"),
        path(one, profiles.as_view({"get": "read", **changes}), name=name),
        path(f"{one}/versions", profiles.as_view({"get": "versions"}), name=f"{name}-versions"),
        path(f"{one}/rollback", profiles.as_view({"post": "roll_back"}), name=f"{name}-rollback"),
        path(f"{one}/compare", profiles.as_view({"get": "compare"}), name=f"{name}-compare"),
        path(f"{one}/diff", profiles.as_view({"get": "diff"}), name=f"{name}-diff"),
    ]


urlpatterns = [
    path("memories/search", MemorySearchEndpoint.as_view(), name="api-memories-search"),
    path("context", ContextEndpoint.as_view(), name="api-context"),
    path("context/<uuid:receipt_id>", ReceiptEndpoint.as_view(), name="api-receipt"),
    path("contexts", ReceiptListEndpoint.as_view(), name="api-contexts"),
    path("context/diff", ContextDiffEndpoint.as_view(), name="api-context-diff"),
    path("context/explain", ContextExplainEndpoint.as_view(), name="api-context-explain"),
    path("context/<uuid:receipt_id>/replay", ReplayEndpoint.as_view(), name="api-replay"),
    path("context/<uuid:receipt_id>/outcome", feedback.OutcomeEndpoint.as_view(), name="api-outcome"),
    path("feedback", feedback.FeedbackEndpoint.as_view(), name="api-feedback"),
    path("feedback/<uuid:feedback_id>", feedback.FeedbackWithdrawalEndpoint.as_view(), name="api-vote"),
    path(_VOTES, feedback.MemoryFeedbackListEndpoint.as_view(), name="api-memory-feedback"),
    path("golden-questions", golden_questions.GoldenQuestionListEndpoint.as_view(), name="api-golden-questions"),
    path("golden-questions/bulk", golden_questions.GoldenQuestionBulkEndpoint.as_view(), name="api-golden-bulk"),
    path(_QUESTION, golden_questions.GoldenQuestionEndpoint.as_view(), name="api-golden-question"),
    path(f"{_QUESTION}/restore", golden_questions.GoldenQuestionRestoreEndpoint.as_view(), name="api-golden-restore"),
    path(_EVIDENCE, golden_questions.GoldenMemoryEndpoint.as_view(), name="api-golden-memory"),
    path("evaluations", evaluations.EvaluationListEndpoint.as_view(), name="api-evaluations"),
    path(_RUN, evaluations.EvaluationEndpoint.as_view(), name="api-evaluation"),
    path(f"{_RUN}/answers", evaluations.EvaluationAnswerListEndpoint.as_view(), name="api-evaluation-answers"),
    path(f"{_RUN}/compare", evaluations.EvaluationComparisonEndpoint.as_view(), name="api-evaluation-compare"),
    path(f"{_RUN}/cancel", evaluations.EvaluationCancelEndpoint.as_view(), name="api-evaluation-cancel"),
    path(f"{_RUN}/retry", evaluations.EvaluationRetryEndpoint.as_view(), name="api-evaluation-retry"),
    *_profile_urls(
        "budget-profiles",
        "api-budget-profile",
        BudgetProfileEndpoints,
        BudgetProfileAssignmentEndpoints,
        put="replace",
        patch="change",
    ),
    *_profile_urls("profiles", "api-profile", ScoringProfileEndpoints, ScoringAssignmentEndpoints, patch="change"),
    path(
        f"{_SCORING}/versions/<int:version>",
        ScoringProfileEndpoints.as_view({"get": "read_version"}),
        name="api-profile-version",
    ),
    path(f"{_SCORING}/publish", ScoringProfileEndpoints.as_view({"post": "publish"}), name="api-profile-publish"),
    path(f"{_SCORING}/retire", ScoringProfileEndpoints.as_view({"post": "retire"}), name="api-profile-retire"),
]
