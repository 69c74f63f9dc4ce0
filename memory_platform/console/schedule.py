"""The tasks that the scheduler starts, described for people, with their last runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memory_platform.console.heartbeats import LastRun, last_runs

_DESCRIPTIONS: Mapping[str, str] = {
    "sweep-pending-embeddings": "Embed pending memories",
    "sweep-embedding-models": "Continue re-embedding",
    "fold-retrievals": "Update retrieval counts",
    "compare-new-memories": "Find near-duplicates and contradictions",
    "find-faults": "Find unused and expiring memories",
    "find-unhelpful": "Find unhelpful memories",
    "sweep-languages": "Finish language changes",
    "count-common-words": "Update common words",
    "fold-counts": "Update partition counts",
    "forget-old-records": "Delete expired records",
    "prune-receipts": "Delete old receipts",
    "sweep-sessions": "Compact idle sessions",
    "sweep-runs": "Resume abandoned compactions",
    "sweep-evaluations": "Resume abandoned evaluations",
    "roll-up-changed": "Roll up changed partitions",
}


@dataclass(frozen=True)
class ScheduledTask:
    """A task that repeats every `seconds`, and its last run; None where no worker ran it lately."""

    name: str
    description: str
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


def scheduled_tasks() -> list[ScheduledTask]:
    """Return all of them, the least frequent first."""
    entries: Mapping[str, dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE
    last = last_runs([entry["task"] for entry in entries.values()])
    rows = [
        ScheduledTask(name, _DESCRIPTIONS.get(name, name), entry["schedule"], last.get(entry["task"]))
        for name, entry in entries.items()
    ]
    return sorted(rows, key=lambda row: (-row.seconds, row.description))
