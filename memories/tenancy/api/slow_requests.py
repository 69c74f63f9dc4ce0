"""Limit the threads of a web process that the slow requests of each tenant occupy (ADR-0214)."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from memory_platform.rest.request_errors import RestError

#: Of the eight threads of a process, the slow requests of one tenant occupy at most four, and those of all tenants six.
OF_TENANT_MAX = 4
OF_ALL_MAX = 6


class SlowRequests:
    """Counts the requests that may occupy a thread for long, also while they wait for their turn or their client."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[UUID] = Counter()

    @contextmanager
    def one_of(self, tenant_id: UUID) -> Iterator[None]:
        """Run a slow request of a tenant. Raises `RestError` if there are too many already."""
        with self._lock:
            if self._running[tenant_id] >= OF_TENANT_MAX:
                detail = "Too many slow requests of this tenant run at once; send fewer in parallel."
                raise RestError("too_many_slow_requests", detail, status_code=429, retry_after=1)
            if self._running.total() >= OF_ALL_MAX:
                raise RestError("try_again", "Too many slow requests run at once.", status_code=503, retry_after=1)
            self._running[tenant_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[tenant_id] -= 1
                self._running += Counter()  # forget tenants without any


slow_requests = SlowRequests()
