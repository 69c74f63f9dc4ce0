"""The secret of an invitation's link, of which the database has only the hash (ADR-0146)."""

import hashlib


def secret_hash(secret: str) -> str:
    """Return the hash of a secret; it is random and long, so it needs no slow hash and no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()
