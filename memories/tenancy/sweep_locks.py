"""A lock in the cache that names its owner, so that only one sweep of a kind runs at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from django.core.cache import cache

#: The lock of a killed worker expires after it; longer than one step of a sweep takes.
SWEEP_LEASE_SECONDS = 300


@dataclass(frozen=True)
class SweepLock:
    """The lock of one sweep."""

    name: str
    owner: str

    def renew(self) -> bool:
        """Extend the lock; False if another sweep has it now, so that this one should end."""
        return bool(cache.get(self.name) == self.owner and cache.touch(self.name, SWEEP_LEASE_SECONDS))


@contextmanager
def sweep_lock(name: str) -> Iterator[SweepLock | None]:
    """Hold the lock during the block; yields None if another sweep has it. Only its owner releases it."""
    lock = SweepLock(name, uuid4().hex)
    if not cache.add(name, lock.owner, SWEEP_LEASE_SECONDS):
        yield None
        return
    try:
        yield lock
    finally:
        if cache.get(name) == lock.owner:
            cache.delete(name)
