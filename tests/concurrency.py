"""Work that begins at one moment, each in a thread and a connection of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

from memories.tenancy.exceptions import PlatformError

Result = TypeVar("Result")


def run_concurrently(works: Sequence[Callable[[], Result]]) -> list[Result | PlatformError]:
    """What each gives, or the refusal it met; anything else that is raised, is raised here."""
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
    """The code of each refusal, "" where there was none."""
    return [found.code if isinstance(found, PlatformError) else "" for found in run_concurrently(works)]
