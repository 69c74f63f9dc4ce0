"""Tokens that the database accepts as a row scope: signed, and valid in one connection (ADR-0128)."""

import hmac
import time
from functools import lru_cache
from typing import Any

from django.conf import settings

#: A request needs three tokens; most equal those of an earlier request of the tenant in the same connection.
TOKENS_KEPT_MAX = 1024
#: The length of a UUID. Tokens that name several tenants can be long and are not kept.
_ONE_TENANT_LENGTH = 36

_BLOCK_BYTES = 64
_KEY_EXISTS = "SELECT to_regclass('row_scopes.signing_key') IS NOT NULL"
_STORE_KEY = (
    "WITH gone AS (DELETE FROM row_scopes.signing_key WHERE inner_pad <> %(inner)s)"
    " INSERT INTO row_scopes.signing_key (inner_pad, outer_pad) SELECT %(inner)s, %(outer)s"
    " WHERE NOT EXISTS (SELECT FROM row_scopes.signing_key WHERE inner_pad = %(inner)s)"
)


def row_scope_token(name: str, argument: str, backend_pid: int) -> str:
    """Return the value of `app.scope` for a scope in the connection of a server process; `argument` names its tenants.

    A pooler may use another connection for each transaction, so behind one, tokens are valid in all connections, but
    only for `POOLED_TOKEN_SECONDS`.
    """
    if settings.DATABASE_POOLER:
        return _signed(settings.SECRET_KEY, f"{name}:{argument}:0:{int(time.time())}:")
    sign = _kept_token if len(argument) <= _ONE_TENANT_LENGTH else _signed
    return sign(settings.SECRET_KEY, f"{name}:{argument}:{backend_pid}:")


@lru_cache(maxsize=TOKENS_KEPT_MAX)
def _kept_token(secret: str, text: str) -> str:
    return _signed(secret, text)


def _signed(secret: str, text: str) -> str:
    return text + hmac.digest(_derived_key(secret), text.encode(), "sha256").hex()


def store_signing_key(connection: Any) -> None:
    """Store the key in the database, as the owner of the tables; does nothing if the table does not exist yet."""
    key = _derived_key(settings.SECRET_KEY).ljust(_BLOCK_BYTES, b"\0")
    pads = {name: bytes(byte ^ pad for byte in key) for name, pad in (("inner", 0x36), ("outer", 0x5C))}
    with connection.cursor() as cursor:
        cursor.execute(_KEY_EXISTS)
        if cursor.fetchone()[0]:
            cursor.execute(_STORE_KEY, pads)


@lru_cache(maxsize=1)
def _derived_key(secret: str) -> bytes:
    return hmac.digest(secret.encode(), b"row scopes", "sha256")
