"""Report a lock-out of an account: in the audit log of its tenants, and by e-mail to its owner (ADR-0196)."""

import logging
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.db import transaction

from memories.models import SignInNotice
from memories.services.tenancy.sign_in_limits import WAIT_MAX
from memories.services.time_limits import while_in_time
from memories.tenancy.audit import Actor
from memories.tenancy.members import record_of_account
from memories.tenancy.queries.accounts import user_to_notify
from memory_platform.observability.logs import log_place_of
from memory_platform.postgres.errors import UNAVAILABLE
from memory_platform.postgres.roles import logged_in_for_maintenance
from memory_platform.web.numerals import counted
from memory_platform.web.times import format_time, format_wait

logger = logging.getLogger(__name__)

#: Maximum lock-outs of one run; the next run continues.
REPORTED_BATCH = 100
_TEXT = """There were {failures} to the account {username} since {since} UTC. Further attempts wait up to {wait}.

If these were not yours, change the password and turn on two-factor sign-in: {url}
"""


@logged_in_for_maintenance()
def report_lock_outs(*, now: datetime) -> int:
    """Report the lock-outs that have not been reported; return how many. One that fails does not delay the others."""
    reported = 0
    for notice in while_in_time(list(SignInNotice.objects.unreported()[:REPORTED_BATCH])):
        try:
            reported += _report(notice, now)
        except UNAVAILABLE:  # the database is unreachable; the task is repeated
            raise
        except Exception as error:  # noqa: BLE001 - such as an account that was deleted meanwhile
            log_place_of(error, logger)
    return reported


def _report(notice: SignInNotice, now: datetime) -> bool:
    """Record a lock-out, then send an e-mail; False if another worker has recorded it. No e-mail is sent again."""
    user = user_to_notify(notice.user_id)
    with transaction.atomic():
        if not SignInNotice.objects.unreported().of_user(user.pk).update(reported_at=now):
            return False
        record_of_account("lock_out", user, by=Actor.system("sign-in page"), now=notice.locked_at or now)
    if settings.EMAIL_URL and user.email:
        _send(notice, user)
    return True


def _send(notice: SignInNotice, user: User) -> None:
    text = _TEXT.format(
        failures=counted(notice.failures, "failed sign-in", "failed sign-ins"),
        username=user.username,
        since=format_time(notice.first_at).text,
        wait=format_wait(WAIT_MAX),
        url=f"{settings.CONSOLE_URL}/account",
    )
    try:
        EmailMessage("Sign-ins to your account are delayed", text, to=[user.email]).send()
    except Exception as error:  # noqa: BLE001 - also an address or a text that the mail library refuses
        logger.warning("The notice of a lock-out was not sent: %s", type(error).__name__)
