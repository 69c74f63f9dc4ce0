"""Heartbeats of workers and beat, and the last runs of scheduled tasks, cached by Celery signals (ADR-0086)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from celery.signals import after_task_publish, beat_init, heartbeat_sent, task_postrun, task_prerun
from django.conf import settings
from django.utils import timezone

from memory_platform.console.optional_cache import read_cached, write_cached

WORKER, BEAT = "pulse.worker", "pulse.beat"
_KEPT_SECONDS = 7 * 24 * 3600
#: The shortest time between two writes of one heartbeat.
_WRITE_EVERY_SECONDS = 5.0
#: A process without a heartbeat for this long counts as away.
WORKER_AWAY_AFTER_SECONDS = 30.0
BEAT_AWAY_AFTER_SECONDS = 60.0
_RUN_PREFIX = "task.run."

#: The interval from which the Jobs page shows a scheduled task.
SHOWN_FROM_SECONDS = 60
_written: dict[str, float] = {}
_began: dict[str, float] = {}


@dataclass(frozen=True)
class LastRun:
    """The last run of a scheduled task: its end, its duration, and whether it failed."""

    at: datetime
    milliseconds: float
    is_failed: bool


@dataclass(frozen=True)
class ScheduledTask:
    """A task that runs every `seconds`, and its last run; None if no worker has run it recently."""

    name: str
    seconds: float
    last: LastRun | None

    @property
    def interval(self) -> str:
        """The interval in its largest whole unit."""
        for unit, length in (("hour", 3600), ("minute", 60)):
            if self.seconds >= length and self.seconds % length == 0:
                count = int(self.seconds // length)
                return f"every {unit}" if count == 1 else f"every {count} {unit}s"
        return f"every {self.seconds:g} seconds"


def record_heartbeat(key: str, **_: object) -> None:
    """Write a heartbeat of this process, at most every five seconds."""
    now = time.monotonic()
    if now - _written.get(key, -_WRITE_EVERY_SECONDS) >= _WRITE_EVERY_SECONDS:
        _written[key] = now
        write_cached(key, time.time(), _KEPT_SECONDS)


def connect_heartbeat_signals() -> None:
    """Connect Celery's signals in this process, a worker or beat."""
    heartbeat_sent.connect(partial(record_heartbeat, WORKER), weak=False)
    beat_init.connect(_connect_beat)
    task_prerun.connect(_note_start)
    task_postrun.connect(_record_run)


def _connect_beat(**_: object) -> None:
    """Count every task that this process publishes from now on as a heartbeat of beat."""
    after_task_publish.connect(partial(record_heartbeat, BEAT), weak=False)


def _note_start(task_id: str, **_: object) -> None:
    _began[task_id] = time.monotonic()


def _record_run(task_id: str, task: Any, state: str = "", **_: object) -> None:
    began = _began.pop(task_id, time.monotonic())
    if task.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}:
        took = round((time.monotonic() - began) * 1000, 1)
        write_cached(_RUN_PREFIX + task.name, [timezone.now().isoformat(), took, state == "FAILURE"], _KEPT_SECONDS)


def scheduled_tasks() -> list[ScheduledTask]:
    """Return the scheduled tasks from `SHOWN_FROM_SECONDS` on, the least frequent first. One request to the cache.

    Tasks that run more often are internal steps; the Health page shows whether the worker is behind.
    """
    schedule: Mapping[str, dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE
    entries = {name: entry for name, entry in schedule.items() if entry["schedule"] >= SHOWN_FROM_SECONDS}
    stored = read_cached([_RUN_PREFIX + entry["task"] for entry in entries.values()])
    last = {key: LastRun(datetime.fromisoformat(at), *figures) for key, (at, *figures) in stored.items()}
    rows = [
        ScheduledTask(name, entry["schedule"], last.get(_RUN_PREFIX + entry["task"])) for name, entry in entries.items()
    ]
    return sorted(rows, key=lambda row: (-row.seconds, row.name))
