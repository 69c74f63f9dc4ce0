"""Endpoints of budget profiles and their assignments."""

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiExample
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.profiles.api.profiles import (
    CHANGE_PROBLEMS,
    AssignmentEndpoints,
    ProfileEndpoints,
    describe_assignments,
    describe_profiles,
)
from context.profiles.budget_profiles import default_budget_profile
from context.profiles.kinds import BUDGET_KIND
from context.profiles.serializers.profiles import (
    BudgetProfileAssignmentInput,
    BudgetProfileAssignmentOutput,
    BudgetProfileChanges,
    BudgetProfileInput,
    BudgetProfileOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, operation
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.scopes import tenant_scope

_TAG = "budget profiles"
_NEW = OpenApiExample(
    "Short contexts",
    {"name": "chat", "default_tokens": 1200, "packer": "elastic", "sections": {"tenant_memo": {"tokens": 100}}},
    request_only=True,
)
_CHANGE = OpenApiExample(
    "Larger, best at both ends", {"default_tokens": 2000, "ordering": "head_tail"}, request_only=True
)
_describe = partial(operation, tag=_TAG)
_CHANGED: dict[str, Any] = {"request": BudgetProfileChanges, "examples": [_CHANGE], "parameters": [IF_MATCH]}


@describe_profiles(_TAG, BUDGET_KIND.noun, BudgetProfileOutput)
class BudgetProfileEndpoints(ProfileEndpoints):
    """The endpoints of budget profiles."""

    kind, output = BUDGET_KIND, BudgetProfileOutput

    @_describe(
        "budget_profiles_create",
        {201: BudgetProfileOutput},
        *(409, 413),
        request=BudgetProfileInput,
        examples=[_NEW],
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent
    def create(self, request: Request) -> Response:
        """Create a budget profile from the numbers of another one with changes."""
        values = self.changes(BudgetProfileInput)
        named = {name: values.pop(name) for name in ("name", "based_on")}
        with tenant_scope(self.tenant_id):
            return self.changed(create_budget_profile, status.HTTP_201_CREATED, **named, changes=values)

    @_describe("budget_profiles_set", {200: BudgetProfileOutput}, *CHANGE_PROBLEMS, **_CHANGED)
    def replace(self, request: Request, name: str) -> Response:
        """Save these numbers as a new active version; absent fields get their defaults."""
        values = self.changes(BudgetProfileChanges)
        return self._save(name, default_budget_profile(self.tenant_id).tuned_numbers | values)

    @_describe("budget_profiles_change", {200: BudgetProfileOutput}, *CHANGE_PROBLEMS, **_CHANGED)
    def change(self, request: Request, name: str) -> Response:
        """Save some numbers as a new active version; absent fields do not change."""
        return self._save(name, self.changes(BudgetProfileChanges))

    def _save(self, name: str, changes: dict[str, Any]) -> Response:
        with tenant_scope(self.tenant_id):
            return self.changed(save_budget_profile, name=name, changes=changes, edited_from=self.active_version(name))


@describe_assignments(_TAG, BUDGET_KIND.noun, BudgetProfileAssignmentOutput, BudgetProfileAssignmentInput)
class BudgetProfileAssignmentEndpoints(AssignmentEndpoints):
    """The endpoints of the assignments of budget profiles."""

    kind, output, input = BUDGET_KIND, BudgetProfileAssignmentOutput, BudgetProfileAssignmentInput
