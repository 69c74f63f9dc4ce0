"""Return unused memory of a process to the system, and keep what was loaded out of garbage collection."""

import ctypes
import gc

_LIBRARY = ctypes.CDLL(None)


def trim_memory() -> None:
    """Return free pages to the system if the C library supports it: glibc keeps those of large requests and tasks."""
    if (trim := getattr(_LIBRARY, "malloc_trim", None)) is not None:
        trim(0)


def exempt_loaded_objects() -> None:
    """Keep all objects out of garbage collection, before processes fork.

    They stay anyway. Collecting garbage among them would now and then delay a request by a sixth of a second, and would
    give each child a copy of its own.
    """
    gc.collect()
    gc.freeze()
    # The oldest generation is collected only if the objects that may join it are a quarter of those that the last
    # collection left. Without this one, the exempt objects would count as left.
    gc.collect()
