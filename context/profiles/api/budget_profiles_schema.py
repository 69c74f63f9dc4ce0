"""How the endpoints of budget profiles stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.profiles.serializers.budget_profiles import (
    AssignmentInput,
    AssignmentPageShape,
    AssignmentShape,
    AssignmentsInput,
    ComparisonInput,
    ComparisonShape,
    ProfileChanges,
    ProfileInput,
    ProfilePageShape,
    ProfileShape,
    ProfilesInput,
    RollBackInput,
    TargetInput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, answers

TAGS = ["budget profiles"]
NEW = OpenApiExample(
    "Short contexts",
    {"name": "chat", "default_tokens": 1200, "packer": "elastic", "sections": {"tenant_memo": {"tokens": 100}}},
    request_only=True,
)
CHANGE = OpenApiExample(
    "More room, best at both ends", {"default_tokens": 2000, "ordering": "head_tail"}, request_only=True
)
BACK = OpenApiExample("To the first version", {"version": 1}, request_only=True)
ASSIGNMENT = OpenApiExample("For one user", {"budget_profile": "chat", "partition": "user=alex"}, request_only=True)

profiles_schema = extend_schema(
    operation_id="budget_profiles_list",
    tags=TAGS,
    parameters=[ProfilesInput],
    responses=answers({200: ProfilePageShape}),
)
profile_create_schema = extend_schema(
    operation_id="budget_profiles_create",
    tags=TAGS,
    request=ProfileInput,
    examples=[NEW],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({201: ProfileShape}, 409, 413),
)
profile_read_schema = extend_schema(
    operation_id="budget_profiles_read",
    tags=TAGS,
    parameters=[IF_NONE_MATCH],
    responses=answers({200: ProfileShape, 304: None}, 404),
)
profile_set_schema = extend_schema(
    operation_id="budget_profiles_set",
    tags=TAGS,
    request=ProfileChanges,
    examples=[CHANGE],
    parameters=[IF_MATCH],
    responses=answers({200: ProfileShape}, 404, 409, 412, 413),
)
profile_change_schema = extend_schema(
    operation_id="budget_profiles_change",
    tags=TAGS,
    request=ProfileChanges,
    examples=[CHANGE],
    parameters=[IF_MATCH],
    responses=answers({200: ProfileShape}, 404, 409, 412, 413),
)
versions_schema = extend_schema(
    operation_id="budget_profiles_versions",
    tags=TAGS,
    parameters=[ProfilesInput],
    responses=answers({200: ProfilePageShape}, 404),
)
roll_back_schema = extend_schema(
    operation_id="budget_profiles_roll_back",
    tags=TAGS,
    request=RollBackInput,
    examples=[BACK],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=answers({200: ProfileShape}, 404, 409, 412, 413),
)
compare_schema = extend_schema(
    operation_id="budget_profiles_compare",
    tags=TAGS,
    parameters=[ComparisonInput],
    responses=answers({200: ComparisonShape}, 404),
)
assignments_schema = extend_schema(
    operation_id="budget_profile_assignments_list",
    tags=TAGS,
    parameters=[AssignmentsInput],
    responses=answers({200: AssignmentPageShape}),
)
assign_schema = extend_schema(
    operation_id="budget_profile_assignments_set",
    tags=TAGS,
    request=AssignmentInput,
    examples=[ASSIGNMENT],
    responses=answers({200: AssignmentShape}, 404, 409, 413),
)
unassign_schema = extend_schema(
    operation_id="budget_profile_assignments_end",
    tags=TAGS,
    parameters=[TargetInput],
    responses=answers({204: None}, 404),
)
