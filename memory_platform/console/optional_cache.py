"""The shared cache for values that pages do not need: it may be unavailable."""

import logging
from collections.abc import Iterable
from typing import Any

from django.core.cache import cache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


def read_cached(keys: Iterable[str]) -> dict[str, Any]:
    """Return the values of the existing keys; none if the cache cannot be reached."""
    try:
        return dict(cache.get_many(keys))
    except (RedisError, OSError) as error:
        logger.warning("The cache cannot be reached (%s).", type(error).__name__)
        return {}


def write_cached(key: str, value: Any, seconds: int) -> None:
    """Store a value if the cache can be reached."""
    try:
        cache.set(key, value, seconds)
    except (RedisError, OSError) as error:
        logger.warning("The cache cannot be reached (%s).", type(error).__name__)
