"""Endpoints of scoring profiles and their assignments."""

from functools import partial

from drf_spectacular.utils import OpenApiExample
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.models import ScoringProfileVersion
from context.profiles.actions.scoring_profiles import (
    create_scoring_profile,
    edit_scoring_profile,
    publish_scoring_profile,
    retire_scoring_profile,
)
from context.profiles.api.profiles import (
    BACK_EXAMPLE,
    CHANGE_PROBLEMS,
    REPEATABLE,
    AssignmentEndpoints,
    ProfileEndpoints,
    describe_assignments,
    describe_profiles,
)
from context.profiles.kinds import SCORING_KIND
from context.profiles.scoring_profiles import scoring_profile_version, scoring_profile_versions
from context.profiles.serializers.profiles import (
    PublishInput,
    RetireInput,
    ScoringAssignmentInput,
    ScoringAssignmentOutput,
    ScoringProfileChanges,
    ScoringProfileInput,
    ScoringProfileOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, operation
from memories.tenancy.api.etags import if_match_version
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import InvalidInput, NotFound, StaleVersion
from memories.tenancy.scopes import tenant_scope

_TAG = "scoring profiles"
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
_COPY = OpenApiExample("A copy to tune", {"name": "own-recall", "based_on": "conversation-recall"}, request_only=True)
_CHANGE = OpenApiExample("Slower recency", {"half_life_days": 60}, request_only=True)
_PUBLICATION = OpenApiExample("The newest", {"adr_reference": "ADR-0101"}, request_only=True)
_describe = partial(operation, tag=_TAG)
_ONE = {200: ScoringProfileOutput}


@describe_profiles(_TAG, SCORING_KIND.noun, ScoringProfileOutput)
class ScoringProfileEndpoints(ProfileEndpoints):
    """The endpoints of scoring profiles."""

    kind, output = SCORING_KIND, ScoringProfileOutput

    @_describe(
        "profiles_create",
        {201: ScoringProfileOutput},
        *(409, 413),
        request=ScoringProfileInput,
        examples=[_NEW, _COPY],
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent
    def create(self, request: Request) -> Response:
        """Create a draft from the numbers of another scoring profile with changes."""
        values = self.changes(ScoringProfileInput)
        named = {name: values.pop(name) for name in ("name", "based_on", "based_on_version")}
        with tenant_scope(self.tenant_id):
            return self.changed(create_scoring_profile, status.HTTP_201_CREATED, **named, changes=values)

    @_describe(
        "profiles_change",
        _ONE,
        *CHANGE_PROBLEMS,
        request=ScoringProfileChanges,
        examples=[_CHANGE],
        parameters=[IF_MATCH],
    )
    def change(self, request: Request, name: str) -> Response:
        """Save some numbers as a new draft; absent fields stay as in the edited version.

        That is the newest version, or the active one where `If-Match` names it.
        """
        changes = self.changes(ScoringProfileChanges)
        with tenant_scope(self.tenant_id):
            return self.changed(edit_scoring_profile, name=name, changes=changes, edited_from=self._edited_from(name))

    def _edited_from(self, name: str) -> int:
        newest = scoring_profile_versions(self.tenant_id, name)[0]
        try:
            if_match_version(self.request, newest.version)
        except StaleVersion:
            shown = self.kind.find(self.tenant_id, name)
            if_match_version(self.request, shown.version)
            return int(shown.version)
        return newest.version

    @_describe("profiles_version_read", {**_ONE, 304: None}, 404, parameters=[IF_NONE_MATCH])
    def read_version(self, request: Request, name: str, version: int) -> Response:
        """Return a version in any state."""

        def row() -> ScoringProfileVersion:
            try:
                return scoring_profile_version(self.tenant_id, name, version)
            except InvalidInput as error:
                raise NotFound("not_found", error.detail) from error

        return self.read_row(row)

    @_describe(
        "profiles_publish", _ONE, *CHANGE_PROBLEMS, request=PublishInput, examples=[_PUBLICATION], parameters=REPEATABLE
    )
    @idempotent
    def publish(self, request: Request, name: str) -> Response:
        """Publish a version. It needs a finished evaluation of exactly its numbers, and a decision."""
        values = self.changes(PublishInput)
        with tenant_scope(self.tenant_id):
            replaces = self.active_version(name)
            values["version"] = values["version"] or scoring_profile_versions(self.tenant_id, name)[0].version
            return self.changed(publish_scoring_profile, name=name, replaces=replaces, **values)

    @_describe(
        "profiles_retire", _ONE, *CHANGE_PROBLEMS, request=RetireInput, examples=[BACK_EXAMPLE], parameters=REPEATABLE
    )
    @idempotent
    def retire(self, request: Request, name: str) -> Response:
        """Retire a version; receipts that name it stay readable."""
        values = self.changes(RetireInput)
        with tenant_scope(self.tenant_id):
            self.active_version(name)
            return self.changed(retire_scoring_profile, name=name, **values)


@describe_assignments(_TAG, SCORING_KIND.noun, ScoringAssignmentOutput, ScoringAssignmentInput)
class ScoringAssignmentEndpoints(AssignmentEndpoints):
    """The endpoints of the assignments of scoring profiles."""

    kind, output, input = SCORING_KIND, ScoringAssignmentOutput, ScoringAssignmentInput
