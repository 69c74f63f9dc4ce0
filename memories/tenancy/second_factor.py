"""The second factor of an account: whether it has one, its encrypted secret, and the use of a code (ADR-0195)."""

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime

import pyotp
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from memories.models import SecondFactor
from memories.services.tenancy.invitation_secrets import secret_hash
from memories.services.tenancy.second_factor import accepted_step, plain_code

WRONG_CODE = "The code is wrong, already used or expired."


@dataclass(frozen=True)
class UsedCode:
    """A correct code: whether it is of the app or a recovery code, and how many recovery codes are left."""

    is_recovery: bool
    recovery_codes_left: int


def new_second_factor_secret() -> str:
    """Return a random secret for an authenticator app."""
    return pyotp.random_base32()


def has_second_factor(user: User) -> bool:
    """Whether a sign-in of this user needs a code."""
    return SecondFactor.objects.of_user(user.pk).exists()


@transaction.atomic
def use_second_factor_code(*, user: User, code: str, now: datetime) -> UsedCode | None:
    """Return the kind of a correct code, None for a wrong one; no code works twice."""
    factor: SecondFactor | None = SecondFactor.objects.of_user(user.pk).locked().first()
    typed = plain_code(code)
    if factor is None or not typed:
        return None
    is_recovery = secret_hash(typed) in factor.recovery_hashes
    if is_recovery:
        factor.recovery_hashes.remove(secret_hash(typed))
    else:
        secret = _decrypted(factor.secret)
        step = accepted_step(secret, typed, now=now, after=factor.last_step) if secret else None
        if step is None:
            return None
        factor.last_step = step
    factor.save(update_fields=["recovery_hashes", "last_step"])
    return UsedCode(is_recovery, len(factor.recovery_hashes))


def _cipher() -> MultiFernet:
    """Return the cipher of secrets; a former SECRET_KEY still decrypts."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [hashlib.sha256(f"second factor\0{key}".encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])


def encrypted_secret(secret: str) -> str:
    """Return a secret in its stored, encrypted form."""
    return _cipher().encrypt(secret.encode()).decode()


def _decrypted(stored: str) -> str:
    """Return a secret, "" if SECRET_KEY was changed without keeping the former one: recovery codes still work."""
    try:
        return _cipher().decrypt(stored.encode()).decode()
    except InvalidToken:
        return ""
