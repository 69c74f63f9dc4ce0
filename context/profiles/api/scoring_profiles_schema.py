"""How the endpoints of scoring profiles stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.profiles.serializers.budget_profiles import (
    AssignmentListInput,
    AssignmentTargetInput,
    BudgetProfileListInput,
    ProfileComparisonOutput,
)
from context.profiles.serializers.scoring_profiles import (
    PublishInput,
    RetireInput,
    ScoringAssignmentInput,
    ScoringAssignmentOutput,
    ScoringAssignmentPageOutput,
    ScoringComparisonInput,
    ScoringProfileChanges,
    ScoringProfileInput,
    ScoringProfileOutput,
    ScoringProfilePageOutput,
    ScoringRollBackInput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, response_schemas

_TAGS = ["scoring profiles"]
_NEW = OpenApiExample(
    "Words and age",
    {
        "name": "support",
        "weights": {"relevance": 0.75, "recency": 0.15, "confidence": 0.1},
        "relevance": "fused",
        "half_life_days_by_kind": {"preference": 180},
    },
    request_only=True,
)
COPY = OpenApiExample("A copy to tune", {"name": "own-recall", "based_on": "conversation-recall"}, request_only=True)
_CHANGE = OpenApiExample("Older ones count longer", {"half_life_days": 60}, request_only=True)
PUBLICATION = OpenApiExample("The newest", {"adr_reference": "ADR-0101"}, request_only=True)
_BACK = OpenApiExample("To the first version", {"version": 1}, request_only=True)
_ASSIGNMENT = OpenApiExample("For one user", {"profile": "support", "partition": "user=alex"}, request_only=True)

scoring_profiles_schema = extend_schema(
    operation_id="profiles_list",
    tags=_TAGS,
    parameters=[BudgetProfileListInput],
    responses=response_schemas({200: ScoringProfilePageOutput}),
)
create_scoring_profile_schema = extend_schema(
    operation_id="profiles_create",
    tags=_TAGS,
    request=ScoringProfileInput,
    examples=[_NEW, COPY],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: ScoringProfileOutput}, 409, 413),
)
read_scoring_profile_schema = extend_schema(
    operation_id="profiles_read",
    tags=_TAGS,
    parameters=[IF_NONE_MATCH],
    responses=response_schemas({200: ScoringProfileOutput, 304: None}, 404),
)
change_schema = extend_schema(
    operation_id="profiles_change",
    tags=_TAGS,
    request=ScoringProfileChanges,
    examples=[_CHANGE],
    parameters=[IF_MATCH],
    responses=response_schemas({200: ScoringProfileOutput}, 404, 409, 412, 413),
)
scoring_profile_versions_schema = extend_schema(
    operation_id="profiles_versions",
    tags=_TAGS,
    parameters=[BudgetProfileListInput],
    responses=response_schemas({200: ScoringProfilePageOutput}, 404),
)
version_schema = extend_schema(
    operation_id="profiles_version_read",
    tags=_TAGS,
    parameters=[IF_NONE_MATCH],
    responses=response_schemas({200: ScoringProfileOutput, 304: None}, 404),
)
publish_schema = extend_schema(
    operation_id="profiles_publish",
    tags=_TAGS,
    request=PublishInput,
    examples=[PUBLICATION],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=response_schemas({200: ScoringProfileOutput}, 404, 409, 412, 413),
)
roll_back_scoring_profile_schema = extend_schema(
    operation_id="profiles_roll_back",
    tags=_TAGS,
    request=ScoringRollBackInput,
    examples=[_BACK],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=response_schemas({200: ScoringProfileOutput}, 404, 409, 412, 413),
)
retire_schema = extend_schema(
    operation_id="profiles_retire",
    tags=_TAGS,
    request=RetireInput,
    examples=[_BACK],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=response_schemas({200: ScoringProfileOutput}, 404, 409, 412, 413),
)
compare_scoring_profiles_schema = extend_schema(
    operation_id="profiles_compare",
    tags=_TAGS,
    parameters=[ScoringComparisonInput],
    responses=response_schemas({200: ProfileComparisonOutput}, 404),
)
scoring_profile_assignments_schema = extend_schema(
    operation_id="profile_assignments_list",
    tags=_TAGS,
    parameters=[AssignmentListInput],
    responses=response_schemas({200: ScoringAssignmentPageOutput}),
)
assign_scoring_profile_schema = extend_schema(
    operation_id="profile_assignments_set",
    tags=_TAGS,
    request=ScoringAssignmentInput,
    examples=[_ASSIGNMENT],
    responses=response_schemas({200: ScoringAssignmentOutput}, 404, 409, 413),
)
unassign_scoring_profile_schema = extend_schema(
    operation_id="profile_assignments_end",
    tags=_TAGS,
    parameters=[AssignmentTargetInput],
    responses=response_schemas({204: None}, 404),
)
