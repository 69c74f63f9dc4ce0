"""Garbage of requests that run during a garbage collection is freed soon."""

import subprocess
import sys

import pytest

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
#: They survive two collections, and many objects were loaded before.
CYCLE_AFTER_LOADING = """
import gc, weakref
from memory_platform.observability.memory import exempt_loaded_objects

class Request:
    def __init__(self):
        self.view = self

loaded = [[] for _ in range(100_000)]
exempt_loaded_objects()
gc.set_threshold(1_000, 2, 2)
request = Request()
left = weakref.ref(request)
collected = gc.get_stats()[1]["collections"]
kept = []
while gc.get_stats()[1]["collections"] == collected:
    kept.append([])
del request
kept += [[] for _ in range(15_000)]
print(left() is None)
"""


@pytest.mark.parametrize("code", [CYCLE, CYCLE_AFTER_LOADING])
def test_garbage_that_survived_a_collection_is_collected_soon(code: str) -> None:
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True"
