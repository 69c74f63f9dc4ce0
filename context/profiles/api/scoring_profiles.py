"""Endpoints of scoring profiles and their assignments. Changing either concerns the whole tenant."""

from collections.abc import Callable, Sequence
from typing import Any

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
from context.profiles.api import scoring_profiles_schema as schema
from context.profiles.api.assignments import ADMIN_FOR_WRITES, AssignmentEndpoint
from context.profiles.api.budget_profiles import errors_on_field
from context.profiles.scoring_profiles import (
    compare_scoring_profiles,
    listed_scoring_profile,
    listed_scoring_profiles,
    scoring_profile_version,
    scoring_profile_versions,
)
from context.profiles.serializers.budget_profiles import BudgetProfileListInput, serialize_profile_comparison
from context.profiles.serializers.scoring_profiles import (
    PublishInput,
    RetireInput,
    ScoringAssignmentInput,
    ScoringComparisonInput,
    ScoringProfileChanges,
    ScoringProfileInput,
    ScoringRollBackInput,
    serialize_scoring_assignment,
    serialize_scoring_profile,
)
from memories.store.serializers.answers import memory_etag
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version, is_etag_current
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import InvalidInput, NotFound, StaleVersion
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.pages import build_page, list_as_rows
from memory_platform.rest.serializers import EmptyInput


class ScoringProfileEndpointBase(Endpoint):
    """What the endpoints of scoring profiles share."""

    scopes = ADMIN_FOR_WRITES

    def _answer(self, row: ScoringProfileVersion, code: int = status.HTTP_200_OK) -> Response:
        answer = serialize_scoring_profile(row)
        return Response(answer, status=code, headers={"ETag": memory_etag(answer)})

    def _read(self, request: Request, row: Callable[[], ScoringProfileVersion]) -> Response:
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = serialize_scoring_profile(row())
        etag = memory_etag(answer)
        if is_etag_current(request, etag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        return Response(answer, headers={"ETag": etag})

    def _page(
        self, rows: Callable[[], Sequence[ScoringProfileVersion]], *, ordering: str, kinds: tuple[type, type]
    ) -> Response:
        """A page of a list that is short enough to be read whole: it is as long as people make it."""
        values = self.query(BudgetProfileListInput)
        column = ordering.removeprefix("-")

        def place_of(row: ScoringProfileVersion) -> tuple[Any, Any]:
            return getattr(row, column), getattr(row, column)

        with tenant_scope(self.tenant_id):
            page = build_page(
                self.request,
                values,
                ordering=ordering,
                kinds=kinds,
                rows_from=list_as_rows(rows, ordering=ordering, place_of=place_of),
                place_of=place_of,
                answer=serialize_scoring_profile,
            )
        return Response(page)

    def _in_force(self, name: str) -> int:
        """The version in force that the client may rely on, 0 for none; `If-Match` must name the one that is shown."""
        shown = listed_scoring_profile(self.tenant_id, name)
        if_match_version(self.request, shown.version)
        return shown.version if shown.is_in_force else 0


class ScoringProfileListEndpoint(ScoringProfileEndpointBase):
    """Draft a scoring profile; list them."""

    @schema.scoring_profiles_schema
    def get(self, request: Request) -> Response:
        """One version of every scoring profile, in force or else the newest, by name; shipped ones are always there."""
        return self._page(lambda: listed_scoring_profiles(self.tenant_id), ordering="name", kinds=(str, str))

    @schema.create_scoring_profile_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Draft a scoring profile of another one's numbers with changes."""
        require_whole_tenant(self.key)
        values = self.body(ScoringProfileInput)
        named = {name: values.pop(name) for name in ("name", "based_on", "based_on_version")}
        with tenant_scope(self.tenant_id):
            row = create_scoring_profile(tenant_id=self.tenant_id, **named, changes=values, by=self.actor, now=self.now)
        return self._answer(row, status.HTTP_201_CREATED)


class ScoringProfileEndpoint(ScoringProfileEndpointBase):
    """One scoring profile."""

    @schema.read_scoring_profile_schema
    def get(self, request: Request, name: str) -> Response:
        """The version in force, else the newest."""
        return self._read(request, lambda: listed_scoring_profile(self.tenant_id, name))

    @schema.change_schema
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
        return self._answer(row)

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

    @schema.scoring_profile_versions_schema
    def get(self, request: Request, name: str) -> Response:
        """Every version in whatever state, newest first."""
        return self._page(lambda: scoring_profile_versions(self.tenant_id, name), ordering="-version", kinds=(int, int))


class ScoringProfileVersionEndpoint(ScoringProfileEndpointBase):
    """One version of a scoring profile."""

    @schema.version_schema
    def get(self, request: Request, name: str, version: int) -> Response:
        """The version, in whatever state."""

        def row() -> ScoringProfileVersion:
            try:
                return scoring_profile_version(self.tenant_id, name, version)
            except InvalidInput as error:
                raise NotFound("not_found", error.detail) from error

        return self._read(request, row)


class ScoringProfilePublishEndpoint(ScoringProfileEndpointBase):
    """Let agents name a version."""

    @schema.publish_schema
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Put a version into force. It needs a finished evaluation of exactly its numbers, and a decision."""
        require_whole_tenant(self.key)
        values = self.body(PublishInput)
        with tenant_scope(self.tenant_id):
            replaces = self._in_force(name)
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
        return self._answer(row)


class ScoringProfileRollBackEndpoint(ScoringProfileEndpointBase):
    """Back to a version that was in force."""

    @schema.roll_back_scoring_profile_schema
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Put a formerly published version into force again."""
        require_whole_tenant(self.key)
        version = self.body(ScoringRollBackInput)["version"]
        with tenant_scope(self.tenant_id):
            row = roll_back_scoring_profile(
                tenant_id=self.tenant_id,
                name=name,
                version=version,
                replaces=self._in_force(name),
                by=self.actor,
                now=self.now,
            )
            return self._answer(row)


class ScoringProfileRetireEndpoint(ScoringProfileEndpointBase):
    """Take a version out of use."""

    @schema.retire_schema
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Retire a version; receipts that name it can be read as before."""
        require_whole_tenant(self.key)
        version = self.body(RetireInput)["version"]
        with tenant_scope(self.tenant_id):
            self._in_force(name)
            row = retire_scoring_profile(
                tenant_id=self.tenant_id, name=name, version=version, by=self.actor, now=self.now
            )
            return self._answer(row)


class ScoringProfileComparisonEndpoint(ScoringProfileEndpointBase):
    """Two versions side by side."""

    @schema.compare_scoring_profiles_schema
    def get(self, request: Request, name: str) -> Response:
        """Every number of two versions of the profile, or of a version of it and one of another profile."""
        values = self.query(ScoringComparisonInput)
        other = values.get("other", name)
        with tenant_scope(self.tenant_id):
            listed_scoring_profile(self.tenant_id, name)
            a, b = self._version("a", name, values["a"]), self._version("b", other, values["b"])
            rows = compare_scoring_profiles(self.tenant_id, a, b)
        named = {side: {"name": each[0], "version": each[1]} for side, each in (("a", a), ("b", b))}
        return Response({**named, "fields": serialize_profile_comparison(rows)})

    def _version(self, side: str, name: str, version: int) -> tuple[str, int]:
        with errors_on_field(side):
            scoring_profile_version(self.tenant_id, name, version)
        return name, version


class ScoringProfileAssignmentEndpoint(AssignmentEndpoint):
    """Whom scoring profiles are for."""

    rows, field, answer = ScoringProfileAssignment, "profile", staticmethod(serialize_scoring_assignment)
    assign, unassign = staticmethod(assign_scoring_profile), staticmethod(unassign_scoring_profile)

    @schema.scoring_profile_assignments_schema
    def get(self, request: Request) -> Response:
        """The assignments within the key's reach, newest first."""
        return self.listed()

    @schema.assign_scoring_profile_schema
    def put(self, request: Request) -> Response:
        """Give a published profile to a key or a partition; what was assigned there before ends."""
        return self.assigned(ScoringAssignmentInput)

    @schema.unassign_scoring_profile_schema
    def delete(self, request: Request) -> Response:
        """End what is assigned to a key or a partition."""
        return self.ended()
