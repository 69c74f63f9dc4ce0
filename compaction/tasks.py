"""Background work of this room: how often to try, and one call each."""

import logging
from functools import partial
from uuid import UUID

from celery import shared_task
from django.db import OperationalError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from compaction import rollups

logger = logging.getLogger(__name__)

#: Below the broker's visibility timeout, or slow work would be delivered twice.
ROLL_UP_TIME_LIMIT_SECONDS = 300


@shared_task(
    autoretry_for=(OperationalError,),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=3,
    time_limit=ROLL_UP_TIME_LIMIT_SECONDS,
)
def roll_up(tenant_id: str, run_id: str) -> None:
    """Make one partition's summary anew; a run that somebody else has is passed over."""
    rollups.run_roll_up(UUID(tenant_id), UUID(run_id), now=timezone.now())


@shared_task(time_limit=ROLL_UP_TIME_LIMIT_SECONDS)
def roll_up_changed() -> int:
    """Make the summaries anew under which something changed."""
    return rollups.roll_up_changed(now=timezone.now())


def roll_up_later(tenant_id: UUID, run_id: UUID) -> None:
    """After the commit, hand the run to a worker; a broker that is away leaves it to the sweep."""
    transaction.on_commit(partial(_send_roll_up, str(tenant_id), str(run_id)))


def _send_roll_up(tenant_id: str, run_id: str) -> None:
    try:
        roll_up.delay(tenant_id, run_id)
    except (BrokerError, OSError) as error:
        logger.warning("The broker is away, a roll-up waits for the sweep: %s", type(error).__name__)
