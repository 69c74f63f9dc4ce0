"""Ids and id prefixes that people type or paste."""

import re
from uuid import UUID

#: Fewer digits match too many ids.
DIGITS_MIN = 4
_DIGITS = 32
_ID_START = re.compile(r"[0-9a-f]+(?:-[0-9a-f]*)*\Z")


def id_prefix_bounds(text: str) -> tuple[UUID, UUID] | None:
    """Return the first and last id that start with `text` (hyphens and a final ellipsis are ignored), else None."""
    start = text.strip().lower().removesuffix("…")
    digits = start.replace("-", "")
    if not _ID_START.match(start) or not DIGITS_MIN <= len(digits) <= _DIGITS:
        return None
    return UUID(digits.ljust(_DIGITS, "0")), UUID(digits.ljust(_DIGITS, "f"))
