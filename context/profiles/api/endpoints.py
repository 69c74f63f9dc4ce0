"""The endpoints of budget profiles and of scoring profiles."""

from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.models import ScoringProfileVersion
from context.profiles.actions import scoring_profiles as actions
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.profiles.api.profiles import (
    BACK_EXAMPLE,
    AssignmentEndpoints,
    ProfileEndpoints,
    describe_assignments,
    describe_profiles,
)
from context.profiles.budget_profiles import default_budget_profile
from context.profiles.kinds import BUDGET_KIND, SCORING_KIND
from context.profiles.scoring_profiles import scoring_profile_version, scoring_profile_versions
from context.profiles.serializers.profiles import (
    BudgetProfileAssignmentInput,
    BudgetProfileAssignmentOutput,
    BudgetProfileChanges,
    BudgetProfileInput,
    BudgetProfileOutput,
    PublishInput,
    RetireInput,
    ScoringAssignmentInput,
    ScoringAssignmentOutput,
    ScoringProfileChanges,
    ScoringProfileInput,
    ScoringProfileOutput,
)
from memories.store.api.schema import IF_MATCH, operation
from memories.tenancy.api.etags import if_match_version
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import InvalidInput, NotFound, StaleVersion
from memories.tenancy.scopes import tenant_scope

_SHORT = {
    "Short contexts": {
        "name": "chat",
        "default_tokens": 1200,
        "packer": "elastic",
        "sections": {"tenant_memo": {"tokens": 100}},
    }
}
_LARGER = {"Larger, best at both ends": {"default_tokens": 2000, "ordering": "head_tail"}}
_WEIGHTS = {"relevance": 0.75, "recency": 0.15, "confidence": 0.1}
_WORDS = {
    "Words and age": {
        "name": "support",
        "weights": _WEIGHTS,
        "relevance": "fused",
        "half_life_days_by_kind": {"preference": 180},
    }
}
_COPY = {"A copy to tune": {"name": "own-recall", "based_on": "conversation-recall"}}
_SLOWER = {"Slower recency": {"half_life_days": 60}}
_ARGUMENT = {
    "context": "Support agents ask about error codes, and recency buries old answers.",
    "decision": "Less weight for recency, more for shared words.",
    "consequences": "Old answers return. Watch questions about current opening hours.",
}
_NEWEST = {"The newest": {"argument": _ARGUMENT}}
_WORSE = {
    "A worse one": {"version": 3, "argument": _ARGUMENT, "reason": "It costs some evidence and halves the latency."}
}

_BUDGET, _ONE = {200: BudgetProfileOutput}, {200: ScoringProfileOutput}
_BUDGET_CHANGES: dict[str, Any] = {"request": BudgetProfileChanges, "examples": _LARGER, "parameters": [IF_MATCH]}


@describe_profiles(BUDGET_KIND, BudgetProfileOutput)
class BudgetProfileEndpoints(ProfileEndpoints):
    """The endpoints of budget profiles."""

    kind, output = BUDGET_KIND, BudgetProfileOutput

    @operation("budget_profiles_create", {201: BudgetProfileOutput}, request=BudgetProfileInput, examples=_SHORT)
    @idempotent
    def create(self, request: Request) -> Response:
        """Create a budget profile from the settings of another one, with changes."""
        values = self.body(BudgetProfileInput)
        named = {name: values.pop(name) for name in ("name", "based_on")}
        with tenant_scope(self.tenant_id):
            return self.changed(create_budget_profile, status.HTTP_201_CREATED, **named, changes=values)

    @operation("budget_profiles_set", _BUDGET, 404, 409, **_BUDGET_CHANGES)
    def replace(self, request: Request, name: str) -> Response:
        """Save these settings as a new active version; absent fields get their defaults."""
        values = self.body(BudgetProfileChanges)
        return self._save(name, default_budget_profile(self.tenant_id).tuned_numbers | values)

    @operation("budget_profiles_change", _BUDGET, 404, 409, **_BUDGET_CHANGES)
    def change(self, request: Request, name: str) -> Response:
        """Change some settings and save a new active version; absent fields do not change."""
        return self._save(name, self.body(BudgetProfileChanges))

    def _save(self, name: str, changes: dict[str, Any]) -> Response:
        with tenant_scope(self.tenant_id):
            return self.changed(save_budget_profile, name=name, changes=changes, edited_from=self.active_version(name))


@describe_assignments(BUDGET_KIND, BudgetProfileAssignmentOutput, BudgetProfileAssignmentInput)
class BudgetProfileAssignmentEndpoints(AssignmentEndpoints):
    """The endpoints of the assignments of budget profiles."""

    kind, output, input = BUDGET_KIND, BudgetProfileAssignmentOutput, BudgetProfileAssignmentInput


@describe_profiles(SCORING_KIND, ScoringProfileOutput)
class ScoringProfileEndpoints(ProfileEndpoints):
    """The endpoints of scoring profiles."""

    kind, output = SCORING_KIND, ScoringProfileOutput

    @operation("profiles_create", {201: ScoringProfileOutput}, request=ScoringProfileInput, examples=_WORDS | _COPY)
    @idempotent
    def create(self, request: Request) -> Response:
        """Create a draft from the settings of another scoring profile, with changes."""
        values = self.body(ScoringProfileInput)
        named = {name: values.pop(name) for name in ("name", "based_on", "based_on_version")}
        with tenant_scope(self.tenant_id):
            return self.changed(actions.create_scoring_profile, status.HTTP_201_CREATED, **named, changes=values)

    @operation(
        "profiles_change", _ONE, 404, 409, request=ScoringProfileChanges, examples=_SLOWER, parameters=[IF_MATCH]
    )
    def change(self, request: Request, name: str) -> Response:
        """Change some settings and save a new draft; absent fields stay as in the edited version.

        That is the newest version, or the active one where `If-Match` names it.
        """
        changes = self.body(ScoringProfileChanges)
        with tenant_scope(self.tenant_id):
            return self.changed(
                actions.edit_scoring_profile, name=name, changes=changes, edited_from=self._edited_from(name)
            )

    def _edited_from(self, name: str) -> int:
        newest = scoring_profile_versions(self.tenant_id, name)[0]
        try:
            if_match_version(self.request, newest.version)
        except StaleVersion:
            shown = self.kind.find(self.tenant_id, name)
            if_match_version(self.request, shown.version)
            return int(shown.version)
        return newest.version

    @operation("profiles_version_read", {**_ONE, 304: None}, 404)
    def read_version(self, request: Request, name: str, version: int) -> Response:
        """Return a version in any state."""

        def row() -> ScoringProfileVersion:
            try:
                return scoring_profile_version(self.tenant_id, name, version)
            except InvalidInput as error:
                raise NotFound("not_found", error.detail) from error

        return self.answer_with_etag(lambda: self.answer(row()))

    @operation("profiles_publish", _ONE, 404, request=PublishInput, examples=_NEWEST | _WORSE, parameters=[IF_MATCH])
    @idempotent
    def publish(self, request: Request, name: str) -> Response:
        """Publish a version that was compared with the profile in use, with the argument for it.

        Both need a finished evaluation on one corpus with 30 shared questions: 409 `not_evaluated`,
        `baseline_not_evaluated` or `too_few_questions`. If the version is worse or not clearly better, a reason is
        needed: 400 `reason_required`. The profile in use is the active version, else the profile assigned to the
        tenant, else `adr-0040`.
        """
        values = self.body(PublishInput)
        with tenant_scope(self.tenant_id):
            replaces = self.active_version(name)
            values["version"] = values["version"] or scoring_profile_versions(self.tenant_id, name)[0].version
            return self.changed(actions.publish_scoring_profile, name=name, replaces=replaces, **values)

    @operation("profiles_retire", _ONE, 404, request=RetireInput, examples=BACK_EXAMPLE, parameters=[IF_MATCH])
    @idempotent
    def retire(self, request: Request, name: str) -> Response:
        """Retire a version; receipts that name it stay readable."""
        values = self.body(RetireInput)
        with tenant_scope(self.tenant_id):
            self.active_version(name)
            return self.changed(actions.retire_scoring_profile, name=name, **values)


@describe_assignments(SCORING_KIND, ScoringAssignmentOutput, ScoringAssignmentInput)
class ScoringAssignmentEndpoints(AssignmentEndpoints):
    """The endpoints of the assignments of scoring profiles."""

    kind, output, input = SCORING_KIND, ScoringAssignmentOutput, ScoringAssignmentInput
