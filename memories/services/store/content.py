"""Limits of text (1 character to 32 KiB after trimming) and metadata (8 KiB)."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterator

MAX_CONTENT_BYTES = 32 * 1024
MAX_METADATA_BYTES = 8 * 1024
MAX_METADATA_DEPTH = 32


class ContentError(ValueError):
    """Text or metadata that cannot be stored: a stable `code` for programs, a `detail` for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def normalise_content(text: str) -> str:
    """Return `text` without leading and trailing white space."""
    return text.strip()


def check_content(text: str) -> None:
    """Raise `ContentError` when the trimmed text cannot be stored.

    Codes: `not_text`, `blank`, `null_character`, `lone_surrogate`, `too_long` (over 32 KiB of UTF-8).
    """
    _check_text(text)
    trimmed = normalise_content(text)
    if not trimmed:
        raise ContentError("blank", "The text is empty or only white space.")
    size = len(trimmed.encode("utf-8"))
    if size > MAX_CONTENT_BYTES:
        raise ContentError("too_long", f"The text has {size:,} bytes; at most {MAX_CONTENT_BYTES:,} are stored.")


def content_hash(text: str) -> str:
    """Return the hex SHA-256 of the trimmed text in NFC. Raises `ValueError` on lone surrogates."""
    return hashlib.sha256(unicodedata.normalize("NFC", normalise_content(text)).encode("utf-8")).hexdigest()


def check_metadata(value: object) -> None:
    """Raise `ContentError` unless `value` is a JSON object that can be stored.

    Codes: `not_an_object`, `not_json` (other types, NaN, infinity), `null_character`, `lone_surrogate`,
    `too_deep` (over 32 levels), `too_long` (over 8 KiB of compact JSON in UTF-8).
    """
    if not isinstance(value, dict):
        raise ContentError("not_an_object", "Metadata must be a JSON object.")
    for leaf in _leaves(value):
        _check_leaf(leaf)
    try:
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8"))
    except ValueError as error:
        raise ContentError("not_json", "Metadata holds a value that JSON cannot carry.") from error
    if size > MAX_METADATA_BYTES:
        raise ContentError("too_long", f"Metadata has {size:,} bytes; at most {MAX_METADATA_BYTES:,} are stored.")


def is_same_json(one: object, other: object) -> bool:
    """Whether two JSON values are equal; unlike in Python, true is not 1 and false is not 0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    return one == other


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise ContentError("not_text", "A string is needed.")
    if "\x00" in text:
        raise ContentError("null_character", "The text holds a NUL character.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ContentError("lone_surrogate", "The text holds half of a surrogate pair.") from error


def _leaves(value: object) -> Iterator[object]:
    """Yield every key and scalar of `value` without recursion, so that depth cannot overflow the stack."""
    waiting: list[tuple[object, int]] = [(value, 1)]
    while waiting:
        current, depth = waiting.pop()
        if isinstance(current, (dict, list)):
            if depth > MAX_METADATA_DEPTH:
                raise ContentError("too_deep", f"Metadata is nested more than {MAX_METADATA_DEPTH} levels deep.")
            if isinstance(current, dict):
                yield from (_Key(key) for key in current)
            parts = current.values() if isinstance(current, dict) else current
            waiting.extend((part, depth + 1) for part in parts)
        else:
            yield current


class _Key:
    """Marks a leaf as a key of an object, which must be text."""

    def __init__(self, key: object) -> None:
        self.key = key


def _check_leaf(leaf: object) -> None:
    if isinstance(leaf, _Key):
        _check_text(leaf.key)
    elif isinstance(leaf, str):
        _check_text(leaf)
    elif isinstance(leaf, float) and not math.isfinite(leaf):
        raise ContentError("not_json", "Metadata holds a number that is not finite.")
    elif leaf is not None and not isinstance(leaf, (bool, int, float)):
        raise ContentError("not_json", f"Metadata holds a {type(leaf).__name__}, which is not JSON.")
