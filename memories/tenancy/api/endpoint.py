"""The base class of all endpoints: one key, one tenant, one time, strict JSON in, JSON out."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from operator import attrgetter
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

from django.http import HttpRequest, UnreadablePostError
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework import status
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from memories.models import ApiKey, IdempotencyRecord
from memories.tenancy.api.authentication import KeyAuthentication, KeyThrottle
from memories.tenancy.api.body_limits import SMALL_BODY_BYTES, too_large
from memories.tenancy.api.etags import refuse_conditions, response_with_etag
from memories.tenancy.api.permissions import HasScope, require_whole_tenant
from memories.tenancy.api.slow_requests import slow_requests
from memories.tenancy.audit import Actor
from memories.tenancy.idempotency import mark_partly_done
from memories.tenancy.queries.rows import TenantRows
from memories.tenancy.replica import note_write
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.cursor_pagination import CursorPosition, build_page, position_to_row
from memory_platform.rest.rendering import FastJSONRenderer
from memory_platform.rest.request_errors import RestError
from memory_platform.rest.serializers import EmptyInput, StrictSerializer, query_values, validate_input
from memory_platform.rest.strict_json import StrictJSONParser, incomplete_body

logger = logging.getLogger(__name__)

ALL_METHODS = frozenset(map(str.upper, APIView.http_method_names))
_READ = ApiKey.Scope.READ
#: Requests with a large body that a process works on at once, and how long another one waits for its turn (ADR-0204).
LARGE_AT_ONCE = BoundedSemaphore(2)
LARGE_WAIT_SECONDS = 30.0


class Endpoint(APIView):
    """The base of all endpoints under /api/v1/. Subclasses translate requests, delegate and respond."""

    authentication_classes = [KeyAuthentication]
    permission_classes = [HasScope]
    throttle_classes = [KeyThrottle]
    parser_classes = [StrictJSONParser]
    renderer_classes = [FastJSONRenderer]
    #: The scope each method needs; `read` where none is named.
    scopes: dict[str, str] = {}
    #: The methods for which a key with a partition is refused.
    whole_tenant: Collection[str] = ()
    #: Fields of a response that are shown only once: a repetition by Idempotency-Key gets null for them.
    unrepeated: Sequence[str] = ()
    #: The largest body of a POST, PUT or PATCH, one of the limits of `body_limits`.
    body_bytes_max = SMALL_BODY_BYTES
    #: How the row of the URL is found, and the serializer of its answer, for endpoints of one row.
    edited_row: Callable[..., Any]
    output: type[Serializer[Any]]
    now: datetime
    #: The claim of this request's Idempotency-Key.
    claim: IdempotencyRecord | None = None
    #: The turns that the request returns at its end.
    _turns: ExitStack

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Respond, and return the turns of a slow request."""
        with ExitStack() as self._turns:
            response = super().dispatch(request, *args, **kwargs)
        # View and request refer to each other. Without these references, the response is freed immediately, which may
        # contain hundreds of objects, instead of by the garbage collector (ADR-0326).
        del self.response
        if isinstance(response, Response):
            response.add_post_render_callback(_forget_itself)
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Read the clock once; then check key, scope, rate and the size of the body."""
        self.now = timezone.now()
        super().initial(request, *args, **kwargs)
        method = getattr(self, str(request.method).lower(), None)
        if method is not None and request.method not in SAFE_METHODS:
            refuse_conditions(request, read=getattr(method, "read_headers", ()))
        # The middleware has checked that it is a number.
        declared = int(request.META.get("CONTENT_LENGTH") or 0)
        limit = self.body_bytes_max if request.method in {"POST", "PUT", "PATCH"} else SMALL_BODY_BYTES
        if declared > limit:
            raise too_large(limit)
        if request.method in self.whole_tenant:
            require_whole_tenant(self.key)
        if declared > SMALL_BODY_BYTES:
            self.begin_slow_request()
            self._take_turn(request._request)

    def begin_slow_request(self) -> None:
        """Count this request as slow until its end. Raises `RestError` if its tenant or all have too many."""
        self._turns.enter_context(slow_requests.one_of(self.tenant_id))

    def note_partial_write(self) -> None:
        """From the commit of the open scope until there is a response, refuse repetitions by Idempotency-Key.

        For work that must not be done twice, by a request whose response is not part of the same transaction.
        """
        if self.claim is not None:
            mark_partly_done(self.claim)

    def _take_turn(self, request: HttpRequest) -> None:
        """Wait for the turn with the body as bytes; the parsed body takes many times as much memory."""
        try:
            _ = request.body  # read first, because a client may send slowly
        except UnreadablePostError as error:
            raise incomplete_body() from error
        if not LARGE_AT_ONCE.acquire(timeout=LARGE_WAIT_SECONDS):
            detail = "Too many large requests arrived at once; try again."
            raise RestError("try_again", detail, status_code=503, retry_after=1)
        self._turns.callback(LARGE_AT_ONCE.release)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Record a write, so that the next search finds it."""
        key = getattr(request, "_auth", None)  # `auth` would authenticate a request that was refused before
        if isinstance(key, ApiKey) and self.scopes.get(request.method or "", _READ) != _READ:
            note_write(key.tenant_id)
        return super().finalize_response(request, response, *args, **kwargs)

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """Return 204 with the methods of this URL in `Allow`, a header of every response."""
        return Response(status=status.HTTP_204_NO_CONTENT)

    @property
    def key(self) -> ApiKey:
        """The key of this request."""
        return self.request.auth  # type: ignore[return-value]

    @property
    def tenant_id(self) -> UUID:
        """The tenant of this request, taken only from the key."""
        return self.key.tenant_id

    @property
    def actor(self) -> Actor:
        """The actor that the audit row and the receipt name."""
        return Actor.key(self.key)

    @property
    def action_arguments(self) -> dict[str, Any]:
        """The arguments that most actions take: `tenant`, `by` and `now`."""
        return {"tenant": self.key.tenant, "by": self.actor, "now": self.now}

    def body(self, serializer: type[StrictSerializer], **context: Any) -> dict[str, Any]:
        """Return the validated body; a missing one is an empty object. Query parameters count as unknown fields.

        Call it outside any database scope, because a client may send slowly.
        """
        if self.request.query_params:
            self.query(EmptyInput)
        return self.checked(serializer, self.request.data, context)

    def query(self, serializer: type[StrictSerializer], **context: Any) -> dict[str, Any]:
        """Return the validated query parameters."""
        return self.checked(serializer, query_values(self.request.query_params), context)

    def shown(self, *args: Any, **ids: Any) -> dict[str, Any]:
        """Return the answer for the row of the URL; inside a scope."""
        return dict(self.output(self.edited_row(*args, **ids)).data)

    def answer_with_etag(self, build: Callable[[], Mapping[str, Any]]) -> Response:
        """Answer a GET without parameters with what `build` returns in the tenant's scope, or 304 if it is known."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            answer = build()
        return response_with_etag(self.request, answer)

    def listing(
        self,
        rows: TenantRows,
        values: dict[str, Any],
        output: type[Serializer[Any]] | None = None,
        *,
        ordering: str = "-created_at",
        column: str = "",
        tie: str = "pk",
    ) -> Response:
        """Return a cursor page of `rows` by `column` (default: of `ordering`), each as `output` (default: its own)."""
        column = column or ordering.removeprefix("-")
        by = f"-{column}" if ordering.startswith("-") else column

        def rows_from(position: CursorPosition | None, count: int) -> TenantRows:
            return rows.page(by, **position_to_row(position), count=count, tie=tie)

        kinds, answer = (rows.kind_of(column), rows.kind_of(tie)), (output or self.output)().to_representation
        reading = {"rows_from": rows_from, "place_of": attrgetter(column, tie), "answer": answer}
        return self.page_response(values, ordering=ordering, kinds=kinds, **reading)

    def page_response(self, values: dict[str, Any], **reading: Any) -> Response:
        """Return a page that is read inside the tenant's scope; `reading` is for `build_page`."""
        with tenant_scope(self.tenant_id):
            return Response(build_page(self.request, values, **reading))

    def checked(self, serializer: type[StrictSerializer], data: Any, context: dict[str, Any]) -> dict[str, Any]:
        """Return `data` as validated by `serializer`. Raises `ValidationError` with all errors."""
        return validate_input(serializer, data, {"now": self.now, "key": self.key, **context})


def _forget_itself(response: Any) -> None:
    """Remove the reference to the response that its renderer was given."""
    response.renderer_context.pop("response", None)
