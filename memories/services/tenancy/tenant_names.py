"""Names of tenants: one printable line, and hidden names for the tenants of evaluations, which operators never see."""

import re
import unicodedata

from memories.services.store.content import CodedError

TENANT_NAME_CHARACTERS_MAX = 100
HIDDEN_PREFIX = "~"


class TenantNameError(CodedError):
    """A name that a tenant cannot have."""


def check_tenant_name(text: str) -> str:
    """Return a name in its stored form: NFC, trimmed, with single spaces. Raises `TenantNameError`."""
    spaced = "".join(" " if unicodedata.category(letter) == "Zs" else letter for letter in text.strip())
    name = re.sub(" +", " ", unicodedata.normalize("NFC", spaced)).strip()
    if not 1 <= len(name) <= TENANT_NAME_CHARACTERS_MAX or not name.isprintable():
        detail = f"A tenant's name must have 1 to {TENANT_NAME_CHARACTERS_MAX} printable characters on one line."
        raise TenantNameError("bad_name", detail)
    if is_hidden(name):
        raise TenantNameError("bad_name", f"A tenant's name must not begin with {HIDDEN_PREFIX}.")
    return name


def hidden_name(words: str) -> str:
    """Return the name of a hidden tenant."""
    return f"{HIDDEN_PREFIX}{words}"


def is_hidden(name: str) -> bool:
    """Whether this is the name of a hidden tenant."""
    return name.startswith(HIDDEN_PREFIX)
