"""Renew the claims of running requests, so that only those of a dead process expire (ADR-0111)."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error as DatabaseFailure
from django.db import connection
from django.utils import timezone

from memories.models import IdempotencyRecord
from memories.tenancy.idempotency import CLAIM_SECONDS, renew_idempotency_claim
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

#: Two renewals may fail before a claim expires.
RENEWAL_SECONDS = CLAIM_SECONDS / 3


class ClaimKeeper:
    """Renews claims in one thread of this process, which the first claim starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, tuple[IdempotencyRecord, float]] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def renewing(self, record: IdempotencyRecord) -> Iterator[None]:
        """Renew a claim while the block runs."""
        with self._lock:
            self._running[record.pk] = record, time.monotonic()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._renew_for_ever, name="idempotency claims", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._running[record.pk]

    def _renew_for_ever(self) -> None:
        while True:
            time.sleep(RENEWAL_SECONDS)
            began_before = time.monotonic() - RENEWAL_SECONDS / 2
            with self._lock:
                due = [record for record, began in self._running.values() if began < began_before]
            if due:
                _renew(due)


def _renew(records: list[IdempotencyRecord]) -> None:
    try:
        for record in records:
            with tenant_scope(record.tenant_id):
                renew_idempotency_claim(record, now=timezone.now())
    except DatabaseFailure as error:
        logger.warning("Claims of idempotent requests were not renewed: %s", type(error).__name__)
    finally:
        connection.close()


claim_keeper = ClaimKeeper()
