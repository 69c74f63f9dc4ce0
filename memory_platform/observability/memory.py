"""Return unused memory of a process to the system, and exempt loaded objects from garbage collection."""

import ctypes
import gc

_LIBRARY = ctypes.CDLL(None)


def trim_memory() -> None:
    """Return free pages to the system if the C library supports it: glibc keeps those of large requests and tasks."""
    if (trim := getattr(_LIBRARY, "malloc_trim", None)) is not None:
        trim(0)


def exempt_loaded_objects() -> None:
    """Exempt all current objects from garbage collection, before processes fork; they are never freed.

    Examining them would sometimes delay a request by a sixth of a second, and would give each child its own copy.
    """
    gc.collect()
    gc.freeze()
    # The oldest generation is collected only if the objects that may join it are a quarter of those that the last
    # collection left. Without this collection, the exempt objects would count as left.
    gc.collect()
