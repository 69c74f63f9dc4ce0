"""The endpoints that budget profiles and scoring profiles share. A change of either concerns the whole tenant."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from drf_spectacular.drainage import isolate_view_method
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from context.profiles.kinds import ProfileKind
from context.profiles.serializers.profiles import (
    AssignmentListInput,
    AssignmentTargetInput,
    ProfileComparisonInput,
    ProfileComparisonOutput,
    ProfileRollBackInput,
)
from context.profiles.versions import ProfileFieldComparison, ProfileVersion, changed_numbers, compare_versions
from memories.models import ApiKey
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.store.serializers.answers import content_etag, memory_etag
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version, require_etag
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.cursor_pagination import PageInput, list_as_rows

Class = TypeVar("Class", bound=type)
BACK_EXAMPLE = {"To the first version": {"version": 1}}
#: Equals no ETag.
_NOT_ASSIGNED = ""


class ProfileEndpointBase(ViewSetMixin, Endpoint):
    """The base of the endpoints of both kinds; `output` builds the answers."""

    scopes = dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), "admin")
    whole_tenant = scopes.keys()

    kind: ProfileKind

    def answer(self, row: object) -> dict[str, Any]:
        return dict(self.output(row).data)

    def perform(self, action: Callable[..., Any], **values: Any) -> Any:
        """Return what an action returns; inside a scope."""
        return action(tenant_id=self.tenant_id, by=self.actor, now=self.now, **values)


class ProfileEndpoints(ProfileEndpointBase):
    """The endpoints of the profiles of one kind."""

    body_bytes_max = TEXT_BODY_BYTES

    def list_profiles(self, request: Request) -> Response:
        """Return the active version of every profile, else its newest, by name; built-in profiles are included."""
        return self._page(lambda: self.kind.listed(self.tenant_id), "name")

    def read(self, request: Request, name: str) -> Response:
        """Return the active version, else the newest."""
        return self.answer_with_etag(lambda: self.answer(self.kind.find(self.tenant_id, name)))

    def versions(self, request: Request, name: str) -> Response:
        """Return every version, newest first."""
        return self._page(lambda: self.kind.versions(self.tenant_id, name), "-version")

    def compare(self, request: Request, name: str) -> Response:
        """Return every setting of two versions of the profile, or of a version of it and one of another profile."""
        return self._compared(name, compare_versions)

    def diff(self, request: Request, name: str) -> Response:
        """Return the settings that differ between two versions of the profile, or of it and another profile."""
        return self._compared(name, changed_numbers)

    def _compared(self, name: str, fields: Callable[..., Sequence[ProfileFieldComparison]]) -> Response:
        values = self.query(ProfileComparisonInput)
        with tenant_scope(self.tenant_id):
            self.kind.find(self.tenant_id, name)
            a = self._compared_row("a", name, values["a"])
            b = self._compared_row("b", values.get("other", name), values["b"])
        return Response(ProfileComparisonOutput({"a": a, "b": b, "fields": fields(a, b)}).data)

    @idempotent
    def roll_back(self, request: Request, name: str) -> Response:
        """Make an earlier version active again."""
        values = self.body(ProfileRollBackInput)
        with tenant_scope(self.tenant_id):
            return self.changed(self.kind.roll_back, name=name, replaces=self.active_version(name), **values)

    def changed(self, action: Callable[..., Any], code: int = status.HTTP_200_OK, **values: Any) -> Response:
        """Return the version that an action returns, with its ETag; inside a scope."""
        answer = self.answer(self.perform(action, **values))
        return Response(answer, status=code, headers={"ETag": memory_etag(answer)})

    def active_version(self, name: str) -> int:
        """Return the active version, 0 for none; `If-Match` must name the version that `read` returns."""
        shown = self.kind.find(self.tenant_id, name)
        if_match_version(self.request, shown.version)
        return shown.version if shown.is_active else 0

    def _page(self, rows: Callable[[], Sequence[ProfileVersion]], ordering: str) -> Response:
        """Return a page of a list that is short enough to be read whole."""
        column = ordering.removeprefix("-")

        def place_of(row: ProfileVersion) -> tuple[Any, Any]:
            return getattr(row, column), getattr(row, column)

        return self.page_response(
            self.query(PageInput),
            ordering=ordering,
            kinds=(int, int) if column == "version" else (str, str),
            rows_from=list_as_rows(rows, ordering=ordering, place_of=place_of),
            place_of=place_of,
            answer=self.answer,
        )

    def _compared_row(self, side: str, name: str, version: int) -> ProfileVersion:
        try:
            row: ProfileVersion = self.kind.version(self.tenant_id, name, version)
        except InvalidInput as error:
            raise InvalidInput(error.code, error.detail, side) from error
        return row


class AssignmentEndpoints(ProfileEndpointBase):
    """The endpoints of the assignments of one kind; `input` is the body of a new one."""

    input: type[AssignmentTargetInput]

    def list_assignments(self, request: Request) -> Response:
        """Return the assignments that the key may see, newest first."""
        values = self.query(AssignmentListInput)
        rows = self.kind.assignments.model.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix)
        rows = rows if values["history"] else rows.current()
        return self.listing(rows.with_keys(), values, ordering="-recorded_from")

    def assign(self, request: Request) -> Response:
        """Assign a profile to a key or a partition; the earlier assignment of the target ends."""
        values = self.body(self.input)
        with tenant_scope(self.tenant_id):
            target = self._target(values)
            self._require_match(target)
            name = values[self.kind.noun]
            answer = self.answer(self.perform(self.kind.assignments.assign, profile_name=name, **target))
        return Response(answer, headers={"ETag": content_etag(answer)})

    def unassign(self, request: Request) -> Response:
        """End the assignment of a key or a partition."""
        values = self.query(AssignmentTargetInput)
        with tenant_scope(self.tenant_id):
            target = self._target(values)
            self._require_match(target)
            self.perform(self.kind.assignments.unassign, **target)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _require_match(self, target: dict[str, str]) -> None:
        """Raise `StaleVersion` unless `If-Match` names the present assignment of the target."""

        def etag() -> str:
            row = self.kind.assignments.active(tenant_id=self.tenant_id, **target)
            return content_etag(self.answer(row)) if row else _NOT_ASSIGNED

        require_etag(self.request, etag)

    def _target(self, values: dict[str, Any]) -> dict[str, str]:
        """Return the target as the actions take it; a request names a key by its visible part."""
        if values["key"] is None:
            return {"partition_path": values["partition"].path}
        keys = ApiKey.objects.for_tenant(self.tenant_id).with_prefix(values["key"])
        key = find_row(keys, ApiKey, "key", "key")
        return {"api_key_id": str(key.pk)}


def _describe_inherited(**operations: Callable[..., Any]) -> Callable[[Class], Class]:
    """Return the decorator that documents inherited methods; `extend_schema_view` knows only the names of routers."""

    def decorate(view: Class) -> Class:
        for name, describe in operations.items():
            describe(isolate_view_method(view, name))  # type: ignore[no-untyped-call]
        return view

    return decorate


def describe_profiles(kind: ProfileKind, output: type[serializers.Serializer[Any]]) -> Callable[[Class], Class]:
    """Return the decorator that documents the shared endpoints of a kind."""
    noun = kind.noun
    return _describe_inherited(
        list_profiles=list_operation(f"{noun}s_list", output),
        read=operation(f"{noun}s_read", {200: output, 304: None}, 404),
        versions=list_operation(f"{noun}s_versions", output, 404),
        compare=operation(f"{noun}s_compare", {200: ProfileComparisonOutput}, 404, parameters=[ProfileComparisonInput]),
        diff=operation(f"{noun}s_diff", {200: ProfileComparisonOutput}, 404, parameters=[ProfileComparisonInput]),
        roll_back=operation(
            f"{noun}s_roll_back",
            {200: output},
            404,
            request=ProfileRollBackInput,
            examples=BACK_EXAMPLE,
            parameters=[IF_MATCH],
        ),
    )


def describe_assignments(
    kind: ProfileKind, output: type[serializers.Serializer[Any]], request: type[AssignmentTargetInput]
) -> Callable[[Class], Class]:
    """Return the decorator that documents the endpoints of assignments."""
    noun = kind.noun
    return _describe_inherited(
        list_assignments=list_operation(f"{noun}_assignments_list", output, query=AssignmentListInput),
        assign=operation(
            f"{noun}_assignments_set",
            {200: output},
            404,
            409,
            request=request,
            examples={"For one user": {noun: "support", "partition": "user=alex"}},
            parameters=[IF_MATCH],
        ),
        unassign=operation(f"{noun}_assignments_end", {204: None}, 404, parameters=[AssignmentTargetInput, IF_MATCH]),
    )
