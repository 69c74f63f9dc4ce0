"""A LoCoMo conversation replayed into a session over REST, with tool calls and a simulated clock."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import pytest
from django.utils import timezone

from compaction import tasks
from compaction.models import Compaction
from memories.models import Tenant
from memories.services.store.locomo import LocomoTurn, parse_conversation
from tests.architecture import ROOT
from tests.integration.compaction.sessions.test_session_context import check, codes
from tests.integration.compaction_helpers import stored_runs
from tests.integration.session_helpers import (
    SESSIONS,
    append,
    calling,
    open_session,
    read,
    tool_result_body,
    user,
)

#: The longest one of the data set: 680 turns in 29 sessions.
CONVERSATION = ROOT.parent / "shared" / "data" / "locomo" / "43.json"
NEEDS_CONVERSATION = pytest.mark.skipif(
    not CONVERSATION.is_file(), reason=f"needs the LoCoMo conversation {CONVERSATION.name}"
)
_DIRECTIVE = "You are Tim's friend John. Be warm, and remember what he tells you."
#: A tool is called after this many turns; its outputs have about these sizes in turn, and at intervals a large one.
TURNS_PER_CALL = 7
OUTPUT_BYTES = (200, 900, 400, 2_400)
CALLS_PER_FLOOD, FLOOD_BYTES = 16, 11_000
#: In every output that is long enough to be masked, and nowhere else.
LONG_OUTPUT = "vault"
ROWS_BATCH = 7
HUGE = 128_000
SLEEP_PRESSURE, EMERGENCY_PRESSURE = 0.70, 0.80

LongSessionRow = dict[str, Any]


class MovingClock:
    """The current time of the application: set by the test, and running on from there."""

    def __init__(self) -> None:
        self.set(timezone.now())

    def set(self, at: datetime) -> None:
        self._at, self._since = at, time.monotonic()

    def move(self, **delta: float) -> None:
        self.set(self() + timedelta(**delta))

    def __call__(self) -> datetime:
        return self._at + timedelta(seconds=time.monotonic() - self._since)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovingClock:
    moved = MovingClock()
    monkeypatch.setattr(timezone, "now", moved)
    return moved


def conversation_data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(CONVERSATION.read_text())
    return data


def session_sittings(data: dict[str, Any]) -> Iterator[tuple[datetime, list[LongSessionRow]]]:
    """Yield the time of each session of the conversation, and the messages appended then."""
    number = 0
    for at, group in groupby(parse_conversation(data), key=lambda turn: turn.said_at):
        rows: list[LongSessionRow] = []
        for turn in group:
            rows.append(_row(turn))
            number += 1
            if number % TURNS_PER_CALL == 0:
                rows += _looked_up(number // TURNS_PER_CALL)
        yield at, rows


def _row(turn: LocomoTurn) -> LongSessionRow:
    """Return a turn as a user's message: both speakers are people, and what an assistant states is no memory."""
    return user(turn.text, name=turn.speaker, source_id=turn.dia_id, created_at=turn.said_at.isoformat())


def _looked_up(number: int) -> list[LongSessionRow]:
    """Return a call and its result, which no question is about."""
    size = FLOOD_BYTES if number % CALLS_PER_FLOOD == 0 else OUTPUT_BYTES[number % len(OUTPUT_BYTES)]
    place = LONG_OUTPUT if size > 512 else "shelf"
    rows = [f"{place} {number}.{each} is nominal, checksum {number * 7919 + each:06}" for each in range(size // 39)]
    call_id = f"call_{number}"
    return [calling(call_id, name="read_table"), tool_result_body(call_id, "\n".join(rows), name="read_table")]


def _is_own(text: str) -> bool:
    """Return whether a system message is the session's directive or summary, not a memory of another session."""
    return text == _DIRECTIVE or text.startswith("[CONTEXT SUMMARY]\n")


@dataclass(frozen=True)
class BeforeCompaction:
    """The contents and tokens of a context with an unlimited budget, before a compaction.

    `said` is the number of messages then; a call that waits for its result is in `waiting`, not in the context.
    """

    messages: list[LongSessionRow]
    tokens: int
    pressure: float
    message_count: int
    waiting: list[LongSessionRow]


@dataclass
class PlayedSession:
    """A session that is being replayed, and all that is recorded about it.

    `before` has, by compaction, the contents before it, and `after` the pressure after each; `rows` are all appended
    messages, as the API returned them.
    """

    client: Any
    tenant: Tenant
    clock: MovingClock
    window: int
    session: LongSessionRow = field(default_factory=dict)
    rows: list[LongSessionRow] = field(default_factory=list)
    before: dict[str, BeforeCompaction] = field(default_factory=dict)
    after: list[float] = field(default_factory=list)
    pressures: list[float] = field(default_factory=list)
    warnings: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        fields = {"max_context_tokens": self.window, "directive": _DIRECTIVE, "user_id": "tim"}
        self.session = open_session(self.client, **fields)

    def read(self) -> LongSessionRow:
        return read(self.client, self.session)

    def say(self, rows: list[LongSessionRow]) -> None:
        """Append a few messages at a time, and request a context each time."""
        for start in range(0, len(rows), ROWS_BATCH):
            self.rows += append(self.client, self.session, *rows[start : start + ROWS_BATCH])
            self.context_asked_for()

    def context_asked_for(self) -> LongSessionRow:
        """Return the context for the next answer; check what applies to every context, and its emergency compaction."""
        state = self.read()
        before = self.everything() if state["pressure"] >= EMERGENCY_PRESSURE else None
        context = self.ask()
        if "compacted_in_emergency" in codes(context):
            assert before is not None, "compacted below the threshold"
            self.note(before)
        else:
            assert context["pressure"] == state["pressure"]
        assert (context["pressure"] >= 0.85) == ("pressure_high" in codes(context))
        assert context["pressure"] > 1 or "trimmed" not in codes(context), "left out of a context that is not full"
        assert (context["generation"] >= 3) == ("summary_degrades" in codes(context))
        self.warnings |= codes(context)
        if len(self.pressures) % 6 == 0:
            self.ask(max_tokens=600 + 97 * (len(self.pressures) % 36), preview=True)
        self.pressures.append(state["pressure"])
        return context

    def note(self, before: BeforeCompaction) -> None:
        """Record what was shown before the compaction that was just applied."""
        applied = self.applied()
        self.before[applied[-1]["id"]] = before
        self.after.append(self.read()["pressure"])
        assert len(self.before) == len(applied)

    def ask(self, **options: Any) -> LongSessionRow:
        """Request a context of the session; check its token count and that its tool calls are complete."""
        response = self.client.post(f"{SESSIONS}/{self.session['id']}/context", options)
        assert response.status_code == 200, response.content
        context: LongSessionRow = response.json()
        check(context)
        if "max_tokens" not in options:
            assert context["budget"]["max_tokens"] <= self.window
        return context

    def everything(self) -> BeforeCompaction:
        """Return what the session itself shows with an unlimited budget."""
        context = self.ask(max_tokens=HUGE, include_memories_top_k=1, preview=True)
        own = [message for message in context["messages"] if message["role"] != "system" or _is_own(message["content"])]
        waiting = [row for row in self.rows[-1:] if row["tool_calls"]]
        state = self.read()
        return BeforeCompaction(own, state["context_tokens"], state["pressure"], len(self.rows), waiting)

    def applied(self) -> list[LongSessionRow]:
        """Return the applied compactions, oldest first."""
        return [row for row in self.compactions() if row["state"] == Compaction.State.APPLIED]

    def compactions(self) -> list[LongSessionRow]:
        """Return all compactions, oldest first."""
        response = self.client.get(f"{SESSIONS}/{self.session['id']}/compactions?page_size=100")
        rows: list[LongSessionRow] = response.json()["results"]
        return rows[::-1]

    def slept(self, **delta: float) -> int:
        """Move the clock, run the sweeps and their tasks; return how many compactions the sweep requested."""
        self.clock.move(**delta)
        before = self.everything() if self.read()["pressure"] >= SLEEP_PRESSURE else None
        opened = tasks.sweep_sessions()
        self.worked()
        if opened and before is not None and len(self.applied()) > len(self.before):
            self.note(before)
        return opened

    def worked(self) -> int:
        """Run due tasks until none is left; return the number of rounds."""
        attempts = 0
        while waiting := [run for run in stored_runs(self.tenant) if run.state in {"queued", "running"}]:
            assert attempts < 10, "a run never ends"
            for run in waiting:
                tasks.run_compaction_task.apply(args=(str(run.tenant_id), str(run.pk)), throw=False)
            attempts += 1
            self.clock.move(minutes=5)
            tasks.sweep_runs()
        return attempts
