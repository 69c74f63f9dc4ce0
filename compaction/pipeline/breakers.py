"""Stop calling a provider that keeps failing: one row per tenant and provider, shared by all workers (ADR-0072)."""

from datetime import datetime, timedelta
from uuid import UUID

from compaction.models import ProviderBreaker
from memories.tenancy.scopes import tenant_scope
from memory_platform.observability.metrics import PROVIDER_ERRORS

FAILURES_TO_OPEN = 3
COOLDOWN = timedelta(minutes=15)


def is_provider_off(tenant_id: UUID, provider: str, *, now: datetime) -> bool:
    """Return whether the provider is off at `now`. Called with no scope open, like all functions here."""
    with tenant_scope(tenant_id):
        rows = ProviderBreaker.objects.for_tenant(tenant_id).of_provider(provider)
        return bool(rows.open_at(now).exists())


def note_failure(tenant_id: UUID, provider: str, *, now: datetime) -> bool:
    """Count a failure and return whether the provider is off now. After a cooldown one failure is enough."""
    PROVIDER_ERRORS.labels("summariser").inc()
    with tenant_scope(tenant_id):
        ProviderBreaker.objects.bulk_create(
            [ProviderBreaker(tenant_id=tenant_id, provider=provider)], ignore_conflicts=True
        )
        breaker = ProviderBreaker.objects.for_tenant(tenant_id).of_provider(provider).locked().get()
        breaker.failures = min(breaker.failures + 1, FAILURES_TO_OPEN)
        if breaker.failures >= FAILURES_TO_OPEN:
            breaker.open_until = now + COOLDOWN
        breaker.save(update_fields=["failures", "open_until"])
        return breaker.open_until is not None and breaker.open_until > now


def note_success(tenant_id: UUID, provider: str) -> None:
    """Reset the count of failures."""
    with tenant_scope(tenant_id):
        rows = ProviderBreaker.objects.for_tenant(tenant_id).of_provider(provider)
        rows.failing().update(failures=0, open_until=None)
