"""Garbage of requests that ran while garbage was collected does not stay for long."""

import subprocess
import sys

from memory_platform.embedded.config import PROJECT

#: The objects that refer to each other survive one collection of the youngest, as those of a running request do.
CYCLE = """
import gc, weakref, memory_platform

class Request:
    def __init__(self):
        self.view = self

gc.collect()
request = Request()
left = weakref.ref(request)
collected = gc.get_stats()[0]["collections"]
kept = []
while gc.get_stats()[0]["collections"] == collected:
    kept.append([])
del request
kept += [[] for _ in range(100_000)]
print(left() is None)
"""


def test_garbage_that_survived_a_collection_is_collected_soon() -> None:
    result = subprocess.run([sys.executable, "-c", CYCLE], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True"
