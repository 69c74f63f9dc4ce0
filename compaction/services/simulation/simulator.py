"""Simulate a recorded session under another policy; nothing is written (ADR-0075)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from compaction.services.pipeline.planning import mask_turns, plan_compaction
from compaction.services.sessions.turns import LIVE, SessionTurn
from context.services.profiles.compaction_policy import CompactionPolicy

APPENDED, SCHEDULED, EMERGENCY_EVENT = "appended", "scheduled", "emergency"
#: The fields of a policy that affect a simulation.
SIMULATED_FIELDS = (
    *("sleep_threshold", "emergency_threshold", "target", "preserve_messages", "preserve_share"),
    *("mask_over_bytes", "summary_share", "idle_minutes"),
    *("has_scheduled", "has_emergency", "has_masking", "has_summaries"),
)
TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True)
class SimulationPoint:
    """Tokens of directive, summary and messages after an event; `sequence` is that of the newest message."""

    sequence: int
    tokens: int
    pressure: float
    event: str


@dataclass
class SimulationCost:
    """Tokens sent to a model over the session and their price, 0 if none was given.

    A context over the window is truncated to the unreserved tokens. `summary_call_tokens` are read and written by a
    summariser.
    """

    price_per_million: float
    calls: int = 0
    tokens_sent: int = 0
    tokens_sent_without_compaction: int = 0
    calls_truncated_without_compaction: int = 0
    calls_truncated: int = 0
    summary_call_tokens: int = 0

    @property
    def price(self) -> float:
        """The price with compaction, including the calls of the summariser."""
        return (self.tokens_sent + self.summary_call_tokens) * self.price_per_million / TOKENS_PER_PRICE

    @property
    def price_without_compaction(self) -> float:
        """The price of the same session with its context truncated to the window."""
        return self.tokens_sent_without_compaction * self.price_per_million / TOKENS_PER_PRICE


@dataclass
class Simulation:
    """The course of a session under a policy. `peak` is the highest pressure at any point."""

    cost: SimulationCost
    reserved_tokens: int = 0
    points: list[SimulationPoint] = field(default_factory=list)
    #: Compactions that wrote a summary, without those that only masked.
    compactions: int = 0
    masked: int = 0
    compacted: int = 0
    peak: float = 0.0


def simulate_session(
    turns: Iterable[SessionTurn],
    policy: CompactionPolicy,
    window: int,
    *,
    directive_tokens: int = 0,
    reserved_tokens: int = 0,
    price_per_million: float = 0.0,
) -> Simulation:
    """Return the course of `turns`, given in order as originally written, under `policy`.

    `reserved_tokens` of the window are for the reply and memories.

    A context is requested before each answer of the assistant (before every message if there is none); a session over
    the emergency threshold is compacted at that point. A pause of the policy's idle minutes compacts a session over the
    sleep threshold on schedule. Every summary has its maximum length.
    """
    played = [replace(turn, state=LIVE) for turn in turns]
    answers = {"assistant"} if any(turn.role == "assistant" for turn in played) else {turn.role for turn in played}
    course = _Course(policy, window, directive_tokens, Simulation(SimulationCost(price_per_million), reserved_tokens))
    for position, turn in enumerate(played):
        if position and policy.has_scheduled and _is_pause(played[position - 1], turn, policy.idle_minutes):
            course.compact_over(policy.sleep_threshold, SCHEDULED)
        if turn.role in answers:
            if policy.has_emergency:
                course.compact_over(policy.emergency_threshold, EMERGENCY_EVENT)
            course.send_context()
        course.append(turn, position)
    result = course.result
    result.peak = max((point.pressure for point in result.points), default=course.pressure)
    return result


def _is_pause(before: SessionTurn, after: SessionTurn, minutes: int) -> bool:
    if before.created_at is None or after.created_at is None:
        return False
    return after.created_at - before.created_at >= timedelta(minutes=minutes)


class _Course:
    """The state of a session during the simulation."""

    def __init__(self, policy: CompactionPolicy, window: int, directive_tokens: int, result: Simulation) -> None:
        self.result = result
        self._policy = policy
        self._window = window
        self._directive = directive_tokens
        self._summary = 0
        self._turns: list[SessionTurn] = []
        self._tokens = self._raw_tokens = directive_tokens
        self._markers = self._raw_markers = 0
        self._sequence = -1

    @property
    def pressure(self) -> float:
        return (self._tokens + self._markers + self.result.reserved_tokens) / self._window

    def append(self, turn: SessionTurn, position: int) -> None:
        self._turns.append(turn)
        self._tokens += turn.tokens
        self._raw_tokens += turn.tokens
        self._markers += turn.marker_tokens
        self._raw_markers += turn.marker_tokens
        self._sequence = position if turn.sequence is None else turn.sequence
        self._note(APPENDED)

    def send_context(self) -> None:
        cost = self.result.cost
        cost.calls += 1
        available = self._window - self.result.reserved_tokens
        sent, sent_without = self._tokens + self._markers, self._raw_tokens + self._raw_markers
        cost.calls_truncated += sent > available
        cost.calls_truncated_without_compaction += sent_without > available
        cost.tokens_sent += min(sent, available)
        cost.tokens_sent_without_compaction += min(sent_without, available)

    def compact_over(self, threshold: float, event: str) -> None:
        """Compact if the pressure reaches the threshold and there is something to do."""
        if self.pressure < threshold:
            return
        plan = plan_compaction(
            self._turns,
            window=self._window,
            policy=self._policy,
            fixed_tokens=self._directive + self._summary,
            summary_tokens=self._summary,
            reserved_tokens=self.result.reserved_tokens,
        )
        if plan.is_empty:
            return
        self.result.masked += len(plan.mask_ids)
        leaving = set(plan.span_ids)
        if leaving:
            self.result.compactions += 1
            self.result.compacted += len(leaving)
            original = sum(turn.tokens for turn in self._turns if turn.id in leaving)
            self.result.cost.summary_call_tokens += original + self._summary + plan.summary_budget_tokens
            self._summary = plan.summary_budget_tokens
        self._turns = [turn for turn in mask_turns(self._turns, plan.mask_ids) if turn.id not in leaving]
        self._tokens = plan.tokens_after
        self._markers = sum(turn.marker_tokens for turn in self._turns)
        self._note(event)

    def _note(self, event: str) -> None:
        self.result.points.append(SimulationPoint(self._sequence, self._tokens, self.pressure, event))
