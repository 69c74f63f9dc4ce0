"""Endpoints of budget profiles and their assignments."""

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.models import BudgetProfile, BudgetProfileAssignment
from context.profiles.actions.assignments import assign_budget_profile, unassign_budget_profile
from context.profiles.actions.budget_profiles import (
    create_budget_profile,
    roll_back_budget_profile,
    save_budget_profile,
)
from context.profiles.api.assignments import AssignmentEndpoint
from context.profiles.api.profiles import CHANGE_PROBLEMS, ProfileEndpoint, errors_on_field, operation_schema
from context.profiles.budget_profiles import (
    budget_profile_version,
    budget_profile_versions,
    current_budget_profile,
    current_budget_profiles,
    default_budget_profile,
)
from context.profiles.serializers.budget_profiles import (
    AssignmentListInput,
    AssignmentTargetInput,
    BudgetProfileAssignmentInput,
    BudgetProfileAssignmentOutput,
    BudgetProfileAssignmentPageOutput,
    BudgetProfileChanges,
    BudgetProfileInput,
    BudgetProfileOutput,
    BudgetProfilePageOutput,
    ProfileComparisonInput,
    ProfileComparisonOutput,
    ProfileListInput,
    ProfileRollBackInput,
    serialize_budget_assignment,
    serialize_budget_profile,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH
from memories.tenancy.api.etags import if_match_version
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope

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
_schema = partial(operation_schema, "budget profiles")
_ONE = {200: BudgetProfileOutput}
_CHANGED: dict[str, Any] = {"request": BudgetProfileChanges, "examples": [_CHANGE], "parameters": [IF_MATCH]}


def _required_profile(tenant_id: UUID, name: str) -> BudgetProfile:
    """Return the version in force of the profile in the address."""
    try:
        return current_budget_profile(tenant_id, name)
    except InvalidInput as error:
        raise NotFound("not_found", error.detail) from error


class BudgetProfileEndpointBase(ProfileEndpoint):
    """The base of the endpoints of budget profiles."""

    serialize, version_row = staticmethod(serialize_budget_profile), staticmethod(budget_profile_version)


class BudgetProfileListEndpoint(BudgetProfileEndpointBase):
    """Make a budget profile; list them."""

    @_schema("budget_profiles_list", {200: BudgetProfilePageOutput}, parameters=[ProfileListInput])
    def get(self, request: Request) -> Response:
        """The version in force of every budget profile, by name; `default` is always there."""
        return self.by_name(lambda: current_budget_profiles(self.tenant_id))

    @_schema(
        "budget_profiles_create",
        {201: BudgetProfileOutput},
        *(409, 413),
        request=BudgetProfileInput,
        examples=[_NEW],
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a budget profile of another one's numbers with changes."""
        require_whole_tenant(self.key)
        values = self.body(BudgetProfileInput)
        name, based_on = values.pop("name"), values.pop("based_on")
        with tenant_scope(self.tenant_id):
            with errors_on_field("based_on"):
                current_budget_profile(self.tenant_id, based_on)
            profile = create_budget_profile(
                tenant_id=self.tenant_id, name=name, based_on=based_on, changes=values, by=self.actor, now=self.now
            )
        return self.answered(profile, status.HTTP_201_CREATED)


class BudgetProfileEndpoint(BudgetProfileEndpointBase):
    """One budget profile."""

    @_schema("budget_profiles_read", {**_ONE, 304: None}, 404, parameters=[IF_NONE_MATCH])
    def get(self, request: Request, name: str) -> Response:
        """The version in force."""
        return self.read(lambda: _required_profile(self.tenant_id, name))

    @_schema("budget_profiles_set", _ONE, *CHANGE_PROBLEMS, **_CHANGED)
    def put(self, request: Request, name: str) -> Response:
        """Put these numbers into force as a new version; a field that is absent gets its default."""
        require_whole_tenant(self.key)
        return self._save(name, default_budget_profile(self.tenant_id).tuned_numbers | self.body(BudgetProfileChanges))

    @_schema("budget_profiles_change", _ONE, *CHANGE_PROBLEMS, **_CHANGED)
    def patch(self, request: Request, name: str) -> Response:
        """Put some numbers into force as a new version; a field that is absent stays as it is."""
        require_whole_tenant(self.key)
        return self._save(name, self.body(BudgetProfileChanges))

    def _save(self, name: str, changes: dict[str, Any]) -> Response:
        with tenant_scope(self.tenant_id):
            current = _required_profile(self.tenant_id, name)
            if_match_version(self.request, current.version)
            profile = save_budget_profile(
                tenant_id=self.tenant_id,
                name=name,
                changes=changes,
                edited_from=current.version,
                by=self.actor,
                now=self.now,
            )
        return self.answered(profile)


class BudgetProfileVersionListEndpoint(BudgetProfileEndpointBase):
    """All versions of a budget profile."""

    @_schema("budget_profiles_versions", {200: BudgetProfilePageOutput}, 404, parameters=[ProfileListInput])
    def get(self, request: Request, name: str) -> Response:
        """Every version with its recorded interval, newest first."""

        def rows() -> list[BudgetProfile]:
            _required_profile(self.tenant_id, name)
            return budget_profile_versions(self.tenant_id, name)

        return self.newest_first(rows)


class BudgetProfileRollBackEndpoint(BudgetProfileEndpointBase):
    """Back to an earlier version."""

    @_schema(
        "budget_profiles_roll_back",
        _ONE,
        *CHANGE_PROBLEMS,
        request=ProfileRollBackInput,
        examples=[_BACK],
        parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Put the numbers of an older version into force again, as a new version."""
        require_whole_tenant(self.key)
        version = self.body(ProfileRollBackInput)["version"]
        with tenant_scope(self.tenant_id):
            current = _required_profile(self.tenant_id, name)
            if_match_version(request, current.version)
            profile = roll_back_budget_profile(
                tenant_id=self.tenant_id,
                name=name,
                version=version,
                edited_from=current.version,
                by=self.actor,
                now=self.now,
            )
        return self.answered(profile)


class BudgetProfileComparisonEndpoint(BudgetProfileEndpointBase):
    """Two versions side by side."""

    @_schema("budget_profiles_compare", {200: ProfileComparisonOutput}, 404, parameters=[ProfileComparisonInput])
    def get(self, request: Request, name: str) -> Response:
        """Every number of two versions of the profile, or of a version of it and one of another profile."""
        return self.compared(name, _required_profile)


class BudgetProfileAssignmentEndpoint(AssignmentEndpoint):
    """Whom budget profiles are for."""

    rows, field, answer = BudgetProfileAssignment, "budget_profile", staticmethod(serialize_budget_assignment)
    assign, unassign = staticmethod(assign_budget_profile), staticmethod(unassign_budget_profile)

    @_schema(
        "budget_profile_assignments_list", {200: BudgetProfileAssignmentPageOutput}, parameters=[AssignmentListInput]
    )
    def get(self, request: Request) -> Response:
        """The assignments within the key's reach, newest first."""
        return self.listed()

    @_schema(
        "budget_profile_assignments_set",
        {200: BudgetProfileAssignmentOutput},
        *(404, 409, 413),
        request=BudgetProfileAssignmentInput,
        examples=[_ASSIGNMENT],
    )
    def put(self, request: Request) -> Response:
        """Give a profile to a key or a partition; what was assigned there before ends."""
        return self.assigned(BudgetProfileAssignmentInput)

    @_schema("budget_profile_assignments_end", {204: None}, 404, parameters=[AssignmentTargetInput])
    def delete(self, request: Request) -> Response:
        """End what is assigned to a key or a partition."""
        return self.ended()
