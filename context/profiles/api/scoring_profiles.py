"""Endpoints of scoring profiles and their assignments."""

from functools import partial

from drf_spectacular.utils import OpenApiExample
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.models import ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.actions.assignments import assign_scoring_profile, unassign_scoring_profile
from context.profiles.actions.scoring_profiles import (
    create_scoring_profile,
    edit_scoring_profile,
    publish_scoring_profile,
    retire_scoring_profile,
    roll_back_scoring_profile,
)
from context.profiles.api.assignments import AssignmentEndpoint
from context.profiles.api.profiles import CHANGE_PROBLEMS, ProfileEndpoint, operation_schema
from context.profiles.scoring_profiles import (
    listed_scoring_profile,
    listed_scoring_profiles,
    scoring_profile_version,
    scoring_profile_versions,
)
from context.profiles.serializers.budget_profiles import (
    AssignmentListInput,
    AssignmentTargetInput,
    ProfileComparisonInput,
    ProfileComparisonOutput,
    ProfileListInput,
    ProfileRollBackInput,
)
from context.profiles.serializers.scoring_profiles import (
    PublishInput,
    RetireInput,
    ScoringAssignmentInput,
    ScoringAssignmentOutput,
    ScoringAssignmentPageOutput,
    ScoringProfileChanges,
    ScoringProfileInput,
    ScoringProfileOutput,
    ScoringProfilePageOutput,
    serialize_scoring_assignment,
    serialize_scoring_profile,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH
from memories.tenancy.api.etags import if_match_version
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import InvalidInput, NotFound, StaleVersion
from memories.tenancy.scopes import tenant_scope

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
_CHANGE = OpenApiExample("Older ones count longer", {"half_life_days": 60}, request_only=True)
_PUBLICATION = OpenApiExample("The newest", {"adr_reference": "ADR-0101"}, request_only=True)
_BACK = OpenApiExample("To the first version", {"version": 1}, request_only=True)
_ASSIGNMENT = OpenApiExample("For one user", {"profile": "support", "partition": "user=alex"}, request_only=True)
_schema = partial(operation_schema, "scoring profiles")
_ONE = {200: ScoringProfileOutput}
_REPEATABLE = [IDEMPOTENCY_KEY, IF_MATCH]


class ScoringProfileEndpointBase(ProfileEndpoint):
    """The base of the endpoints of scoring profiles."""

    serialize, version_row = staticmethod(serialize_scoring_profile), staticmethod(scoring_profile_version)

    def _active(self, name: str) -> int:
        """The version in force that the client may rely on, 0 for none; `If-Match` must name the one that is shown."""
        shown = listed_scoring_profile(self.tenant_id, name)
        if_match_version(self.request, shown.version)
        return shown.version if shown.is_active else 0


class ScoringProfileListEndpoint(ScoringProfileEndpointBase):
    """Draft a scoring profile; list them."""

    @_schema("profiles_list", {200: ScoringProfilePageOutput}, parameters=[ProfileListInput])
    def get(self, request: Request) -> Response:
        """One version of every scoring profile, in force or else the newest, by name; shipped ones are always there."""
        return self.by_name(lambda: listed_scoring_profiles(self.tenant_id))

    @_schema(
        "profiles_create",
        {201: ScoringProfileOutput},
        409,
        413,
        request=ScoringProfileInput,
        examples=[_NEW, _COPY],
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Draft a scoring profile of another one's numbers with changes."""
        require_whole_tenant(self.key)
        values = self.body(ScoringProfileInput)
        named = {name: values.pop(name) for name in ("name", "based_on", "based_on_version")}
        with tenant_scope(self.tenant_id):
            row = create_scoring_profile(tenant_id=self.tenant_id, **named, changes=values, by=self.actor, now=self.now)
        return self.answered(row, status.HTTP_201_CREATED)


class ScoringProfileEndpoint(ScoringProfileEndpointBase):
    """One scoring profile."""

    @_schema("profiles_read", {**_ONE, 304: None}, 404, parameters=[IF_NONE_MATCH])
    def get(self, request: Request, name: str) -> Response:
        """The version in force, else the newest."""
        return self.read(lambda: listed_scoring_profile(self.tenant_id, name))

    @_schema(
        "profiles_change",
        _ONE,
        *CHANGE_PROBLEMS,
        request=ScoringProfileChanges,
        examples=[_CHANGE],
        parameters=[IF_MATCH],
    )
    def patch(self, request: Request, name: str) -> Response:
        """Save some numbers as a new draft; a field that is absent stays as it is in the version edited.

        That is the newest one, or the one in force where `If-Match` names it.
        """
        require_whole_tenant(self.key)
        changes = self.body(ScoringProfileChanges)
        with tenant_scope(self.tenant_id):
            row = edit_scoring_profile(
                tenant_id=self.tenant_id,
                name=name,
                changes=changes,
                edited_from=self._edited_from(name),
                by=self.actor,
                now=self.now,
            )
            # a version that nothing was changed of may have its evaluation
            row = scoring_profile_version(self.tenant_id, name, row.version)
        return self.answered(row)

    def _edited_from(self, name: str) -> int:
        newest, shown = scoring_profile_versions(self.tenant_id, name)[0], listed_scoring_profile(self.tenant_id, name)
        try:
            if_match_version(self.request, newest.version)
        except StaleVersion:
            if_match_version(self.request, shown.version)
            return shown.version
        return newest.version


class ScoringProfileVersionListEndpoint(ScoringProfileEndpointBase):
    """All versions of a scoring profile."""

    @_schema("profiles_versions", {200: ScoringProfilePageOutput}, 404, parameters=[ProfileListInput])
    def get(self, request: Request, name: str) -> Response:
        """Every version in whatever state, newest first."""
        return self.newest_first(lambda: scoring_profile_versions(self.tenant_id, name))


class ScoringProfileVersionEndpoint(ScoringProfileEndpointBase):
    """One version of a scoring profile."""

    @_schema("profiles_version_read", {**_ONE, 304: None}, 404, parameters=[IF_NONE_MATCH])
    def get(self, request: Request, name: str, version: int) -> Response:
        """The version, in whatever state."""

        def row() -> ScoringProfileVersion:
            try:
                return scoring_profile_version(self.tenant_id, name, version)
            except InvalidInput as error:
                raise NotFound("not_found", error.detail) from error

        return self.read(row)


class ScoringProfilePublishEndpoint(ScoringProfileEndpointBase):
    """Let agents name a version."""

    @_schema(
        "profiles_publish",
        _ONE,
        *CHANGE_PROBLEMS,
        request=PublishInput,
        examples=[_PUBLICATION],
        parameters=_REPEATABLE,
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Put a version into force. It needs a finished evaluation of exactly its numbers, and a decision."""
        require_whole_tenant(self.key)
        values = self.body(PublishInput)
        with tenant_scope(self.tenant_id):
            replaces = self._active(name)
            version = values["version"] or scoring_profile_versions(self.tenant_id, name)[0].version
            row = publish_scoring_profile(
                tenant_id=self.tenant_id,
                name=name,
                version=version,
                adr_reference=values["adr_reference"],
                replaces=replaces,
                by=self.actor,
                now=self.now,
            )
        return self.answered(row)


class ScoringProfileRollBackEndpoint(ScoringProfileEndpointBase):
    """Back to a version that was in force."""

    @_schema(
        "profiles_roll_back",
        _ONE,
        *CHANGE_PROBLEMS,
        request=ProfileRollBackInput,
        examples=[_BACK],
        parameters=_REPEATABLE,
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Put a formerly published version into force again."""
        require_whole_tenant(self.key)
        version = self.body(ProfileRollBackInput)["version"]
        with tenant_scope(self.tenant_id):
            row = roll_back_scoring_profile(
                tenant_id=self.tenant_id,
                name=name,
                version=version,
                replaces=self._active(name),
                by=self.actor,
                now=self.now,
            )
            return self.answered(row)


class ScoringProfileRetireEndpoint(ScoringProfileEndpointBase):
    """Take a version out of use."""

    @_schema("profiles_retire", _ONE, *CHANGE_PROBLEMS, request=RetireInput, examples=[_BACK], parameters=_REPEATABLE)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Retire a version; receipts that name it can be read as before."""
        require_whole_tenant(self.key)
        version = self.body(RetireInput)["version"]
        with tenant_scope(self.tenant_id):
            self._active(name)
            row = retire_scoring_profile(
                tenant_id=self.tenant_id, name=name, version=version, by=self.actor, now=self.now
            )
            return self.answered(row)


class ScoringProfileComparisonEndpoint(ScoringProfileEndpointBase):
    """Two versions side by side."""

    @_schema("profiles_compare", {200: ProfileComparisonOutput}, 404, parameters=[ProfileComparisonInput])
    def get(self, request: Request, name: str) -> Response:
        """Every number of two versions of the profile, or of a version of it and one of another profile."""
        return self.compared(name, listed_scoring_profile)


class ScoringProfileAssignmentEndpoint(AssignmentEndpoint):
    """Whom scoring profiles are for."""

    rows, field, answer = ScoringProfileAssignment, "profile", staticmethod(serialize_scoring_assignment)
    assign, unassign = staticmethod(assign_scoring_profile), staticmethod(unassign_scoring_profile)

    @_schema("profile_assignments_list", {200: ScoringAssignmentPageOutput}, parameters=[AssignmentListInput])
    def get(self, request: Request) -> Response:
        """The assignments within the key's reach, newest first."""
        return self.listed()

    @_schema(
        "profile_assignments_set",
        {200: ScoringAssignmentOutput},
        404,
        409,
        413,
        request=ScoringAssignmentInput,
        examples=[_ASSIGNMENT],
    )
    def put(self, request: Request) -> Response:
        """Give a published profile to a key or a partition; what was assigned there before ends."""
        return self.assigned(ScoringAssignmentInput)

    @_schema("profile_assignments_end", {204: None}, 404, parameters=[AssignmentTargetInput])
    def delete(self, request: Request) -> Response:
        """End what is assigned to a key or a partition."""
        return self.ended()
