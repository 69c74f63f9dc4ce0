"""The scheduler of beat."""

from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):
    """Celery's own scheduler, which would wait until a clock that was set back has caught up (ADR-0280)."""

    def tick(self, *arguments: Any, **named: Any) -> float:
        """Send the due tasks; a last run in the future counts as one that has just happened."""
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # built again by Celery
        seconds: float = super().tick(*arguments, **named)
        return seconds
