"""Background work of this room: how often to try, and one call each."""

from celery import shared_task
from django.db import OperationalError
from django.utils import timezone

from context import upkeep


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def prune_receipts() -> int:
    """Delete the receipts that are past what their tenant keeps."""
    return upkeep.prune_receipts(now=timezone.now())


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def find_unhelpful() -> None:
    """Look for memories that are shown often and of no use."""
    upkeep.find_unhelpful(now=timezone.now())
