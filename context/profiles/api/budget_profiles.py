"""Endpoints of budget profiles and their assignments. Changing either concerns the whole tenant."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
from context.profiles.api.assignments import ADMIN, AssignmentRows
from context.profiles.api.budget_profiles_schema import (
    assign_schema,
    assignments_schema,
    compare_schema,
    profile_change_schema,
    profile_create_schema,
    profile_read_schema,
    profile_set_schema,
    profiles_schema,
    roll_back_schema,
    unassign_schema,
    versions_schema,
)
from context.profiles.budget_profiles import (
    budget_profile_version,
    budget_profile_versions,
    compare_budget_profiles,
    current_budget_profile,
    current_budget_profiles,
    default_budget_profile,
    settings_of,
)
from context.profiles.serializers.budget_profiles import (
    AssignmentInput,
    ComparisonInput,
    ProfileChanges,
    ProfileInput,
    ProfilesInput,
    RollBackInput,
    assignment_answer,
    comparison_answer,
    profile_answer,
)
from memories.store.serializers.answers import etag_of
from memories.tenancy.api.endpoint import Door
from memories.tenancy.api.etags import has_current, version_expected
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.pages import listed, page_answer
from memory_platform.rest.serializers import EmptyInput


@contextmanager
def blaming(field: str) -> Iterator[None]:
    """Name the field of this request, where the lookup below knows it by another name."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(error.code, error.detail, field) from error


class ProfileRows(Door):
    """What the endpoints of budget profiles share."""

    scopes = ADMIN

    def _profile(self, name: str) -> BudgetProfile:
        """The version in force of the profile in the address."""
        try:
            return current_budget_profile(self.tenant_id, name)
        except InvalidInput as error:
            raise NotFound("not_found", error.detail) from error

    def _answer(self, profile: BudgetProfile, code: int = status.HTTP_200_OK) -> Response:
        answer = profile_answer(profile)
        return Response(answer, status=code, headers={"ETag": etag_of(answer)})

    def _page(
        self,
        values: dict[str, Any],
        rows: Callable[[], Sequence[BudgetProfile]],
        *,
        ordering: str,
        kinds: tuple[type, type],
    ) -> Response:
        """A page of a list that is short enough to be read whole: it is as long as people make it."""
        column = ordering.removeprefix("-")

        def place_of(row: BudgetProfile) -> tuple[Any, Any]:
            return getattr(row, column), getattr(row, column)

        with tenant_scope(self.tenant_id):
            page = page_answer(
                self.request,
                values,
                ordering=ordering,
                kinds=kinds,
                rows_from=listed(rows, ordering=ordering, place_of=place_of),
                place_of=place_of,
                answer=profile_answer,
            )
        return Response(page)


class ProfilesDoor(ProfileRows):
    """Make a budget profile; list them."""

    @profiles_schema
    def get(self, request: Request) -> Response:
        """The version in force of every budget profile, by name; `default` is always there."""
        values = self.query(ProfilesInput)
        return self._page(values, lambda: current_budget_profiles(self.tenant_id), ordering="name", kinds=(str, str))

    @profile_create_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a budget profile of another one's numbers with changes."""
        require_whole_tenant(self.key)
        values = self.body(ProfileInput)
        name, based_on = values.pop("name"), values.pop("based_on")
        with tenant_scope(self.tenant_id):
            with blaming("based_on"):
                current_budget_profile(self.tenant_id, based_on)
            profile = create_budget_profile(
                tenant_id=self.tenant_id, name=name, based_on=based_on, changes=values, by=self.actor, now=self.now
            )
        return self._answer(profile, status.HTTP_201_CREATED)


class ProfileDoor(ProfileRows):
    """One budget profile."""

    @profile_read_schema
    def get(self, request: Request, name: str) -> Response:
        """The version in force."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = profile_answer(self._profile(name))
        etag = etag_of(answer)
        if has_current(request, etag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        return Response(answer, headers={"ETag": etag})

    @profile_set_schema
    def put(self, request: Request, name: str) -> Response:
        """Put these numbers into force as a new version; a field that is absent gets its default."""
        require_whole_tenant(self.key)
        return self._save(name, settings_of(default_budget_profile(self.tenant_id)) | self.body(ProfileChanges))

    @profile_change_schema
    def patch(self, request: Request, name: str) -> Response:
        """Put some numbers into force as a new version; a field that is absent stays as it is."""
        require_whole_tenant(self.key)
        return self._save(name, self.body(ProfileChanges))

    def _save(self, name: str, changes: dict[str, Any]) -> Response:
        with tenant_scope(self.tenant_id):
            current = self._profile(name)
            version_expected(self.request, current.version)
            profile = save_budget_profile(
                tenant_id=self.tenant_id,
                name=name,
                changes=changes,
                edited_from=current.version,
                by=self.actor,
                now=self.now,
            )
        return self._answer(profile)


class ProfileVersionsDoor(ProfileRows):
    """All versions of a budget profile."""

    @versions_schema
    def get(self, request: Request, name: str) -> Response:
        """Every version with its recorded interval, newest first."""
        values = self.query(ProfilesInput)

        def rows() -> list[BudgetProfile]:
            self._profile(name)
            return budget_profile_versions(self.tenant_id, name)

        return self._page(values, rows, ordering="-version", kinds=(int, int))


class RollBackDoor(ProfileRows):
    """Back to an earlier version."""

    @roll_back_schema
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Put the numbers of an older version into force again, as a new version."""
        require_whole_tenant(self.key)
        version = self.body(RollBackInput)["version"]
        with tenant_scope(self.tenant_id):
            current = self._profile(name)
            version_expected(request, current.version)
            profile = roll_back_budget_profile(
                tenant_id=self.tenant_id,
                name=name,
                version=version,
                edited_from=current.version,
                by=self.actor,
                now=self.now,
            )
        return self._answer(profile)


class ComparisonDoor(ProfileRows):
    """Two versions side by side."""

    @compare_schema
    def get(self, request: Request, name: str) -> Response:
        """Every number of two versions of the profile, or of a version of it and one of another profile."""
        values = self.query(ComparisonInput)
        other = values.get("other", name)
        with tenant_scope(self.tenant_id):
            self._profile(name)
            a, b = self._version("a", name, values["a"]), self._version("b", other, values["b"])
            rows = compare_budget_profiles(self.tenant_id, a, b)
        named = {side: {"name": each[0], "version": each[1]} for side, each in (("a", a), ("b", b))}
        return Response({**named, "fields": comparison_answer(rows)})

    def _version(self, side: str, name: str, version: int) -> tuple[str, int]:
        with blaming(side):
            budget_profile_version(self.tenant_id, name, version)
        return name, version


class AssignmentsDoor(AssignmentRows):
    """Whom budget profiles are for."""

    rows, field, answer = BudgetProfileAssignment, "budget_profile", staticmethod(assignment_answer)
    assign, unassign = staticmethod(assign_budget_profile), staticmethod(unassign_budget_profile)

    @assignments_schema
    def get(self, request: Request) -> Response:
        """The assignments within the key's reach, newest first."""
        return self.listed()

    @assign_schema
    def put(self, request: Request) -> Response:
        """Give a profile to a key or a partition; what was assigned there before ends."""
        return self.assigned(AssignmentInput)

    @unassign_schema
    def delete(self, request: Request) -> Response:
        """End what is assigned to a key or a partition."""
        return self.ended()
