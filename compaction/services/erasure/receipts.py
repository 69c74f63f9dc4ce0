"""The signed receipt of an erasure: counts and hashes of ids, no text (ADR-0130)."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from typing import Any

_PURPOSE = b"erasure receipt"
_KEY_ID_DIGITS = 16
FIRST_DIGEST = "0" * 64


def next_digest(digest: str, ids: Iterable[object]) -> str:
    """Return the hash of a batch of ids in hex, chained to the hash of the batches before it."""
    rows = "\n".join([digest, *map(str, ids)])
    return hashlib.sha256(rows.encode()).hexdigest()


def target_hash(target: str, secret: bytes) -> str:
    """Return the keyed hash of what was erased, so that a receipt answers "was this erased?" without naming it."""
    return _hmac(f"target\n{target}".encode(), secret)


def sign_receipt(receipt: Mapping[str, Any], secret: bytes) -> str:
    """Return the signature of a receipt: `v1`, the id of the key, and the HMAC-SHA256 of its canonical JSON."""
    key_id = _hmac(b"key id", secret)[:_KEY_ID_DIGITS]
    return f"v1:{key_id}:{_hmac(_canonical(receipt), secret)}"


def is_signed(receipt: Mapping[str, Any], signature: str, secrets: Iterable[bytes]) -> bool:
    """Whether one of the deployment's keys, former ones included, signed exactly this receipt."""
    return any(hmac.compare_digest(sign_receipt(receipt, secret), signature) for secret in secrets)


def _canonical(receipt: Mapping[str, Any]) -> bytes:
    return json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _hmac(message: bytes, secret: bytes) -> str:
    key = hmac.new(secret, _PURPOSE, hashlib.sha256).digest()
    return hmac.new(key, message, hashlib.sha256).hexdigest()
