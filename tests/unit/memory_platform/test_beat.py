"""Beat after its clock was set back."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import time_machine
from celery import Celery

from memory_platform.beat import Scheduler
from memory_platform.celery import app as platform

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def test_tasks_run_at_their_interval_after_the_clock_was_set_back(tmp_path: Path) -> None:
    app = Celery("test", broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {"often": {"task": "nothing", "schedule": 2.0}}
    with time_machine.travel(NOW + timedelta(hours=3)):
        scheduler = Scheduler(app, schedule_filename=str(tmp_path / "schedule"))
        assert scheduler.tick() <= 2.0
    with time_machine.travel(NOW):
        assert scheduler.tick() <= 2.0
    scheduler.close()


def test_platform_uses_it() -> None:
    assert platform.conf.beat_scheduler == f"{Scheduler.__module__}:{Scheduler.__qualname__}"
