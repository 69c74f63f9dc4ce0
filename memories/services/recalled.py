"""Recognising text that was rendered for an agent when the agent sends it back as a new memory."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import timedelta

#: For how long a rendered text counts as recalled (SPEC section 6).
RECALLED_TEXT_KEPT = timedelta(days=30)

_WHITE_SPACE = re.compile(r"\s+")


def recalled_hash(text: str) -> str:
    """Hex SHA-256 of the text as a reader would compare it: compatibility forms, case and white space folded,
    without final full stops.

    Raises `ValueError` on lone surrogates.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = _WHITE_SPACE.sub(" ", folded).strip().rstrip(".").rstrip()
    return hashlib.sha256(plain.encode("utf-8")).hexdigest()
