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
from context.profiles.api.assignments import ADMIN, AssignmentRows
from context.profiles.api.budget_profiles import blaming
from context.profiles.scoring_profiles import (
    compare_scoring_profiles,
    scoring_profile_version,
    scoring_profile_versions,
    shown_scoring_profile,
    shown_scoring_profiles,
)
from context.profiles.serializers.budget_profiles import ProfilesInput, comparison_answer
from context.profiles.serializers.scoring_profiles import (
    PublishInput,
    RetireInput,
    ScoringAssignmentInput,
    ScoringComparisonInput,
    ScoringProfileChanges,
    ScoringProfileInput,
    ScoringRollBackInput,
    scoring_assignment_answer,
    scoring_profile_answer,
)
from memories.store.serializers.answers import etag_of
from memories.tenancy.api.endpoint import Door
from memories.tenancy.api.etags import has_current, version_expected
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import InvalidInput, NotFound, StaleVersion
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.pages import listed, page_answer
from memory_platform.rest.serializers import EmptyInput


class ScoringProfileRows(Door):
    """What the endpoints of scoring profiles share."""

    scopes = ADMIN

    def _answer(self, row: ScoringProfileVersion, code: int = status.HTTP_200_OK) -> Response:
        answer = scoring_profile_answer(row)
        return Response(answer, status=code, headers={"ETag": etag_of(answer)})

    def _read(self, request: Request, row: Callable[[], ScoringProfileVersion]) -> Response:
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = scoring_profile_answer(row())
        etag = etag_of(answer)
        if has_current(request, etag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        return Response(answer, headers={"ETag": etag})

    def _page(
        self, rows: Callable[[], Sequence[ScoringProfileVersion]], *, ordering: str, kinds: tuple[type, type]
    ) -> Response:
        """A page of a list that is short enough to be read whole: it is as long as people make it."""
        values = self.query(ProfilesInput)
        column = ordering.removeprefix("-")

        def place_of(row: ScoringProfileVersion) -> tuple[Any, Any]:
            return getattr(row, column), getattr(row, column)

        with tenant_scope(self.tenant_id):
            page = page_answer(
                self.request,
                values,
                ordering=ordering,
                kinds=kinds,
                rows_from=listed(rows, ordering=ordering, place_of=place_of),
                place_of=place_of,
                answer=scoring_profile_answer,
            )
        return Response(page)

    def _in_force(self, name: str) -> int:
        """The version in force that the client may rely on, 0 for none; `If-Match` must name the one that is shown."""
        shown = shown_scoring_profile(self.tenant_id, name)
        version_expected(self.request, shown.version)
        return shown.version if shown.is_in_force else 0


class ScoringProfilesDoor(ScoringProfileRows):
    """Draft a scoring profile; list them."""

    @schema.profiles_schema
    def get(self, request: Request) -> Response:
        """One version of every scoring profile, in force or else the newest, by name; shipped ones are always there."""
        return self._page(lambda: shown_scoring_profiles(self.tenant_id), ordering="name", kinds=(str, str))

    @schema.create_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Draft a scoring profile of another one's numbers with changes."""
        require_whole_tenant(self.key)
        values = self.body(ScoringProfileInput)
        named = {name: values.pop(name) for name in ("name", "based_on", "based_on_version")}
        with tenant_scope(self.tenant_id):
            row = create_scoring_profile(tenant_id=self.tenant_id, **named, changes=values, by=self.actor, now=self.now)
        return self._answer(row, status.HTTP_201_CREATED)


class ScoringProfileDoor(ScoringProfileRows):
    """One scoring profile."""

    @schema.read_schema
    def get(self, request: Request, name: str) -> Response:
        """The version in force, else the newest."""
        return self._read(request, lambda: shown_scoring_profile(self.tenant_id, name))

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
        newest, shown = scoring_profile_versions(self.tenant_id, name)[0], shown_scoring_profile(self.tenant_id, name)
        try:
            version_expected(self.request, newest.version)
        except StaleVersion:
            version_expected(self.request, shown.version)
            return shown.version
        return newest.version


class ScoringVersionsDoor(ScoringProfileRows):
    """All versions of a scoring profile."""

    @schema.versions_schema
    def get(self, request: Request, name: str) -> Response:
        """Every version in whatever state, newest first."""
        return self._page(lambda: scoring_profile_versions(self.tenant_id, name), ordering="-version", kinds=(int, int))


class ScoringVersionDoor(ScoringProfileRows):
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


class PublishDoor(ScoringProfileRows):
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


class ScoringRollBackDoor(ScoringProfileRows):
    """Back to a version that was in force."""

    @schema.roll_back_schema
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


class RetireDoor(ScoringProfileRows):
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


class ScoringComparisonDoor(ScoringProfileRows):
    """Two versions side by side."""

    @schema.compare_schema
    def get(self, request: Request, name: str) -> Response:
        """Every number of two versions of the profile, or of a version of it and one of another profile."""
        values = self.query(ScoringComparisonInput)
        other = values.get("other", name)
        with tenant_scope(self.tenant_id):
            shown_scoring_profile(self.tenant_id, name)
            a, b = self._version("a", name, values["a"]), self._version("b", other, values["b"])
            rows = compare_scoring_profiles(self.tenant_id, a, b)
        named = {side: {"name": each[0], "version": each[1]} for side, each in (("a", a), ("b", b))}
        return Response({**named, "fields": comparison_answer(rows)})

    def _version(self, side: str, name: str, version: int) -> tuple[str, int]:
        with blaming(side):
            scoring_profile_version(self.tenant_id, name, version)
        return name, version


class ScoringAssignmentsDoor(AssignmentRows):
    """Whom scoring profiles are for."""

    rows, field, answer = ScoringProfileAssignment, "profile", staticmethod(scoring_assignment_answer)
    assign, unassign = staticmethod(assign_scoring_profile), staticmethod(unassign_scoring_profile)

    @schema.assignments_schema
    def get(self, request: Request) -> Response:
        """The assignments within the key's reach, newest first."""
        return self.listed()

    @schema.assign_schema
    def put(self, request: Request) -> Response:
        """Give a published profile to a key or a partition; what was assigned there before ends."""
        return self.assigned(ScoringAssignmentInput)

    @schema.unassign_schema
    def delete(self, request: Request) -> Response:
        """End what is assigned to a key or a partition."""
        return self.ended()
