"""Ids that people type or paste: the whole of one, or how it begins as lists show it."""

import re
from uuid import UUID

#: Fewer digits say too little.
DIGITS_MIN = 4
_DIGITS = 32
_ID_START = re.compile(r"[0-9a-f]+(?:-[0-9a-f]*)*\Z")


def id_prefix_bounds(text: str) -> tuple[UUID, UUID] | None:
    """The first and the last id that begin with `text`, hyphens or none; None where it is no beginning of an id.

    The sign that lists put behind a shortened id does no harm.
    """
    start = text.strip().lower().removesuffix("…")
    digits = start.replace("-", "")
    if not _ID_START.match(start) or not DIGITS_MIN <= len(digits) <= _DIGITS:
        return None
    return UUID(digits.ljust(_DIGITS, "0")), UUID(digits.ljust(_DIGITS, "f"))
