"""The second factor of a sign-in: codes of an authenticator app (TOTP, RFC 6238) and recovery codes (ADR-0195)."""

import base64
import hmac
from datetime import datetime

import pyotp

STEP_SECONDS = 30
#: Codes of this many steps before and after now are accepted, because clocks differ.
STEPS_AROUND = 1
ISSUER = "Memory Platform"
RECOVERY_CODES = 10
#: Random bytes of a recovery code: too many to guess, so that a plain hash protects them.
RECOVERY_CODE_BYTES = 10


def setup_url(secret: str, username: str) -> str:
    """Return the URL that an authenticator app reads from the QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=ISSUER)


def accepted_step(secret: str, code: str, *, now: datetime, after: int = 0) -> int | None:
    """Return the time step to which the code belongs; None for a wrong code, or one of a step up to `after`."""
    totp, current = pyotp.TOTP(secret), int(now.timestamp()) // STEP_SECONDS
    steps = range(current - STEPS_AROUND, current + STEPS_AROUND + 1)
    found = [step for step in steps if hmac.compare_digest(totp.generate_otp(step), code)]
    return next((step for step in found if step > after), None)


def recovery_code(random: bytes) -> str:
    """Return a new recovery code, in groups of four characters."""
    text = base64.b32encode(random).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def plain_code(typed: str) -> str:
    """Return a code in the form in which codes are compared: ASCII lower case, without spaces and hyphens."""
    text = "".join(typed.split()).replace("-", "").lower()
    return text if text.isascii() else ""
