"""Partition paths: ordered `key=value` segments, e.g. `user=alex/topic=meetings`; the root is the empty path."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote_to_bytes

from memories.services.store.content import CodedError

MAX_DEPTH = 8
MAX_VALUE_CHARACTERS = 128
#: A B-tree index entry has at most about 2,700 bytes.
MAX_PATH_BYTES = 2_500

_KEY = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_RESERVED = "/=%"
#: A percent-encoded byte, `%41`; a longer text is too long in its canonical form too.
_MAX_CHARACTERS_PER_BYTE = 3


class PartitionError(CodedError):
    """A path that is not a partition."""


@dataclass(frozen=True)
class PartitionPath:
    """A checked partition path: decoded `segments` from the root down."""

    segments: tuple[tuple[str, str], ...] = ()

    @cached_property
    def path(self) -> str:
        """The canonical text; reserved and control characters of values are percent-encoded."""
        return "/".join(f"{key}={_encode(value)}" for key, value in self.segments)

    @property
    def depth(self) -> int:
        return len(self.segments)

    def ancestors(self) -> tuple["PartitionPath", ...]:
        """Return the partitions above this one, the root first."""
        return tuple(PartitionPath(self.segments[:length]) for length in range(self.depth))

    def __str__(self) -> str:
        return self.path


def parse_partition(path: str) -> PartitionPath:
    """Return the partition of `path` with canonical percent-encoding. Raises `PartitionError`."""
    if not isinstance(path, str):
        raise PartitionError("bad_segment", "A partition must be a string such as user=alex/topic=meetings.")
    if not path:
        return PartitionPath()
    if len(path) > MAX_PATH_BYTES * _MAX_CHARACTERS_PER_BYTE:
        raise PartitionError("too_long", f"A partition path may have at most {MAX_PATH_BYTES:,} bytes.")
    return _checked(tuple(_parse_segment(segment) for segment in path.split("/")))


def partition_from_ids(
    user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
) -> PartitionPath:
    """Return the partition of the shorthand ids. Raises `PartitionError`."""
    given = (("user", user_id), ("agent", agent_id), ("run", run_id))
    return _checked(tuple((key, _check_value(value)) for key, value in given if value is not None))


def is_within(path: str, prefix: str) -> bool:
    """Whether the canonical `path` is the partition `prefix` or lies below it; everything is within the root."""
    return not prefix or path == prefix or path.startswith(f"{prefix}/")


def subtree_bounds(path: str) -> tuple[str, str]:
    """Return bounds of the paths below `path` in C collation: `low <= path < high`; the root's include its own."""
    return (f"{path}/", f"{path}0") if path else ("", "{")


def _parse_segment(segment: str) -> tuple[str, str]:
    key, sign, raw = segment.partition("=")
    if not sign or "=" in raw:
        raise PartitionError("bad_segment", f"The segment {segment[:80]!r} is not in the form key=value.")
    if not _KEY.fullmatch(key):
        raise PartitionError("bad_key", f"The key {key[:80]!r} is not in the form [a-z][a-z0-9_-]{{0,31}}.")
    if any(unicodedata.category(character) == "Cc" for character in raw):
        raise PartitionError(
            "bad_value", f"The value of {key} contains control characters that are not percent-encoded."
        )
    return key, _check_value(_decode(raw, key))


def _decode(raw: str, key: str) -> str:
    if _STRAY_PERCENT.search(raw):
        raise PartitionError("bad_encoding", f"The value of {key} contains a percent sign without two hex digits.")
    try:
        return unquote_to_bytes(raw).decode("utf-8")
    except UnicodeError as error:
        raise PartitionError("bad_encoding", f"The value of {key} is not UTF-8.") from error


def _check_value(value: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_VALUE_CHARACTERS:
        raise PartitionError("bad_value", f"A partition value must have 1 to {MAX_VALUE_CHARACTERS} characters.")
    if any(character == "\x00" or unicodedata.category(character) == "Cs" for character in value):
        raise PartitionError("bad_value", "A partition value cannot contain NUL or an unpaired surrogate.")
    return value


def _checked(segments: tuple[tuple[str, str], ...]) -> PartitionPath:
    if len(segments) > MAX_DEPTH:
        raise PartitionError("too_deep", f"A partition has at most {MAX_DEPTH} segments, not {len(segments)}.")
    partition = PartitionPath(segments)
    if len(partition.path.encode("utf-8")) > MAX_PATH_BYTES:
        raise PartitionError("too_long", f"A partition path may have at most {MAX_PATH_BYTES:,} bytes.")
    return partition


def _encode(value: str) -> str:
    is_plain = {char: char not in _RESERVED and unicodedata.category(char) != "Cc" for char in set(value)}
    return "".join(char if is_plain[char] else "".join(f"%{byte:02X}" for byte in char.encode()) for char in value)
