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
from context.profiles.api.assignments import ADMIN_FOR_WRITES, AssignmentEndpoint
from context.profiles.api.budget_profiles_schema import (
    assign_budget_profile_schema,
    budget_profile_assignments_schema,
    budget_profile_versions_schema,
    budget_profiles_schema,
    compare_budget_profiles_schema,
    profile_change_schema,
    profile_create_schema,
    profile_read_schema,
    profile_set_schema,
    roll_back_budget_profile_schema,
    unassign_budget_profile_schema,
)
from context.profiles.budget_profiles import (
    budget_profile_settings,
    budget_profile_version,
    budget_profile_versions,
    compare_budget_profiles,
    current_budget_profile,
    current_budget_profiles,
    default_budget_profile,
)
from context.profiles.serializers.budget_profiles import (
    BudgetProfileAssignmentInput,
    BudgetProfileChanges,
    BudgetProfileComparisonInput,
    BudgetProfileInput,
    BudgetProfileListInput,
    BudgetProfileRollBackInput,
    serialize_budget_assignment,
    serialize_budget_profile,
    serialize_profile_comparison,
)
from memories.store.serializers.answers import memory_etag
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version, is_etag_current
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.pages import build_page, list_as_rows
from memory_platform.rest.serializers import EmptyInput


@contextmanager
def errors_on_field(field: str) -> Iterator[None]:
    """Name the field of this request, where the lookup below knows it by another name."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(error.code, error.detail, field) from error


class BudgetProfileEndpointBase(Endpoint):
    """What the endpoints of budget profiles share."""

    scopes = ADMIN_FOR_WRITES

    def _profile(self, name: str) -> BudgetProfile:
        """The version in force of the profile in the address."""
        try:
            return current_budget_profile(self.tenant_id, name)
        except InvalidInput as error:
            raise NotFound("not_found", error.detail) from error

    def _answer(self, profile: BudgetProfile, code: int = status.HTTP_200_OK) -> Response:
        answer = serialize_budget_profile(profile)
        return Response(answer, status=code, headers={"ETag": memory_etag(answer)})

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
            page = build_page(
                self.request,
                values,
                ordering=ordering,
                kinds=kinds,
                rows_from=list_as_rows(rows, ordering=ordering, place_of=place_of),
                place_of=place_of,
                answer=serialize_budget_profile,
            )
        return Response(page)


class BudgetProfileListEndpoint(BudgetProfileEndpointBase):
    """Make a budget profile; list them."""

    @budget_profiles_schema
    def get(self, request: Request) -> Response:
        """The version in force of every budget profile, by name; `default` is always there."""
        values = self.query(BudgetProfileListInput)
        return self._page(values, lambda: current_budget_profiles(self.tenant_id), ordering="name", kinds=(str, str))

    @profile_create_schema
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
        return self._answer(profile, status.HTTP_201_CREATED)


class BudgetProfileEndpoint(BudgetProfileEndpointBase):
    """One budget profile."""

    @profile_read_schema
    def get(self, request: Request, name: str) -> Response:
        """The version in force."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = serialize_budget_profile(self._profile(name))
        etag = memory_etag(answer)
        if is_etag_current(request, etag):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
        return Response(answer, headers={"ETag": etag})

    @profile_set_schema
    def put(self, request: Request, name: str) -> Response:
        """Put these numbers into force as a new version; a field that is absent gets its default."""
        require_whole_tenant(self.key)
        return self._save(
            name, budget_profile_settings(default_budget_profile(self.tenant_id)) | self.body(BudgetProfileChanges)
        )

    @profile_change_schema
    def patch(self, request: Request, name: str) -> Response:
        """Put some numbers into force as a new version; a field that is absent stays as it is."""
        require_whole_tenant(self.key)
        return self._save(name, self.body(BudgetProfileChanges))

    def _save(self, name: str, changes: dict[str, Any]) -> Response:
        with tenant_scope(self.tenant_id):
            current = self._profile(name)
            if_match_version(self.request, current.version)
            profile = save_budget_profile(
                tenant_id=self.tenant_id,
                name=name,
                changes=changes,
                edited_from=current.version,
                by=self.actor,
                now=self.now,
            )
        return self._answer(profile)


class BudgetProfileVersionListEndpoint(BudgetProfileEndpointBase):
    """All versions of a budget profile."""

    @budget_profile_versions_schema
    def get(self, request: Request, name: str) -> Response:
        """Every version with its recorded interval, newest first."""
        values = self.query(BudgetProfileListInput)

        def rows() -> list[BudgetProfile]:
            self._profile(name)
            return budget_profile_versions(self.tenant_id, name)

        return self._page(values, rows, ordering="-version", kinds=(int, int))


class BudgetProfileRollBackEndpoint(BudgetProfileEndpointBase):
    """Back to an earlier version."""

    @roll_back_budget_profile_schema
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Put the numbers of an older version into force again, as a new version."""
        require_whole_tenant(self.key)
        version = self.body(BudgetProfileRollBackInput)["version"]
        with tenant_scope(self.tenant_id):
            current = self._profile(name)
            if_match_version(request, current.version)
            profile = roll_back_budget_profile(
                tenant_id=self.tenant_id,
                name=name,
                version=version,
                edited_from=current.version,
                by=self.actor,
                now=self.now,
            )
        return self._answer(profile)


class BudgetProfileComparisonEndpoint(BudgetProfileEndpointBase):
    """Two versions side by side."""

    @compare_budget_profiles_schema
    def get(self, request: Request, name: str) -> Response:
        """Every number of two versions of the profile, or of a version of it and one of another profile."""
        values = self.query(BudgetProfileComparisonInput)
        other = values.get("other", name)
        with tenant_scope(self.tenant_id):
            self._profile(name)
            a, b = self._version("a", name, values["a"]), self._version("b", other, values["b"])
            rows = compare_budget_profiles(self.tenant_id, a, b)
        named = {side: {"name": each[0], "version": each[1]} for side, each in (("a", a), ("b", b))}
        return Response({**named, "fields": serialize_profile_comparison(rows)})

    def _version(self, side: str, name: str, version: int) -> tuple[str, int]:
        with errors_on_field(side):
            budget_profile_version(self.tenant_id, name, version)
        return name, version


class BudgetProfileAssignmentEndpoint(AssignmentEndpoint):
    """Whom budget profiles are for."""

    rows, field, answer = BudgetProfileAssignment, "budget_profile", staticmethod(serialize_budget_assignment)
    assign, unassign = staticmethod(assign_budget_profile), staticmethod(unassign_budget_profile)

    @budget_profile_assignments_schema
    def get(self, request: Request) -> Response:
        """The assignments within the key's reach, newest first."""
        return self.listed()

    @assign_budget_profile_schema
    def put(self, request: Request) -> Response:
        """Give a profile to a key or a partition; what was assigned there before ends."""
        return self.assigned(BudgetProfileAssignmentInput)

    @unassign_budget_profile_schema
    def delete(self, request: Request) -> Response:
        """End what is assigned to a key or a partition."""
        return self.ended()
