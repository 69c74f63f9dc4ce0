"""Return unused memory of a process to the system."""

import ctypes

_LIBRARY = ctypes.CDLL(None)


def trim_memory() -> None:
    """Return free pages to the system if the C library supports it: glibc keeps those of large requests and tasks."""
    if (trim := getattr(_LIBRARY, "malloc_trim", None)) is not None:
        trim(0)
