"""API keys: authentication, throttle and documentation.

Keys are sent in `Authorization: Bearer` or `X-API-Key`; the package djangorestframework-api-key creates and hashes
them. Each request looks its key up, so revoking is immediate. The cache counts the requests of a key per second;
without a cache there is no limit.
"""

import logging
import threading
import time
from typing import Any

from django.conf import settings
from django.core.cache import cache
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from redis.exceptions import RedisError
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.models import ApiKey
from memories.tenancy.scopes import authentication_scope

logger = logging.getLogger(__name__)

KEY_CHARACTERS_MAX = 200
#: Pause after a cache error, because a hanging cache would delay every request.
THROTTLE_PAUSE_SECONDS = 5.0
#: A process reports its requests to the cache when they are this share of the limit (ADR-0122).
REPORTED_SHARE = 0.01


class KeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the key with its tenant; there is no user."""

    def authenticate(self, request: Request) -> tuple[None, ApiKey] | None:
        """Return the request's key, or None if it presents none. Raises `AuthenticationFailed` for an unusable key."""
        plain = _presented(request)
        if not plain:
            return None
        if not plain.isascii() or not plain.isprintable() or len(plain) > KEY_CHARACTERS_MAX:
            raise AuthenticationFailed
        try:
            key: ApiKey = ApiKey.objects.get_from_key(plain, authentication_scope(is_pipelined=True))
        except ApiKey.DoesNotExist:
            raise AuthenticationFailed from None
        if key.has_expired:
            raise AuthenticationFailed
        return None, key

    def authenticate_header(self, request: Request) -> str:
        """Return the `WWW-Authenticate` header of a 401."""
        return 'Bearer realm="api"'


def _presented(request: Request) -> str | None:
    """Return the key of the two headers, "" if it is empty, None if there is none. Raises for two different keys.

    `Authorization` in another form presents no key, so that the response says in which form to send it.
    """
    own, authorization = request.headers.get("X-API-Key"), request.headers.get("Authorization")
    if authorization is None:
        return own
    scheme, _, bearer = authorization.partition(" ")
    if scheme.lower() != "bearer":
        raise NotAuthenticated
    if own is not None and own.strip() != bearer.strip():
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


class RequestWindow:
    """The requests of each key in the current second that this process has not reported to the cache."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._second = 0
        self._unreported: dict[str, int] = {}
        self._refused: set[str] = set()

    def add(self, prefix: str, second: int, step: int) -> int:
        """Count a request; return how many to report now, 0 while there are fewer than `step`."""
        with self._lock:
            if second != self._second:
                self._second, self._unreported, self._refused = second, {}, set()
            count = self._unreported.get(prefix, 0) + 1
            is_due = count >= step
            self._unreported[prefix] = 0 if is_due else count
            return count if is_due else 0

    def refuse(self, prefix: str) -> None:
        """Refuse further requests of the key in this second."""
        self._refused.add(prefix)

    def is_refused(self, prefix: str, second: int) -> bool:
        return second == self._second and prefix in self._refused


class KeyThrottle(BaseThrottle):
    """Limits the requests of a key in fixed windows of one second; the limit is a setting.

    A cache command takes longer than authentication, so a process reports several requests at once: it may exceed the
    limit by one percent.
    """

    _is_warned = False
    _paused_until = 0.0
    _window = RequestWindow()

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count this request; return whether it is within the limit."""
        if not isinstance(request.auth, ApiKey) or time.monotonic() < KeyThrottle._paused_until:
            return True
        prefix, second, limit = request.auth.prefix, int(time.time()), settings.API_RATE_LIMIT_PER_SECOND
        if self._window.is_refused(prefix, second):
            return False
        reported = self._window.add(prefix, second, max(int(limit * REPORTED_SHARE), 1))
        if not reported:
            return True
        name = f"api-rate:{prefix}:{second}"
        try:
            count = reported if cache.add(name, reported, timeout=2) else cache.incr(name, reported)
        except ValueError:  # The window ended between the two commands.
            return True
        except (RedisError, OSError) as error:
            KeyThrottle._paused_until = time.monotonic() + THROTTLE_PAUSE_SECONDS
            if not KeyThrottle._is_warned:
                reason = type(error).__name__
                logger.warning("The cache cannot be reached (%s): requests are not limited by rate.", reason)
            KeyThrottle._is_warned = True
            return True
        KeyThrottle._is_warned = False
        if count > limit:
            self._window.refuse(prefix)
        return bool(count <= limit)

    def wait(self) -> float:
        """Return the seconds until the next window."""
        return 1
