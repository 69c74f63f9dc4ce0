"""When the worker replaces a process that grew."""

from types import SimpleNamespace

from billiard.compat import mem_rss

from memory_platform.celery import TASK_GROWTH_KIB, limit_growth


def test_a_process_may_grow_by_one_compaction():
    worker = SimpleNamespace(max_memory_per_child=None)
    limit_growth(worker)
    assert abs(worker.max_memory_per_child - mem_rss() - TASK_GROWTH_KIB) < 1024


def test_a_configured_size_stays():
    worker = SimpleNamespace(max_memory_per_child=300_000)
    limit_growth(worker)
    assert worker.max_memory_per_child == 300_000
