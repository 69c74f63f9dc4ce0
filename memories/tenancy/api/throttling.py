"""Limit requests per key and second, counted in the cache. Without a cache there is no limit."""

import logging
import time
from typing import Any

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.models import ApiKey

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 1
_KEPT_SECONDS = 2
#: Pause after a cache error, because a hanging cache would delay every request.
THROTTLE_PAUSE_SECONDS = 5.0


class KeyThrottle(BaseThrottle):
    """Fixed windows of one second; the limit is a setting."""

    _is_warned = False
    _paused_until = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count this request; return whether it is within the limit."""
        if not isinstance(request.auth, ApiKey) or time.monotonic() < KeyThrottle._paused_until:
            return True
        try:
            count = self._count(f"api-rate:{request.auth.prefix}:{int(time.time())}")
        except (RedisError, OSError) as error:
            KeyThrottle._paused_until = time.monotonic() + THROTTLE_PAUSE_SECONDS
            self._warn_once(error)
            return True
        KeyThrottle._is_warned = False
        return bool(count <= settings.API_RATE_LIMIT_PER_SECOND)

    def wait(self) -> float:
        """Seconds until the next window."""
        return WINDOW_SECONDS

    def _count(self, name: str) -> int:
        if cache.add(name, 1, timeout=_KEPT_SECONDS):
            return 1
        try:
            return cache.incr(name)
        except ValueError:  # The window ended in between.
            return 1

    def _warn_once(self, error: Exception) -> None:
        if not KeyThrottle._is_warned:
            KeyThrottle._is_warned = True
            logger.warning("The cache cannot be reached (%s): requests are not limited by rate.", type(error).__name__)
