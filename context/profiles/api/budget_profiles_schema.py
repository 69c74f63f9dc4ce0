"""How the endpoints of budget profiles stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from context.profiles.serializers.budget_profiles import (
    AssignmentListInput,
    AssignmentTargetInput,
    BudgetProfileAssignmentInput,
    BudgetProfileAssignmentOutput,
    BudgetProfileAssignmentPageOutput,
    BudgetProfileChanges,
    BudgetProfileComparisonInput,
    BudgetProfileInput,
    BudgetProfileListInput,
    BudgetProfileOutput,
    BudgetProfilePageOutput,
    BudgetProfileRollBackInput,
    ProfileComparisonOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, response_schemas

_TAGS = ["budget profiles"]
_NEW = OpenApiExample(
    "Short contexts",
    {"name": "chat", "default_tokens": 1200, "packer": "elastic", "sections": {"tenant_memo": {"tokens": 100}}},
    request_only=True,
)
_CHANGE = OpenApiExample(
    "More room, best at both ends", {"default_tokens": 2000, "ordering": "head_tail"}, request_only=True
)
_BACK = OpenApiExample("To the first version", {"version": 1}, request_only=True)
_ASSIGNMENT = OpenApiExample("For one user", {"budget_profile": "chat", "partition": "user=alex"}, request_only=True)

budget_profiles_schema = extend_schema(
    operation_id="budget_profiles_list",
    tags=_TAGS,
    parameters=[BudgetProfileListInput],
    responses=response_schemas({200: BudgetProfilePageOutput}),
)
profile_create_schema = extend_schema(
    operation_id="budget_profiles_create",
    tags=_TAGS,
    request=BudgetProfileInput,
    examples=[_NEW],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: BudgetProfileOutput}, 409, 413),
)
profile_read_schema = extend_schema(
    operation_id="budget_profiles_read",
    tags=_TAGS,
    parameters=[IF_NONE_MATCH],
    responses=response_schemas({200: BudgetProfileOutput, 304: None}, 404),
)
profile_set_schema = extend_schema(
    operation_id="budget_profiles_set",
    tags=_TAGS,
    request=BudgetProfileChanges,
    examples=[_CHANGE],
    parameters=[IF_MATCH],
    responses=response_schemas({200: BudgetProfileOutput}, 404, 409, 412, 413),
)
profile_change_schema = extend_schema(
    operation_id="budget_profiles_change",
    tags=_TAGS,
    request=BudgetProfileChanges,
    examples=[_CHANGE],
    parameters=[IF_MATCH],
    responses=response_schemas({200: BudgetProfileOutput}, 404, 409, 412, 413),
)
budget_profile_versions_schema = extend_schema(
    operation_id="budget_profiles_versions",
    tags=_TAGS,
    parameters=[BudgetProfileListInput],
    responses=response_schemas({200: BudgetProfilePageOutput}, 404),
)
roll_back_budget_profile_schema = extend_schema(
    operation_id="budget_profiles_roll_back",
    tags=_TAGS,
    request=BudgetProfileRollBackInput,
    examples=[_BACK],
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    responses=response_schemas({200: BudgetProfileOutput}, 404, 409, 412, 413),
)
compare_budget_profiles_schema = extend_schema(
    operation_id="budget_profiles_compare",
    tags=_TAGS,
    parameters=[BudgetProfileComparisonInput],
    responses=response_schemas({200: ProfileComparisonOutput}, 404),
)
budget_profile_assignments_schema = extend_schema(
    operation_id="budget_profile_assignments_list",
    tags=_TAGS,
    parameters=[AssignmentListInput],
    responses=response_schemas({200: BudgetProfileAssignmentPageOutput}),
)
assign_budget_profile_schema = extend_schema(
    operation_id="budget_profile_assignments_set",
    tags=_TAGS,
    request=BudgetProfileAssignmentInput,
    examples=[_ASSIGNMENT],
    responses=response_schemas({200: BudgetProfileAssignmentOutput}, 404, 409, 413),
)
unassign_budget_profile_schema = extend_schema(
    operation_id="budget_profile_assignments_end",
    tags=_TAGS,
    parameters=[AssignmentTargetInput],
    responses=response_schemas({204: None}, 404),
)
