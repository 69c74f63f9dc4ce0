"""Recognising text that was rendered for an agent when the agent sends it back as a new memory."""

from __future__ import annotations

import hashlib
import unicodedata
from datetime import timedelta

#: For how long a rendered text counts as recalled (SPEC section 6).
RECALLED_TEXT_KEPT = timedelta(days=30)


def recalled_hash(text: str) -> str:
    """Hex SHA-256 of the text as a reader would compare it: compatibility forms, case and white space folded,
    without final full stops.

    Raises `ValueError` on lone surrogates.
    """
    # plain ASCII, most of what there is, has no other forms
    folded = text.lower() if text.isascii() else _folded(text)
    plain = " ".join(folded.split()).rstrip(".").rstrip()
    return hashlib.sha256(plain.encode("utf-8")).hexdigest()


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
