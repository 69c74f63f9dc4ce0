"""The base class of all endpoints: one key, one tenant, one time, strict JSON in, JSON out.

API keys come in `Authorization: Bearer` or `X-API-Key`. Each request looks its key up, so revoking is immediate. The
cache counts the requests of a key per second; without a cache there is no limit.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from redis.exceptions import RedisError
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from memories.models import ApiKey
from memories.tenancy.api.permissions import HasScope
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound
from memories.tenancy.queries.rows import TenantRows
from memories.tenancy.scopes import authentication_scope, tenant_scope
from memory_platform.rest.pages import CursorPosition, build_page, position_to_row
from memory_platform.rest.parsing import StrictJSONParser
from memory_platform.rest.serializers import EmptyInput, StrictSerializer, query_values

logger = logging.getLogger(__name__)

KEY_CHARACTERS_MAX = 200
#: Pause after a cache error, because a hanging cache would delay every request.
THROTTLE_PAUSE_SECONDS = 5.0


class KeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the key with its tenant; there is no user."""

    def authenticate(self, request: Request) -> tuple[None, ApiKey] | None:
        """Return the request's key, None without one. Raises `AuthenticationFailed` for an unusable key."""
        plain = _presented(request)
        if plain is None:
            return None
        if not plain.isascii() or not plain.isprintable() or len(plain) > KEY_CHARACTERS_MAX:
            raise AuthenticationFailed
        with authentication_scope():
            try:
                key: ApiKey = ApiKey.objects.get_from_key(plain)
            except ApiKey.DoesNotExist:
                raise AuthenticationFailed from None
        if key.has_expired:
            raise AuthenticationFailed
        return None, key

    def authenticate_header(self, request: Request) -> str:
        """Return the `WWW-Authenticate` header of a 401."""
        return 'Bearer realm="api"'


def _presented(request: Request) -> str | None:
    own, authorization = request.headers.get("X-API-Key"), request.headers.get("Authorization")
    if authorization is None:
        return own
    scheme, _, bearer = authorization.partition(" ")
    if scheme.lower() != "bearer" or (own is not None and own.strip() != bearer.strip()):
        raise AuthenticationFailed
    return bearer.strip()


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The two headers in the OpenAPI schema, which send the same key."""

    target_class = KeyAuthentication
    name = ["bearerKey", "headerKey"]

    def get_security_requirement(self, auto_schema: Any) -> Any:
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> Any:
        return [
            {"type": "http", "scheme": "bearer", "description": "Authorization: Bearer <key>"},
            {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        ]


class KeyThrottle(BaseThrottle):
    """Limits the requests of a key in fixed windows of one second; the limit is a setting."""

    _is_warned = False
    _paused_until = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count this request; return whether it is within the limit."""
        if not isinstance(request.auth, ApiKey) or time.monotonic() < KeyThrottle._paused_until:
            return True
        name = f"api-rate:{request.auth.prefix}:{int(time.time())}"
        try:
            count = 1 if cache.add(name, 1, timeout=2) else cache.incr(name)
        except ValueError:  # The window ended in between.
            return True
        except (RedisError, OSError) as error:
            KeyThrottle._paused_until = time.monotonic() + THROTTLE_PAUSE_SECONDS
            if not KeyThrottle._is_warned:
                reason = type(error).__name__
                logger.warning("The cache cannot be reached (%s): requests are not limited by rate.", reason)
            KeyThrottle._is_warned = True
            return True
        KeyThrottle._is_warned = False
        return bool(count <= settings.API_RATE_LIMIT_PER_SECOND)

    def wait(self) -> float:
        """Return the seconds until the next window."""
        return 1


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

    @property
    def acting(self) -> dict[str, Any]:
        """The arguments that most actions take: `tenant`, `by` and `now`."""
        return {"tenant": self.key.tenant, "by": self.actor, "now": self.now}

    def body(self, serializer: type[StrictSerializer], **context: Any) -> dict[str, Any]:
        """Return the validated body; an absent one is an empty object. Query parameters are unknown fields.

        Call it outside of any database scope: a client may send slowly.
        """
        self.query(EmptyInput)
        return self.checked(serializer, self.request.data, context)

    def query(self, serializer: type[StrictSerializer], **context: Any) -> dict[str, Any]:
        """Return the validated query parameters."""
        return self.checked(serializer, query_values(self.request.query_params), context)

    def found(self, rows: QuerySet[Any], what: str, field: str = "") -> Any:
        """Return the first of `rows`. Raises `NotFound` with the name of the thing."""
        row = rows.first()
        if row is None:
            raise NotFound("not_found", f"There is no such {what}.", field)
        return row

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
        """Answer with a cursor page of `rows` by `column` (default: of `ordering`); `kinds`: types of value and tie."""
        column = column or ordering.removeprefix("-")
        by = f"-{column}" if ordering.startswith("-") else column

        def rows_from(position: CursorPosition | None, count: int) -> TenantRows:
            return rows.page(by, **position_to_row(position), count=count, tie=tie)

        reading = {"rows_from": rows_from, "place_of": attrgetter(column, tie), "answer": answer}
        return self.page_response(values, ordering=ordering, kinds=kinds, **reading)

    def page_response(self, values: dict[str, Any], **reading: Any) -> Response:
        """Answer with a page that is read inside the tenant's scope; `reading` is for `build_page`."""
        with tenant_scope(self.tenant_id):
            return Response(build_page(self.request, values, **reading))

    def checked(self, serializer: type[StrictSerializer], data: Any, context: dict[str, Any]) -> dict[str, Any]:
        """Return `data` as validated by `serializer`. Raises `ValidationError` with every fault."""
        checked = serializer(data=data, context={"now": self.now, "key": self.key, **context})
        checked.is_valid(raise_exception=True)
        return dict(checked.validated_data)
