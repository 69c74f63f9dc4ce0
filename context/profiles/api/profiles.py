"""The endpoints that budget profiles and scoring profiles share. Changing either concerns the whole tenant."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response

from context.profiles.serializers.budget_profiles import (
    ProfileComparisonInput,
    ProfileListInput,
    serialize_profile_comparison,
)
from context.profiles.versions import ProfileVersion, compare_versions
from memories.store.api.schema import response_schemas
from memories.store.serializers.answers import memory_etag
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import is_etag_current
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.pages import build_page, list_as_rows
from memory_platform.rest.serializers import EmptyInput

Method = TypeVar("Method", bound=Callable[..., Any])

ADMIN_FOR_WRITES = {"POST": "admin", "PUT": "admin", "PATCH": "admin", "DELETE": "admin"}
#: The problems that a change of a profile can be refused with.
CHANGE_PROBLEMS = (404, 409, 412, 413)


class SchemaDecorator(Protocol):
    """A decorator that leaves an endpoint's method as it is."""

    def __call__(self, method: Method, /) -> Method: ...


def operation_schema(
    tag: str, operation_id: str, good: Mapping[int, Any], *problems: int, **options: Any
) -> SchemaDecorator:
    """Return the decorator that describes an endpoint's method in the OpenAPI document."""
    responses = response_schemas(good, *problems)
    return extend_schema(operation_id=operation_id, tags=[tag], responses=responses, **options)


@contextmanager
def errors_on_field(field: str) -> Iterator[None]:
    """Name the field of this request where the lookup below knows it by another name."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(error.code, error.detail, field) from error


class ProfileEndpoint(Endpoint):
    """The base of the endpoints of both kinds: `serialize` writes a version, `version_row` reads one."""

    scopes = ADMIN_FOR_WRITES

    serialize: Callable[[Any], dict[str, Any]]
    version_row: Callable[[UUID, str, int], ProfileVersion]

    def answered(self, row: ProfileVersion, code: int = status.HTTP_200_OK) -> Response:
        """Return a version with its ETag."""
        answer = self.serialize(row)
        return Response(answer, status=code, headers={"ETag": memory_etag(answer)})

    def read(self, row: Callable[[], ProfileVersion]) -> Response:
        """Return a version, or 304 where the client has it."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            response = self.answered(row())
        if is_etag_current(self.request, response.headers["ETag"]):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": response.headers["ETag"]})
        return response

    def by_name(self, rows: Callable[[], Sequence[ProfileVersion]]) -> Response:
        """Return a page of profiles in the order of their names."""
        return self._page(rows, ordering="name", kind=str)

    def newest_first(self, rows: Callable[[], Sequence[ProfileVersion]]) -> Response:
        """Return a page of the versions of one profile."""
        return self._page(rows, ordering="-version", kind=int)

    def _page(self, rows: Callable[[], Sequence[ProfileVersion]], *, ordering: str, kind: type) -> Response:
        """Return a page of a list that is short enough to be read whole: it is as long as people make it."""
        values = self.query(ProfileListInput)
        column = ordering.removeprefix("-")

        def place_of(row: ProfileVersion) -> tuple[Any, Any]:
            return getattr(row, column), getattr(row, column)

        with tenant_scope(self.tenant_id):
            page = build_page(
                self.request,
                values,
                ordering=ordering,
                kinds=(kind, kind),
                rows_from=list_as_rows(rows, ordering=ordering, place_of=place_of),
                place_of=place_of,
                answer=self.serialize,
            )
        return Response(page)

    def compared(self, name: str, require: Callable[[UUID, str], object]) -> Response:
        """Return every number of two versions; `require` refuses a profile that the tenant does not have."""
        values = self.query(ProfileComparisonInput)
        with tenant_scope(self.tenant_id):
            require(self.tenant_id, name)
            a = self._compared_row("a", name, values["a"])
            b = self._compared_row("b", values.get("other", name), values["b"])
        sides = {side: {"name": row.name, "version": row.version} for side, row in (("a", a), ("b", b))}
        return Response({**sides, "fields": serialize_profile_comparison(compare_versions(a, b))})

    def _compared_row(self, side: str, name: str, version: int) -> ProfileVersion:
        with errors_on_field(side):
            return self.version_row(self.tenant_id, name, version)
