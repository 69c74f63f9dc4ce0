"""Simulate a recorded session under another policy; nothing is written (ADR-0075)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from compaction.services.pipeline.planning import CompactionPlan, mask_turns, plan_compaction
from compaction.services.sessions.turns import LIVE, SessionTurn
from context.services.profiles.compaction_policy import CompactionPolicy

APPENDED = "appended"
SCHEDULED = "scheduled"
EMERGENCY_EVENT = "emergency"

TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True)
class SimulationPoint:
    """The context's tokens after an event; `sequence` is that of the newest message."""

    sequence: int
    tokens: int
    pressure: float
    event: str


@dataclass(frozen=True)
class SimulationCost:
    """Tokens sent to a model over the session and their price, 0 where none was given.

    A context longer than the window is truncated to it. `summary_call_tokens` are read and written by a summariser.
    """

    calls: int
    tokens_sent: int
    tokens_sent_without_compaction: int
    calls_truncated_without_compaction: int
    calls_truncated: int
    summary_call_tokens: int
    price_per_million: float

    @property
    def price(self) -> float:
        """With compaction, what the summaries take included."""
        return (self.tokens_sent + self.summary_call_tokens) * self.price_per_million / TOKENS_PER_PRICE

    @property
    def price_without_compaction(self) -> float:
        """The same session with its context cut to the window and nothing else."""
        return self.tokens_sent_without_compaction * self.price_per_million / TOKENS_PER_PRICE


@dataclass(frozen=True)
class Simulation:
    """The course of a session under a policy. `peak` is the highest pressure at any point."""

    points: tuple[SimulationPoint, ...]
    #: Those that made a summary; masking alone is not one.
    compactions: int
    masked: int
    compacted: int
    peak: float
    cost: SimulationCost


def simulate_session(
    turns: Iterable[SessionTurn],
    policy: CompactionPolicy,
    window: int,
    *,
    directive_tokens: int = 0,
    price_per_million: float = 0.0,
) -> Simulation:
    """Play `turns`, in order and as they were written, under `policy`.

    A context is asked for before each answer of the assistant (before every message where it has none); there a session
    over the emergency threshold is compacted. A pause of the policy's idle minutes over the sleep threshold compacts it
    on schedule. Summaries are taken to be as long as they may.
    """
    played = [turn if turn.state == LIVE else replace(turn, state=LIVE) for turn in turns]
    answers = {"assistant"} if any(turn.role == "assistant" for turn in played) else {turn.role for turn in played}
    course = _Course(policy, window, directive_tokens)
    for position, turn in enumerate(played):
        if position and _is_pause(played[position - 1], turn, policy.idle_minutes):
            course.rest()
        if turn.role in answers:
            course.ask()
        course.append(turn, position)
    return course.told(price_per_million)


def _is_pause(before: SessionTurn, after: SessionTurn, minutes: int) -> bool:
    if before.created_at is None or after.created_at is None:
        return False
    return after.created_at - before.created_at >= timedelta(minutes=minutes)


class _Course:
    """A session while it is played."""

    def __init__(self, policy: CompactionPolicy, window: int, directive_tokens: int) -> None:
        self._policy = policy
        self._window = window
        self._directive = directive_tokens
        self._summary = 0
        self._standing: list[SessionTurn] = []
        self._tokens = directive_tokens
        self._raw_tokens = directive_tokens
        self._sequence = -1
        self._points: list[SimulationPoint] = []
        self._compactions = self._masked = self._compacted = 0
        self._calls = self._sent = self._sent_raw = self._cut = self._cut_raw = self._summarising = 0

    def append(self, turn: SessionTurn, position: int) -> None:
        """A message was written."""
        self._standing.append(turn)
        self._tokens += turn.tokens
        self._raw_tokens += turn.tokens
        self._sequence = position if turn.sequence is None else turn.sequence
        self._note(APPENDED)

    def rest(self) -> None:
        """The session lay idle."""
        if self._policy.has_scheduled and self._pressure >= self._policy.sleep_threshold:
            self._compact(SCHEDULED)

    def ask(self) -> None:
        """A context was asked for and sent to a model."""
        if self._policy.has_emergency and self._pressure >= self._policy.emergency_threshold:
            self._compact(EMERGENCY_EVENT)
        self._calls += 1
        self._cut += self._tokens > self._window
        self._cut_raw += self._raw_tokens > self._window
        self._sent += min(self._tokens, self._window)
        self._sent_raw += min(self._raw_tokens, self._window)

    def told(self, price_per_million: float) -> Simulation:
        """How it went."""
        cost = SimulationCost(
            calls=self._calls,
            tokens_sent=self._sent,
            tokens_sent_without_compaction=self._sent_raw,
            calls_truncated_without_compaction=self._cut_raw,
            calls_truncated=self._cut,
            summary_call_tokens=self._summarising,
            price_per_million=price_per_million,
        )
        peak = max((point.pressure for point in self._points), default=self._pressure)
        return Simulation(tuple(self._points), self._compactions, self._masked, self._compacted, peak, cost)

    @property
    def _pressure(self) -> float:
        return self._tokens / self._window

    def _note(self, event: str) -> None:
        self._points.append(SimulationPoint(self._sequence, self._tokens, self._pressure, event))

    def _compact(self, event: str) -> None:
        plan = plan_compaction(
            self._standing,
            window=self._window,
            policy=self._policy,
            fixed_tokens=self._directive + self._summary,
            summary_tokens=self._summary,
        )
        if plan.is_empty:
            return
        self._take(plan)
        self._note(event)

    def _take(self, plan: CompactionPlan) -> None:
        self._masked += len(plan.mask_ids)
        leaving: set[Hashable] = set(plan.span_ids)
        if leaving:
            self._compactions += 1
            self._compacted += len(leaving)
            original = sum(turn.tokens for turn in self._standing if turn.id in leaving)
            self._summarising += original + self._summary + plan.summary_budget_tokens
            self._summary = plan.summary_budget_tokens
        self._standing = [turn for turn in mask_turns(self._standing, plan.mask_ids) if turn.id not in leaving]
        self._tokens = plan.tokens_after_at_most
