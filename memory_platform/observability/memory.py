"""Return unused memory of a process to the system."""

import ctypes
import gc

_LIBRARY = ctypes.CDLL(None)


def return_memory() -> None:
    """Free objects that only refer to each other, then return free pages to the system if the C library can.

    REST framework links request, view, response and serializers in a circle, so that a body and its answer stay until
    garbage collection looks at them: for a large request, only after dozens of others. It takes a millisecond, because
    what was loaded before the fork is left out of it. glibc keeps the pages of large requests and tasks.
    """
    gc.collect()
    if (trim := getattr(_LIBRARY, "malloc_trim", None)) is not None:
        trim(0)
