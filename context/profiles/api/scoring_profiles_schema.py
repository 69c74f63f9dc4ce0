"""How the endpoints of scoring profiles stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.profiles.serializers.budget_profiles import AssignmentsInput, ComparisonShape, ProfilesInput, TargetInput
from context.profiles.serializers.scoring_profiles import (
    PublishInput,
    RetireInput,
    ScoringAssignmentInput,
    ScoringAssignmentPageShape,
    ScoringAssignmentShape,
    ScoringComparisonInput,
    ScoringProfileChanges,
    ScoringProfileInput,
    ScoringProfilePageShape,
    ScoringProfileShape,
    ScoringRollBackInput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, answers

TAGS = ["scoring profiles"]
NEW = OpenApiExample(
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
CHANGE = OpenApiExample("Older ones count longer", {"half_life_days": 60}, request_only=True)
PUBLICATION = OpenApiExample("The newest", {"adr_reference": "ADR-0101"}, request_only=True)
BACK = OpenApiExample("To the first version", {"version": 1}, request_only=True)
ASSIGNMENT = OpenApiExample("For one user", {"profile": "support", "partition": "user=alex"}, request_only=True)

profiles_schema = extend_schema(
    operation_id="profiles_list",
    tags=TAGS,
    parameters=[ProfilesInput],
    responses=answers({200: ScoringProfilePageShape}),
)
create_schema = extend_schema(
    operation_id="profiles_create",
    tags=TAGS,
    request=ScoringProfileInput,
    examples=[NEW, COPY],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({201: ScoringProfileShape}, 409, 413),
)
read_schema = extend_schema(
    operation_id="profiles_read",
    tags=TAGS,
    parameters=[IF_NONE_MATCH],
    responses=answers({200: ScoringProfileShape, 304: None}, 404),
)
change_schema = extend_schema(
    operation_id="profiles_change",
    tags=TAGS,
    request=ScoringProfileChanges,
    examples=[CHANGE],
    parameters=[IF_MATCH],
    responses=answers({200: ScoringProfileShape}, 404, 409, 412, 413),
)
versions_schema = extend_schema(
    operation_id="profiles_versions",
    tags=TAGS,
    parameters=[ProfilesInput],
    responses=answers({200: ScoringProfilePageShape}, 404),
)
version_schema = extend_schema(
    operation_id="profiles_version_read",
    tags=TAGS,
    parameters=[IF_NONE_MATCH],
    responses=answers({200: ScoringProfileShape, 304: None}, 404),
)
publish_schema = extend_schema(
    operation_id="profiles_publish",
    tags=TAGS,
    request=PublishInput,
    examples=[PUBLICATION],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=answers({200: ScoringProfileShape}, 404, 409, 412, 413),
)
roll_back_schema = extend_schema(
    operation_id="profiles_roll_back",
    tags=TAGS,
    request=ScoringRollBackInput,
    examples=[BACK],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=answers({200: ScoringProfileShape}, 404, 409, 412, 413),
)
retire_schema = extend_schema(
    operation_id="profiles_retire",
    tags=TAGS,
    request=RetireInput,
    examples=[BACK],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=answers({200: ScoringProfileShape}, 404, 409, 412, 413),
)
compare_schema = extend_schema(
    operation_id="profiles_compare",
    tags=TAGS,
    parameters=[ScoringComparisonInput],
    responses=answers({200: ComparisonShape}, 404),
)
assignments_schema = extend_schema(
    operation_id="profile_assignments_list",
    tags=TAGS,
    parameters=[AssignmentsInput],
    responses=answers({200: ScoringAssignmentPageShape}),
)
assign_schema = extend_schema(
    operation_id="profile_assignments_set",
    tags=TAGS,
    request=ScoringAssignmentInput,
    examples=[ASSIGNMENT],
    responses=answers({200: ScoringAssignmentShape}, 404, 409, 413),
)
unassign_schema = extend_schema(
    operation_id="profile_assignments_end",
    tags=TAGS,
    parameters=[TargetInput],
    responses=answers({204: None}, 404),
)
