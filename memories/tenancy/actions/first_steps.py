"""Record an operator's progress in the first steps of a tenant. Other operators do not see it: no audit row."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import FirstSteps
from memories.tenancy.audit import Actor


@transaction.atomic
def record_receipt_opened(*, tenant_id: UUID, by: Actor, now: datetime) -> None:
    """Record that the operator opened a receipt."""
    _note(tenant_id, by, receipt_opened_at=now)


@transaction.atomic
def dismiss_first_steps(*, tenant_id: UUID, by: Actor, now: datetime) -> None:
    """Hide the first steps from the operator."""
    _note(tenant_id, by, dismissed_at=now)


@transaction.atomic
def show_first_steps(*, tenant_id: UUID, by: Actor) -> None:
    """Show the first steps to the operator again."""
    _note(tenant_id, by, dismissed_at=None)


def _note(tenant_id: UUID, by: Actor, **columns: datetime | None) -> None:
    FirstSteps.objects.update_or_create(tenant_id=tenant_id, user_id=int(by.id), defaults=columns)
