"""Read from a streaming replica while it has everything that the tenant has written (ADR-0191)."""

import logging
import threading
import time
from collections.abc import Callable
from math import ceil, inf
from typing import TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db import connection, connections
from redis.exceptions import RedisError

from memories.tenancy.queries.positions import replayed_position, written_position
from memory_platform.observability.metrics import REPLICA_READS
from memory_platform.postgres.base import DatabaseWrapper
from memory_platform.postgres.errors import UNAVAILABLE
from memory_platform.postgres.roles import API, REPLICA, logged_in_as

logger = logging.getLogger(__name__)

#: How often a reading process checks the lag of the replica, and how long it does not use one that is down.
CHECK_SECONDS, RETRY_SECONDS = 0.5, 5.0

Result = TypeVar("Result")


class ReplicaLag:
    """How far the replica is behind, by positions in the write-ahead log: clocks of machines may differ."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._checking = threading.Lock()
        self._next_check = 0.0
        #: The replica has everything that was written before this time.
        self._complete_until = -inf
        #: A time, and the position until which the primary had written, that the replica has not reached yet.
        self._awaited = (-inf, inf)
        self.is_down = False

    def seconds(self) -> float:
        """Return the most that the replica can be behind now; infinity while it is down."""
        return self._clock() - self._complete_until

    def keep_current(self) -> None:
        """Check in a separate thread if the last check is too old, so that no request waits for a replica."""
        if self._clock() >= self._next_check and self._checking.acquire(blocking=False):
            self._next_check = self._clock() + CHECK_SECONDS
            threading.Thread(target=self._check_once, daemon=True).start()

    def _check_once(self) -> None:
        try:
            self.check()
        finally:
            connection.close()
            self._checking.release()

    def check(self) -> None:
        """Compare the positions of primary and replica."""
        now = self._clock()
        try:
            with logged_in_as(API):
                written = written_position()
            with logged_in_as(REPLICA):
                replayed = replayed_position()
        except UNAVAILABLE as error:
            self.note_failure(error)
            return
        self.is_down = False
        for at, position in (self._awaited, (now, written)):
            if position <= replayed:
                self._complete_until = at
        if self._awaited[1] <= replayed or self._awaited[1] == inf:
            self._awaited = now, written

    def note_failure(self, error: Exception) -> None:
        """Do not use the replica for a while."""
        logger.warning("The replica cannot be read (%s); the primary is.", type(error).__name__)
        self.is_down, self._complete_until, self._awaited = True, -inf, (-inf, inf)
        self._next_check = self._clock() + RETRY_SECONDS


lag = ReplicaLag()


def has_replica() -> bool:
    """Whether DATABASE_REPLICA_URL is set."""
    return REPLICA in connections.settings


def note_write(tenant_id: UUID) -> None:
    """Make all processes read the tenant from the primary until a usable replica has what was written."""
    if has_replica():
        try:
            cache.set(_key(tenant_id), 1, ceil(settings.DATABASE_REPLICA_LAG_SECONDS) + 1)
        except (RedisError, OSError) as error:
            logger.warning("The cache cannot be reached (%s).", type(error).__name__)


def read_from_replica(tenant_id: UUID, read: Callable[[], Result]) -> Result:
    """Return what `read` finds: in the replica, or in the primary if the replica lacks a write or cannot be read.

    `read` opens its own scopes, changes nothing, and may run twice. Only statements of the API's role use the replica,
    so operators see each change immediately.
    """
    wrapper = cast(DatabaseWrapper, connection)
    if not has_replica() or connection.in_atomic_block or wrapper.login != API:
        return read()
    lag.keep_current()
    if lag.seconds() > settings.DATABASE_REPLICA_LAG_SECONDS:
        outcome = "behind"
    elif _has_written(tenant_id):
        outcome = "written"
    else:
        try:
            with logged_in_as(REPLICA):
                found = read()
            REPLICA_READS.labels("replica").inc()
            return found
        except UNAVAILABLE as error:
            lag.note_failure(error)
            outcome = "failed"
    REPLICA_READS.labels(outcome).inc()
    return read()


def _has_written(tenant_id: UUID) -> bool:
    try:
        return cache.get(_key(tenant_id)) is not None
    except (RedisError, OSError):
        return True


def _key(tenant_id: UUID) -> str:
    return f"replica.written.{tenant_id}"
