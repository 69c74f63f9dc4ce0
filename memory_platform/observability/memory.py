"""Memory that a process keeps although nothing uses it."""

import ctypes

_LIBRARY = ctypes.CDLL(None)


def trim_memory() -> None:
    """Return free pages to the system, where the C library can: glibc keeps what large requests and tasks took."""
    if (trim := getattr(_LIBRARY, "malloc_trim", None)) is not None:
        trim(0)
