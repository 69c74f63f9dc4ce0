"""The base class of all endpoints: one key, one tenant, one time, strict JSON in, JSON out."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.models import ApiKey
from memories.tenancy.api.authentication import KeyAuthentication
from memories.tenancy.api.permissions import HasScope
from memories.tenancy.api.throttling import KeyThrottle
from memories.tenancy.audit import Actor
from memories.tenancy.queries.rows import TenantRows
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.pages import build_page, position_to_row
from memory_platform.rest.parsing import StrictJSONParser
from memory_platform.rest.serializers import EmptyInput, StrictSerializer, query_values


class Endpoint(APIView):
    """The base of all endpoints under /api/v1/. Subclasses translate, delegate and answer."""

    authentication_classes = [KeyAuthentication]
    permission_classes = [HasScope]
    throttle_classes = [KeyThrottle]
    parser_classes = [StrictJSONParser]
    renderer_classes = [JSONRenderer]
    metadata_class = None
    #: The scope each method needs; `read` where none is named.
    scopes: dict[str, str] = {}
    #: Fields of an answer that are shown once: a repetition by Idempotency-Key gets null for them.
    unrepeated: Sequence[str] = ()
    now: datetime

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Read the clock once; then key, scope and rate."""
        self.now = timezone.now()
        super().initial(request, *args, **kwargs)

    @property
    def key(self) -> ApiKey:
        """The key of this request."""
        return self.request.auth  # type: ignore[return-value]

    @property
    def tenant_id(self) -> UUID:
        """The tenant of this request, from the key and nowhere else."""
        return self.key.tenant_id

    @property
    def actor(self) -> Actor:
        """The actor that the audit row and the receipt name."""
        return Actor.key(self.key)

    def body(self, serializer: type[StrictSerializer], **context: Any) -> dict[str, Any]:
        """Return the validated body; an absent one is an empty object. Query parameters are unknown fields.

        Call it outside of any database scope: a client may send slowly.
        """
        self.query(EmptyInput)
        return self.checked(serializer, self.request.data, context)

    def query(self, serializer: type[StrictSerializer], **context: Any) -> dict[str, Any]:
        """Return the validated query parameters."""
        return self.checked(serializer, query_values(self.request.query_params), context)

    def listing(
        self,
        rows: TenantRows,
        values: dict[str, Any],
        *,
        ordering: str,
        kinds: tuple[type, type],
        answer: Callable[[Any], Any],
        column: str = "",
        tie: str = "pk",
    ) -> Response:
        """Answer with a cursor page of `rows`, sorted by `column`, which is that of `ordering` unless given.

        `kinds` are the types of the column's values and of the tie's.
        """
        column = column or ordering.removeprefix("-")
        by = f"-{column}" if ordering.startswith("-") else column
        return self.page_response(
            values,
            ordering=ordering,
            kinds=kinds,
            rows_from=lambda position, count: rows.page(by, **position_to_row(position), count=count, tie=tie),
            place_of=lambda row: (getattr(row, column), getattr(row, tie)),
            answer=answer,
        )

    def page_response(self, values: dict[str, Any], **reading: Any) -> Response:
        """Answer with a page that is read inside the tenant's scope; `reading` is for `build_page`."""
        with tenant_scope(self.tenant_id):
            return Response(build_page(self.request, values, **reading))

    def checked(self, serializer: type[StrictSerializer], data: Any, context: dict[str, Any]) -> dict[str, Any]:
        """Return `data` as validated by `serializer`. Raises `ValidationError` with every fault."""
        checked = serializer(data=data, context={"now": self.now, "key": self.key, **context})
        checked.is_valid(raise_exception=True)
        return dict(checked.validated_data)
