"""The state of sweeps in the cache: a lock that names its owner, and the tenant at which a sweep ran out of time."""

import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.core.cache import cache, caches
from django.core.cache.backends.redis import RedisCache

from memories.services.time_limits import while_in_time

logger = logging.getLogger(__name__)

#: The lock of a killed worker expires after it; longer than one step of a sweep takes.
SWEEP_LEASE_SECONDS = 300
#: How long the place of an interrupted sweep is kept; longer than the interval between two runs.
PLACE_SECONDS = 24 * 3600
_IF_OWNED = (
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))"
)


@dataclass(frozen=True)
class SweepLock:
    """The lock of one sweep."""

    name: str
    owner: int

    def renew(self) -> bool:
        """Extend the lock; False if another sweep has it now, so that this one should end."""
        return self._if_owned("touch", "expire", SWEEP_LEASE_SECONDS)

    def release(self) -> bool:
        """Release the lock; return False if another sweep has it now."""
        return self._if_owned("delete", "del")

    def _if_owned(self, change: str, command: str, *arguments: Any) -> bool:
        """Change the lock if it has this owner: in Redis in one step, in other caches, of one machine, in two."""
        backend: Any = caches["default"]
        if isinstance(backend, RedisCache):
            key, client = backend.make_key(self.name), backend._cache.get_client(write=True)
            return bool(client.eval(_IF_OWNED, 1, key, self.owner, command, *arguments))
        return bool(cache.get(self.name) == self.owner and getattr(cache, change)(self.name, *arguments))


@contextmanager
def sweep_lock(name: str) -> Iterator[SweepLock | None]:
    """Keep the lock during the block; yield None if another sweep has it. Only its owner releases it."""
    lock = SweepLock(name, uuid4().int)
    if not cache.add(name, lock.owner, SWEEP_LEASE_SECONDS):
        yield None
        return
    try:
        yield lock
    finally:
        lock.release()


def tenants_in_turn(sweep: str, tenant_ids: Iterable[UUID]) -> Iterator[UUID]:
    """Return the tenants while there is time; after an interrupted run, begin after its last tenant.

    This prevents tenants with much work from delaying others forever (ADR-0245).
    """
    place, ids = f"sweep.{sweep}", sorted(tenant_ids)
    last, left = cache.get(place), len(ids)
    first = bisect_right(ids, UUID(last)) if last else 0
    for tenant_id in while_in_time([*ids[first:], *ids[:first]]):
        cache.set(place, str(tenant_id), PLACE_SECONDS)
        yield tenant_id
        left -= 1
    if left:
        logger.warning("The sweep %s ran out of time; its next run begins with %d tenants.", sweep, left)
    elif ids:
        cache.delete(place)
