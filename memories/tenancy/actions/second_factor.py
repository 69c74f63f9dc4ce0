"""Turn a second factor on and off, and renew its recovery codes (ADR-0195)."""

import secrets
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from memories.models import SecondFactor
from memories.services.tenancy.invitation_secrets import secret_hash
from memories.services.tenancy.second_factor import (
    RECOVERY_CODE_BYTES,
    RECOVERY_CODES,
    accepted_step,
    plain_code,
    recovery_code,
)
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.members import record_of_account
from memories.tenancy.second_factor import WRONG_CODE, encrypted_secret


@transaction.atomic
def enable_second_factor(*, user: User, secret: str, code: str, by: Actor, now: datetime) -> list[str]:
    """Store the secret whose current code was entered; return the recovery codes, which are stored as hashes only.

    Raises `InvalidInput` `bad_code`, or `Conflict` `duplicate` if there is a second factor already.
    """
    step = accepted_step(secret, plain_code(code), now=now)
    if step is None:
        raise InvalidInput("bad_code", WRONG_CODE, "code")
    codes = _new_recovery_codes()
    factor = SecondFactor(user=user, secret=encrypted_secret(secret), last_step=step, created_at=now)
    factor.recovery_hashes = _hashes(codes)
    try:
        with transaction.atomic():
            factor.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict("duplicate", "This account already has a second factor.") from error
    record_of_account("enable_second_factor", user, by=by, now=now)
    return codes


@transaction.atomic
def renew_recovery_codes(*, user: User, by: Actor, now: datetime) -> list[str]:
    """Replace all recovery codes; return the new ones."""
    codes = _new_recovery_codes()
    SecondFactor.objects.of_user(user.pk).update(recovery_hashes=_hashes(codes))
    record_of_account("renew_recovery_codes", user, by=by, now=now)
    return codes


@transaction.atomic
def remove_second_factor(*, user: User, by: Actor, now: datetime) -> bool:
    """Remove a user's second factor; return False if there was none."""
    is_removed = bool(SecondFactor.objects.of_user(user.pk).delete()[0])
    if is_removed:
        record_of_account("remove_second_factor", user, by=by, now=now)
    return is_removed


def _new_recovery_codes() -> list[str]:
    return [recovery_code(secrets.token_bytes(RECOVERY_CODE_BYTES)) for _ in range(RECOVERY_CODES)]


def _hashes(codes: list[str]) -> list[str]:
    return [secret_hash(plain_code(code)) for code in codes]
