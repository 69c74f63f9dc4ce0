"""Heartbeats of workers and of beat, and the last runs of scheduled tasks, in the shared cache (ADR-0086).

Signals of Celery write them in each process.
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
#: The shortest time between two writes of one heartbeat.
_WRITE_EVERY_SECONDS = 5.0
#: A process without a heartbeat for this long counts as away.
WORKER_AWAY_AFTER_SECONDS = 30.0
BEAT_AWAY_AFTER_SECONDS = 60.0

_written: dict[str, float] = {}
_began: dict[str, float] = {}


@dataclass(frozen=True)
class LastRun:
    """The last run of a scheduled task: its end, its duration, and whether it failed."""

    at: datetime
    milliseconds: float
    is_failed: bool


def last_heartbeat(key: str) -> datetime | None:
    """Return the time of the last heartbeat; None where there is none."""
    seen = cache.get(key)
    return datetime.fromtimestamp(seen, UTC) if seen else None


def last_runs(tasks: Collection[str]) -> Mapping[str, LastRun]:
    """Return the last run of each task that has run, by name. One request to the cache."""
    found: dict[str, Any] = cache.get_many([_run_key(task) for task in tasks])
    runs = {task: found[key] for task in tasks if (key := _run_key(task)) in found}
    return {task: LastRun(datetime.fromtimestamp(at, UTC), took, failed) for task, (at, took, failed) in runs.items()}


def is_cache_shared() -> bool:
    """Return whether other processes write to the same cache."""
    return "locmem" not in settings.CACHES["default"]["BACKEND"]


def record_heartbeat(key: str) -> None:
    """Write a heartbeat of this process, at most every five seconds."""
    now = time.monotonic()
    if now - _written.get(key, -_WRITE_EVERY_SECONDS) >= _WRITE_EVERY_SECONDS:
        _written[key] = now
        cache.set(key, time.time(), _KEPT_SECONDS)


def connect_heartbeat_signals() -> None:
    """Connect Celery's signals in this process, a worker or beat."""
    heartbeat_sent.connect(_record_worker)
    beat_init.connect(_connect_beat)
    task_prerun.connect(_note_start)
    task_postrun.connect(_record_run)


def _record_worker(**_: object) -> None:
    record_heartbeat(WORKER)


def _connect_beat(**_: object) -> None:
    """Count every task that this process publishes from now on as a heartbeat of beat."""
    after_task_publish.connect(_record_beat)


def _record_beat(**_: object) -> None:
    record_heartbeat(BEAT)


def _note_start(task_id: str, **_: object) -> None:
    _began[task_id] = time.monotonic()


def _record_run(task_id: str, task: Any, state: str = "", **_: object) -> None:
    began = _began.pop(task_id, time.monotonic())
    if task.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}:
        took = round((time.monotonic() - began) * 1000, 1)
        cache.set(_run_key(task.name), (time.time(), took, state == "FAILURE"), _KEPT_SECONDS)


def _run_key(task: str) -> str:
    return f"pulse.run.{task}"
