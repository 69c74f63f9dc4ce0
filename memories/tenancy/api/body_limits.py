"""The maximum size of request bodies by endpoint."""

from memory_platform.rest.request_errors import RestError

#: The default limit, for endpoints that accept ids and short values.
SMALL_BODY_BYTES = 64 * 1024
#: For a text of 256 KiB, which JSON escapes may make six times as long.
TEXT_BODY_BYTES = 2 * 1024 * 1024
#: For a list of texts.
LARGE_BODY_BYTES = 8 * 1024 * 1024

_UNITS = {SMALL_BODY_BYTES: "64 KiB", TEXT_BODY_BYTES: "2 MiB", LARGE_BODY_BYTES: "8 MiB"}


def too_large(limit: int) -> RestError:
    """Return the error for a body above one of the limits."""
    return RestError("too_large", f"The body is larger than {_UNITS[limit]}.", status_code=413)
