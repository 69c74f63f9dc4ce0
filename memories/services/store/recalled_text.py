"""Recognise rendered text that an agent sends back as a new memory."""

from __future__ import annotations

import hashlib
import unicodedata
from datetime import timedelta

#: How long a rendered text counts as recalled (SPEC section 6).
RECALLED_TEXT_KEPT = timedelta(days=30)


def recalled_hash(text: str) -> str:
    """Return the hex SHA-256 of the text with case, white space and compatibility forms folded, without final stops.

    Raises `ValueError` on lone surrogates.
    """
    # ASCII, the most frequent case, has no compatibility forms
    folded = text.lower() if text.isascii() else _folded(text)
    plain = " ".join(folded.split()).rstrip(".").rstrip()
    return hashlib.sha256(plain.encode("utf-8")).hexdigest()


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
