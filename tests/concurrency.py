"""Calls that start at the same time, each in its own thread with its own connection."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

from memories.tenancy.exceptions import PlatformError

Result = TypeVar("Result")


def run_concurrently(works: Sequence[Callable[[], Result]]) -> list[Result | PlatformError]:
    """Return the result of each call, or the refusal that it raised; other exceptions are raised here."""
    gate = Barrier(len(works))

    def run(work: Callable[[], Result]) -> Result | PlatformError:
        gate.wait()
        try:
            return work()
        except PlatformError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def concurrent_refusal_codes(works: Sequence[Callable[[], object]]) -> list[str]:
    """Return the code of each refusal, "" for calls that were not refused."""
    return [found.code if isinstance(found, PlatformError) else "" for found in run_concurrently(works)]
