"""The demo tenant's sessions: the file read, relative dates turned into moments.

The file is described in memories/data/demo/README.md. Nothing here knows what time it is: `now` is passed in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from compaction.services.drafts import ASSISTANT, TOOL, USER, NewMessage
from memories.services.demo import expand_dates

SESSIONS_FILE = Path(__file__).resolve().parent.parent / "data" / "demo" / "sessions.json"


@dataclass(frozen=True)
class DemoSession:
    """A conversation as it happened; `compacted_at` None where that did not happen."""

    at: datetime
    partition: str
    model: str
    max_context_tokens: int
    directive: str
    metadata: Mapping[str, Any]
    messages: tuple[NewMessage, ...]
    compacted_at: datetime | None
    trigger: str

    @property
    def ended_at(self) -> datetime:
        """When the last message was said."""
        return max((each.created_at for each in self.messages if each.created_at), default=self.at)


def read_sessions(now: datetime, file: Path = SESSIONS_FILE) -> tuple[DemoSession, ...]:
    """The demo's sessions as seen from `now`, oldest first."""
    told = json.loads(expand_dates(file.read_text(encoding="utf-8"), now))
    return tuple(sorted((_session(row, now) for row in told["sessions"]), key=lambda session: session.at))


def _session(row: Mapping[str, Any], now: datetime) -> DemoSession:
    at = now - timedelta(days=row["days_ago"])
    compacted = row.get("compacted_days_ago")
    return DemoSession(
        at=at,
        partition=row["partition"],
        model=row["model"],
        max_context_tokens=row["max_context_tokens"],
        directive=row["directive"],
        metadata=row["metadata"],
        messages=tuple(_messages(row["messages"], at, timedelta(seconds=row["seconds_apart"]))),
        compacted_at=None if compacted is None else now - timedelta(days=compacted),
        trigger=row.get("trigger", "manual"),
    )


def _messages(rows: list[Mapping[str, Any]], at: datetime, apart: timedelta) -> Iterator[NewMessage]:
    """A row is what the user or the assistant says, or a call of a tool with its output, which makes two messages."""
    for place, row in enumerate(rows, start=1):
        said_at = at + place * apart
        if "call" in row:
            arguments = json.dumps(row["arguments"])
            call = {"id": f"call-{place}", "function": {"name": row["call"], "arguments": arguments}}
            yield NewMessage(ASSISTANT, tool_calls=[call], created_at=said_at)
            output = "\n".join(row["output"])
            yield NewMessage(TOOL, output, row["call"], tool_call_id=f"call-{place}", created_at=said_at)
            continue
        role = USER if USER in row else ASSISTANT
        yield NewMessage(role, row[role], created_at=said_at)
