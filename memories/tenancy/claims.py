"""Claim background work in turn (ADR-0127, ADR-0350), and renew the claims of work that runs (ADR-0352)."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import Error as DatabaseFailure
from django.db import connection

from memories.models import Tenant
from memories.tenancy.queries.rows import ClaimedRows
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

#: Maximum jobs of one kind and tenant that workers run at the same time: half of a worker's processes.
TENANT_CLAIMS_MAX = 2
#: Maximum jobs of all kinds of a tenant at the same time, so that one of a worker's four processes serves the others.
TENANT_CLAIMS_OF_ALL_KINDS_MAX = 3


def claim_in_turn(
    rows: ClaimedRows, tenant_id: UUID, row_id: UUID, *, now: datetime, until: datetime, most: int = TENANT_CLAIMS_MAX
) -> bool:
    """Claim one of a tenant's rows for a worker; return False if another has it or the tenant is at its limit.

    The row then stays in the queue. Workers that claim at the same moment wait for each other. Call inside a scope.
    """
    lock_claims(tenant_id)
    all_kinds = (model.objects.for_tenant(tenant_id).running_at(now).count() for model in _claimed_models())
    is_free = rows.running_at(now).count() < most and sum(all_kinds) < TENANT_CLAIMS_OF_ALL_KINDS_MAX
    return is_free and bool(rows.claim(row_id, now=now, until=until))


@cache
def _claimed_models() -> list[Any]:
    """Return the models of jobs, also those of other apps."""
    models: list[Any] = list(apps.get_models())
    return [model for model in models if isinstance(model._default_manager.all(), ClaimedRows)]


def lock_claims(tenant_id: UUID) -> None:
    """Make other workers that claim work of the tenant wait until the transaction ends."""
    Tenant.objects.filter(pk=tenant_id).select_for_update(no_key=True).first()


def next_waiting(rows: ClaimedRows, tenant_id: UUID, *, now: datetime) -> Any:
    """Return the tenant's row that has waited longest, for a worker that has just finished one, or None."""
    with tenant_scope(tenant_id):
        return rows.abandoned(now).first()


@contextmanager
def renewing(renew: Callable[[], bool], *, seconds: float) -> Iterator[None]:
    """Call `renew` every `seconds` while the block runs, in another thread, until it returns False.

    So a claim can be short, and expires soon after its process was killed. A database error does not end the renewals.
    """
    is_over = threading.Event()
    thread = threading.Thread(target=_renew_until, args=[is_over, renew, seconds], name="claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _renew_until(is_over: threading.Event, renew: Callable[[], bool], seconds: float) -> None:
    is_claimed = True
    while is_claimed and not is_over.wait(seconds):
        try:
            is_claimed = renew()
        except DatabaseFailure as error:
            logger.warning("A claim was not renewed: %s", type(error).__name__)
        finally:
            connection.close()
