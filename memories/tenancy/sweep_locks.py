"""A lock in the cache that names its owner, so that only one sweep of a kind runs at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.core.cache import cache, caches
from django.core.cache.backends.redis import RedisCache

#: The lock of a killed worker expires after it; longer than one step of a sweep takes.
SWEEP_LEASE_SECONDS = 300
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
        """Give the lock back; False if another sweep has it now."""
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
    """Hold the lock during the block; yields None if another sweep has it. Only its owner releases it."""
    lock = SweepLock(name, uuid4().int)
    if not cache.add(name, lock.owner, SWEEP_LEASE_SECONDS):
        yield None
        return
    try:
        yield lock
    finally:
        lock.release()
