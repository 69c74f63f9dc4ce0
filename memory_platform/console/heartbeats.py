"""Signs of life of workers and of beat, and when scheduled work last ran: kept in the cache all processes share.

Celery's signals write them in the process that lives; whoever asks reads the cache and waits for nobody (ADR-0086).
"""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from celery.signals import after_task_publish, beat_init, heartbeat_sent, task_postrun, task_prerun
from django.conf import settings
from django.core.cache import cache

WORKER, BEAT = "pulse.worker", "pulse.beat"
_KEPT_SECONDS = 7 * 24 * 3600
#: A sign is written again only so long after the last one.
_WRITE_EVERY_SECONDS = 5.0
#: Without a sign for so long a process counts as away.
WORKER_AWAY_AFTER_SECONDS = 30.0
BEAT_AWAY_AFTER_SECONDS = 60.0

_written: dict[str, float] = {}
_began: dict[str, float] = {}


@dataclass(frozen=True)
class LastRun:
    """When a task that beat sends was last done, how long it took, and whether it failed."""

    at: datetime
    milliseconds: float
    is_failed: bool


def last_heartbeat(key: str) -> datetime | None:
    """When the process was last seen to live; None for never."""
    seen = cache.get(key)
    return datetime.fromtimestamp(seen, UTC) if seen else None


def last_runs(tasks: Collection[str]) -> Mapping[str, LastRun]:
    """Of each task that has run, by its name. One look into the cache."""
    found: dict[str, Any] = cache.get_many([_run_key(task) for task in tasks])
    runs = {task: found[key] for task in tasks if (key := _run_key(task)) in found}
    return {task: LastRun(datetime.fromtimestamp(at, UTC), took, failed) for task, (at, took, failed) in runs.items()}


def is_cache_shared() -> bool:
    """Whether other processes can leave a sign here at all."""
    return "locmem" not in settings.CACHES["default"]["BACKEND"]


def record_heartbeat(key: str) -> None:
    """Say that this process lives; seldom enough to cost nothing."""
    now = time.monotonic()
    if now - _written.get(key, -_WRITE_EVERY_SECONDS) >= _WRITE_EVERY_SECONDS:
        _written[key] = now
        cache.set(key, time.time(), _KEPT_SECONDS)


def connect_heartbeat_signals() -> None:
    """Have Celery's signals leave the signs: in every process that is a worker or beat."""
    heartbeat_sent.connect(_worker_lives)
    beat_init.connect(_beat_starts)
    task_prerun.connect(_run_begins)
    task_postrun.connect(_run_ends)


def _worker_lives(**_: object) -> None:
    record_heartbeat(WORKER)


def _beat_starts(**_: object) -> None:
    """From here on whatever this process sends is a tick of beat."""
    after_task_publish.connect(_beat_ticks)


def _beat_ticks(**_: object) -> None:
    record_heartbeat(BEAT)


def _run_begins(task_id: str, **_: object) -> None:
    _began[task_id] = time.monotonic()


def _run_ends(task_id: str, task: Any, state: str = "", **_: object) -> None:
    began = _began.pop(task_id, time.monotonic())
    if task.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}:
        took = round((time.monotonic() - began) * 1000, 1)
        cache.set(_run_key(task.name), (time.time(), took, state == "FAILURE"), _KEPT_SECONDS)


def _run_key(task: str) -> str:
    return f"pulse.run.{task}"
