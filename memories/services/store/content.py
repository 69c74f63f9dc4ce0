"""Limits of text (1 character to 32 KiB after trimming) and metadata (8 KiB)."""

import hashlib
import json
import math
import re
import unicodedata
from datetime import timedelta
from decimal import Decimal
from typing import Any

MAX_CONTENT_BYTES = 32 * 1024
MAX_METADATA_BYTES = 8 * 1024
MAX_METADATA_DEPTH = 32
INTEGER_64_BIT = 2**63
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class CodedError(ValueError):
    """A value that breaks a rule: a stable `code` for programs, a `detail` for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class ContentError(CodedError):
    """Text or metadata that cannot be stored."""


def normalise_content(text: str) -> str:
    """Return `text` without leading and trailing white space."""
    return text.strip()


def check_content(text: str) -> str:
    """Return the trimmed text. Raises `ContentError` unless it can be stored."""
    _check_text(text)
    trimmed = normalise_content(text)
    if not trimmed:
        raise ContentError("blank", "The text is empty or contains only whitespace.")
    size = len(trimmed.encode("utf-8"))
    if size > MAX_CONTENT_BYTES:
        raise ContentError("too_long", f"The text has {size:,} bytes; at most {MAX_CONTENT_BYTES:,} are allowed.")
    return trimmed


def content_hash(text: str) -> str:
    """Return the hex SHA-256 of the trimmed text in NFC. Raises `ValueError` on lone surrogates."""
    return hashlib.sha256(unicodedata.normalize("NFC", normalise_content(text)).encode("utf-8")).hexdigest()


def check_metadata(value: object) -> dict[str, Any]:
    """Return the JSON object. Raises `ContentError` unless it can be stored."""
    if not isinstance(value, dict):
        raise ContentError("not_an_object", "Metadata must be a JSON object.")
    _check_leaves(value)
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    if size > MAX_METADATA_BYTES:
        raise ContentError("too_long", f"Metadata has {size:,} bytes; at most {MAX_METADATA_BYTES:,} are stored.")
    return value


def is_same_json(one: object, other: object) -> bool:
    """Whether two JSON values are equal; unlike in Python, true is not 1 and false is not 0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    return one == other


def is_storable_text(value: object) -> bool:
    """Whether `value` is text without NUL and halves of surrogate pairs."""
    return isinstance(value, str) and "\x00" not in value and not LONE_SURROGATE.search(value)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise ContentError("not_text", "Must be a string.")
    if "\x00" in text:
        raise ContentError("null_character", "The text contains a NUL character.")
    if LONE_SURROGATE.search(text):
        raise ContentError("lone_surrogate", "The text contains an unpaired surrogate.")


def _check_leaves(value: object) -> None:
    """Check every key and scalar of `value` without recursion, so that depth cannot overflow the stack."""
    unchecked: list[tuple[object, int]] = [(value, 1)]
    while unchecked:
        current, depth = unchecked.pop()
        if isinstance(current, (dict, list)) and depth > MAX_METADATA_DEPTH:
            raise ContentError("too_deep", f"Metadata is nested more than {MAX_METADATA_DEPTH} levels deep.")
        if isinstance(current, dict):
            for key in current:
                _check_text(key)
        if isinstance(current, (dict, list)):
            unchecked += [(part, depth + 1) for part in (current.values() if isinstance(current, dict) else current)]
        elif isinstance(current, str):
            _check_text(current)
        elif isinstance(current, float) and not math.isfinite(current):
            raise ContentError("not_json", "Metadata contains a number that is not finite.")
        elif isinstance(current, int) and not (-INTEGER_64_BIT <= current < INTEGER_64_BIT or _is_double(current)):
            raise ContentError("number_out_of_range", "Metadata contains an integer beyond 64 bits.")
        elif current is not None and not isinstance(current, (bool, int, float)):
            raise ContentError("not_json", f"Metadata contains a {type(current).__name__}, which is not JSON.")


def _is_double(number: int) -> bool:
    """Whether a double represents the number exactly; the database writes 1e22 as an integer."""
    try:
        return Decimal(repr(float(number))) == number
    except OverflowError:
        return False


#: How long a rendered text counts as recalled (SPEC section 6).
RECALLED_TEXT_TTL = timedelta(days=30)


def recalled_hash(text: str) -> str:
    """Return the hex SHA-256 of the text without case, white space, compatibility forms and final stops."""
    # ASCII, the most frequent case, has no compatibility forms
    folded = text.lower()
    if not text.isascii():
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    # a printable text has no white space but spaces; splitting it takes longer than looking for two of them
    is_single_spaced = folded.isprintable() and "  " not in folded
    plain = folded.strip() if is_single_spaced else " ".join(folded.split())
    plain = plain.rstrip(".").rstrip()
    return hashlib.sha256(plain.encode("utf-8")).hexdigest()
