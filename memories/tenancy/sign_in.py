"""Count failed sign-ins by account and address, and delay later attempts (ADR-0110)."""

from datetime import datetime, timedelta

from django.db import transaction

from memories.models import SignInFailures
from memories.services.tenancy.sign_in_limits import FORGOTTEN_AFTER, SignInKeys, wait_after


@transaction.atomic
def count_sign_in_attempt(keys: SignInKeys, *, now: datetime) -> timedelta:
    """Count an attempt as failed before its password is checked; return how long to wait instead, zero for not at all.

    Counting first makes simultaneous guesses see each other. An attempt that has to wait is not counted.
    """
    free = keys.free_attempts()
    rows = SignInFailures.objects.locked_rows(free, now)
    for row in rows.values():
        row.last_at = min(row.last_at, now)  # the clock may have been set back
        if row.last_at < now - FORGOTTEN_AFTER:
            row.failures = 0
    wait: timedelta = max(row.last_at + wait_after(row.failures, free[key]) - now for key, row in rows.items())
    if wait > timedelta():
        return wait
    for row in rows.values():
        row.failures, row.last_at = row.failures + 1, now
    SignInFailures.objects.bulk_update(rows.values(), ["failures", "last_at"])
    return timedelta()


@transaction.atomic
def forget_sign_in_failures(keys: SignInKeys, *, now: datetime) -> None:
    """Reset the failures of an account that has signed in; the address keeps those of other accounts."""
    rows = SignInFailures.objects.locked_rows(keys.free_attempts(), now)
    SignInFailures.objects.subtract(keys.address, rows[keys.pair].failures)
    SignInFailures.objects.with_keys([keys.pair, keys.account]).delete()


def delete_expired_sign_in_failures(*, now: datetime) -> int:
    """Delete counts that no attempt looks at any more; return how many."""
    deleted: int = SignInFailures.objects.last_before(now - FORGOTTEN_AFTER).delete()[0]
    return deleted
