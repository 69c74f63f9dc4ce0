"""The maximum size of request bodies by endpoint."""

from contextlib import suppress
from typing import Protocol

from memory_platform.rest.request_errors import RestError

#: The default limit, for endpoints that accept ids and short values.
SMALL_BODY_BYTES = 64 * 1024
#: For a text of 256 KiB, which JSON escapes may make six times as long.
TEXT_BODY_BYTES = 2 * 1024 * 1024
#: For a list of texts.
LARGE_BODY_BYTES = 8 * 1024 * 1024
DRAINED_BYTES_MAX = 8 * LARGE_BODY_BYTES
PIECE_BYTES = 64 * 1024

_UNITS = {SMALL_BODY_BYTES: "64 KiB", TEXT_BODY_BYTES: "2 MiB", LARGE_BODY_BYTES: "8 MiB"}


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


def drain(stream: Readable | None, size: int) -> None:
    """Read the rest, because a client that is still sending would see a broken connection instead of the response."""
    size = min(size, DRAINED_BYTES_MAX)
    with suppress(OSError):  # the client sends too slowly or has stopped
        while stream is not None and size > 0 and (piece := stream.read(min(PIECE_BYTES, size))):
            size -= len(piece)


def too_large(limit: int) -> RestError:
    """Return the error for a body above one of the limits."""
    return RestError("too_large", f"The body is larger than {_UNITS[limit]}.", status_code=413)
