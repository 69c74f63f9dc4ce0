"""What the scheduler starts by itself, in plain words, and when each was last done."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memory_platform.console.heartbeats import LastRun, last_runs

_WORDS: Mapping[str, str] = {
    "sweep-pending-embeddings": "Embed memories that were left behind",
    "sweep-embedding-models": "Go on with vectors of another model",
    "fold-retrievals": "Count what contexts have retrieved",
    "compare-new-memories": "Look for near duplicates and contradictions",
    "find-faults": "Look for memories never retrieved or soon to expire",
    "find-unhelpful": "Look for memories shown often and of no use",
    "sweep-languages": "Finish changes of language",
    "count-common-words": "Count which words are common",
    "fold-counts": "Add up how many memories partitions have",
    "forget-old-records": "Delete records past their time",
    "prune-receipts": "Delete contexts past what their tenant keeps",
    "sweep-sessions": "Compact sessions that are idle and full",
    "sweep-runs": "Take up compactions that were left behind",
    "sweep-evaluations": "Take up evaluations that were left behind",
    "roll-up-changed": "Roll up partitions in which something changed",
}


@dataclass(frozen=True)
class ScheduledTask:
    """Work that repeats every `seconds`, and how it went last; None where no worker of late did it."""

    name: str
    words: str
    seconds: float
    last: LastRun | None

    @property
    def interval(self) -> str:
        """How often, in its largest whole unit."""
        for unit, length in (("hour", 3600), ("minute", 60)):
            if self.seconds >= length and self.seconds % length == 0:
                count = int(self.seconds // length)
                return f"every {unit}" if count == 1 else f"every {count} {unit}s"
        return f"every {self.seconds:g} seconds"


def scheduled_tasks() -> list[ScheduledTask]:
    """All of it, the rarest first."""
    entries: Mapping[str, dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE
    last = last_runs([entry["task"] for entry in entries.values()])
    rows = [
        ScheduledTask(name, _WORDS.get(name) or name.replace("-", " "), entry["schedule"], last.get(entry["task"]))
        for name, entry in entries.items()
    ]
    return sorted(rows, key=lambda row: (-row.seconds, row.words))
