"""Count failed sign-ins by account and address, delay later attempts (ADR-0110), notify the owner (ADR-0196)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import Error as DatabaseFailure
from django.db import transaction

from memories.models import SignInFailures, SignInNotice
from memories.services.tenancy.sign_in_limits import (
    ACCOUNT_ATTEMPTS,
    FORGOTTEN_AFTER,
    PAIR_ATTEMPTS,
    SignInKeys,
    wait_after,
)
from memories.tenancy.queries.tenants import users_by_username

logger = logging.getLogger(__name__)


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


@contextmanager
def _notice() -> Iterator[None]:
    """Run a transaction; the sign-in does not depend on it, so a failure of the database is only logged."""
    try:
        with transaction.atomic():
            yield
    except DatabaseFailure as error:
        logger.warning("The notice of failed sign-ins could not be used: %s", type(error).__name__)


@_notice()
def note_failed_sign_in(keys: SignInKeys, *, username: str, now: datetime) -> None:
    """Record a failed attempt for the owner of the account, if it exists; the worker reports a lock-out.

    A lock-out begins when attempts have to wait, and is not recorded again before the counts are reset.
    """
    user = users_by_username(username).first()
    if user is None or not user.is_active:
        return
    notice: SignInNotice = SignInNotice.objects.locked_row(user.pk, first_at=now)
    if not notice.failures:
        notice.first_at = now
    notice.failures += 1
    counted = dict(SignInFailures.objects.with_keys([keys.pair, keys.account]).values_list("pk", "failures"))
    is_locked = counted.get(keys.pair, 0) >= PAIR_ATTEMPTS or counted.get(keys.account, 0) >= ACCOUNT_ATTEMPTS
    if is_locked and (notice.locked_at is None or notice.locked_at < now - FORGOTTEN_AFTER):
        notice.locked_at, notice.reported_at = now, None
    notice.save()


def take_sign_in_notice(user: User) -> SignInNotice | None:
    """Return what happened since the last sign-in of a user, once; None if nothing did, or it cannot be read."""
    with _notice():
        notice: SignInNotice | None = SignInNotice.objects.of_user(user.pk).select_for_update().first()
        if notice is not None and notice.failures:
            SignInNotice.objects.of_user(user.pk).update(failures=0)
            return notice
    return None


def delete_expired_sign_in_failures(*, now: datetime) -> int:
    """Delete counts that no attempt reads any longer; return how many."""
    deleted: int = SignInFailures.objects.last_before(now - FORGOTTEN_AFTER).delete()[0]
    return deleted
