"""The tokens that a session's next context needs: thresholds act first, and only full contexts exclude messages."""

from dataclasses import dataclass, field, replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.services.pipeline.planning import MIN_SPAN_SHARE, CompactionPlan, mask_turns, plan_compaction
from compaction.services.sessions.gauges import CALM, EMERGENCY_LEVEL, FULL, SLEEP, WARNING, pressure_level
from compaction.services.sessions.pressure import (
    RESERVED_SHARE,
    PressureParts,
    planning_reserve,
    reserved_tokens,
    window_pressure,
)
from compaction.services.sessions.session_budget import SessionBudget, default_budget, marker_tokens
from compaction.services.sessions.transcript import MARKER_TOKENS
from compaction.services.sessions.trimming import TrimmedTurns, trim_to_newest_turns
from compaction.services.sessions.turns import SessionTurn
from context.services.profiles.compaction_policy import DEFAULT_POLICY, CompactionPolicy
from tests.unit.conversations import call, plain, tool_result_turn

CALM_POLICY = CompactionPolicy(has_scheduled=False, has_emergency=False)
LATE = CompactionPolicy(sleep_threshold=0.95, emergency_threshold=1.0, warning_threshold=1.0)

#: Window, context tokens (with directive, summary, markers), policy -> pressure, level, whether messages are excluded.
CASES = [
    # a quarter of any window is for reply and memories
    (1_000, 0, DEFAULT_POLICY, 0.25, CALM, False),
    (1_000_000, 0, DEFAULT_POLICY, 0.25, CALM, False),
    (1_000, 449, DEFAULT_POLICY, 0.699, CALM, False),
    (1_000, 450, DEFAULT_POLICY, 0.7, SLEEP, False),
    (1_000, 550, DEFAULT_POLICY, 0.8, EMERGENCY_LEVEL, False),
    (1_000, 600, DEFAULT_POLICY, 0.85, WARNING, False),
    (1_000, 750, DEFAULT_POLICY, 1.0, WARNING, False),
    (1_000, 751, DEFAULT_POLICY, 1.001, FULL, True),
    # contexts of 1,500 tokens left messages out from 900 tokens on
    (1_500, 900, DEFAULT_POLICY, 0.85, WARNING, False),
    (1_500, 824, DEFAULT_POLICY, 0.7993, SLEEP, False),
    (1_500, 1_126, DEFAULT_POLICY, 1.0007, FULL, True),
    # and those of 8,000 tokens from 5,100 on
    (8_000, 5_100, DEFAULT_POLICY, 0.8875, WARNING, False),
    (8_000, 6_000, DEFAULT_POLICY, 1.0, WARNING, False),
    (128_000, 57_600, DEFAULT_POLICY, 0.7, SLEEP, False),
    (128_000, 96_000, DEFAULT_POLICY, 1.0, WARNING, False),
    (1_000_000, 550_000, DEFAULT_POLICY, 0.8, EMERGENCY_LEVEL, False),
    (1_000_000, 750_010, DEFAULT_POLICY, 1.0, FULL, True),
    # a policy that waits longer, and one that compacts nothing
    (8_000, 5_500, LATE, 0.9375, CALM, False),
    (8_000, 5_600, LATE, 0.95, SLEEP, False),
    (8_000, 6_000, LATE, 1.0, WARNING, False),
    (8_000, 4_799, CALM_POLICY, 0.8499, CALM, False),
    (8_000, 6_000, CALM_POLICY, 1.0, WARNING, False),
    (8_000, 6_001, CALM_POLICY, 1.0001, FULL, True),
]


@pytest.mark.parametrize(("window", "context_tokens", "policy", "pressure", "level", "is_trimmed"), CASES)
@pytest.mark.parametrize("is_exact", [True, False])
def test_thresholds_come_before_anything_is_left_out(
    window: int,
    context_tokens: int,
    policy: CompactionPolicy,
    pressure: float,
    level: str,
    is_trimmed: bool,
    is_exact: bool,
) -> None:
    needed = context_tokens + reserved_tokens(window)
    assert window_pressure(needed, window) == pressure
    assert pressure_level(needed / window, policy) == level
    turns = (
        [plain(place, context_tokens // 10 + (place < context_tokens % 10)) for place in range(10)]
        if context_tokens
        else []
    )
    played = Played(window, policy, is_exact=is_exact)
    played.turns = turns
    assert bool(played.context().excluded) == is_trimmed


@pytest.mark.parametrize("window", [256, 1_000, 1_500, 8_000, 128_000, 10_000_000])
@pytest.mark.parametrize("is_exact", [True, False])
def test_reply_and_memories_have_a_quarter_of_any_window(window: int, is_exact: bool) -> None:
    budget, reply = default_budget(window, None, is_exact=is_exact)
    memories = reserved_tokens(window) - (window - budget)
    assert memories >= window // 21, "no window is too small for memories"
    assert reply == min(int(0.15 * window), 4_096 if window >= 27_307 else window)
    assert PressureParts(0, 0, 0, memories, window - budget).tokens == int(RESERVED_SHARE * window)


def test_small_budget_of_a_caller_is_divided_by_shares() -> None:
    turns = [plain(place, 100) for place in range(10)]
    shared = {"directive_cost": 0, "summary_cost": 0}
    own = SessionBudget(1_000, {}, turns, counted_for_memories=50, **shared)
    assert own.memory_tokens == 50, "all messages fit beside them"
    generous = SessionBudget(1_100, {}, turns, counted_for_memories=50, **shared)
    assert generous.memory_tokens == 100
    assert SessionBudget(1_000, {}, turns, counted_for_memories=None, **shared).memory_tokens == 250


def test_share_of_a_section_cuts_nothing_that_fits() -> None:
    narrow = {"session_summary": {"tokens": 10}, "recent_messages": {"share": 0.1}, "memories": {"share": 0.6}}
    turns = [plain(place, 50) for place in range(10)]
    division = SessionBudget(1_000, narrow, turns, directive_cost=20, summary_cost=100, counted_for_memories=100)
    assert division.memory_tokens == 1_000 - 20 - 100 - 500
    division.take_memories(division.memory_tokens)
    assert division.take_summary()
    assert division.message_tokens() == 500


# --- Sessions of any window under any policy --------------------------------------------------------------------------


@dataclass
class Played:
    """A session by the pure rules alone. `makes`: whether a compaction succeeds; a summary is as long as it may be."""

    window: int
    policy: CompactionPolicy
    is_exact: bool = True
    directive: int = 0
    sections: dict[str, dict[str, float]] = field(default_factory=dict)
    makes: bool = True
    turns: list[SessionTurn] = field(default_factory=list)
    summary: int = 0
    compactions: int = 0

    @property
    def pressure(self) -> float:
        heads = MARKER_TOKENS * (bool(self.directive) + bool(self.summary))
        context_tokens = self.directive + self.summary + heads + sum(turn.cost for turn in self.turns)
        return (context_tokens + reserved_tokens(self.window)) / self.window

    def plan(self) -> CompactionPlan:
        return plan_compaction(
            self.turns,
            window=self.window,
            policy=self.policy,
            fixed_tokens=self.directive + self.summary,
            summary_tokens=self.summary,
            reserved_tokens=planning_reserve(self.window),
        )

    def ask(self) -> TrimmedTurns:
        """The context for an answer: compacted before where the policy says so."""
        if self.makes and self.policy.has_emergency and self.pressure >= self.policy.emergency_threshold:
            self.compact()
        return self.context()

    def compact(self) -> None:
        plan = self.plan()
        leaving = set(plan.span_ids)
        self.turns = [turn for turn in mask_turns(self.turns, plan.mask_ids) if turn.id not in leaving]
        self.summary = plan.summary_budget_tokens if leaving else self.summary
        self.compactions += bool(leaving)

    def context(self) -> TrimmedTurns:
        """The messages of a context; checks that it never exceeds its budget, whatever memories there are."""
        budget, _ = default_budget(self.window, None, is_exact=self.is_exact)
        costs = {part: tokens and tokens + MARKER_TOKENS for part, tokens in vars(self).items() if part in COSTS}
        counted = reserved_tokens(self.window) - (self.window - budget)
        marked = [replace(turn, tokens=turn.cost, placeholder_tokens=turn.cost, marker_tokens=0) for turn in self.turns]
        division = SessionBudget(
            budget,
            self.sections,
            marked,
            directive_cost=costs["directive"],
            summary_cost=costs["summary"],
            counted_for_memories=counted,
        )
        memories = max(division.memory_tokens, 0)
        division.take_memories(memories)
        has_summary = division.take_summary()
        trimmed = trim_to_newest_turns(marked, division.message_tokens())
        used = costs["directive"] + memories + has_summary * costs["summary"] + trimmed.tokens
        assert used <= max(budget, costs["directive"])
        assert has_summary or not self.summary or self.pressure > 1
        if len(trimmed.excluded) > len(trimmed.incomplete):
            assert self.pressure > 1, "left out below every threshold"
        return trimmed


COSTS = ("directive", "summary")
SHARES = st.floats(-3.5, -0.5).map(lambda power: 10**power)
SECTIONS = st.sampled_from(
    [
        {},
        {"memories": {"share": 0.6}, "tenant_memo": {"share": 0.1}},
        {"recent_messages": {"share": 0.3}},
        {"session_summary": {"tokens": 40}},
    ]
)


@st.composite
def policies(draw: st.DrawFn) -> CompactionPolicy:
    sleep = draw(st.floats(0.3, 0.95))
    return CompactionPolicy(
        sleep_threshold=sleep,
        emergency_threshold=draw(st.floats(sleep, 1.0)),
        target=draw(st.floats(0.05, sleep - 0.01)),
        preserve_messages=draw(st.integers(1, 40)),
        preserve_share=draw(st.floats(0, 0.9)),
        summary_share=draw(st.floats(0.02, 0.9)),
        has_emergency=draw(st.booleans()),
        has_masking=draw(st.booleans()),
        has_summaries=draw(st.booleans()),
    )


@st.composite
def sittings(draw: st.DrawFn, window: int, shares: st.SearchStrategy[float] = SHARES) -> list[list[SessionTurn]]:
    """What is appended between two contexts: messages, pinned ones, and calls with their long or short outputs."""
    places, appended = count(), []
    for _ in range(draw(st.integers(1, 25))):
        batch: list[SessionTurn] = []
        for _ in range(draw(st.integers(1, 4))):
            place, tokens = next(places), 1 + int(window * draw(shares))
            if draw(st.integers(0, 5)):
                batch.append(plain(place, tokens, content="", pinned=not draw(st.integers(0, 30))))
            else:
                batch += [call(place, f"c{place}"), tool_result_turn(next(places), f"c{place}", tokens + 12, "x" * 600)]
        appended.append([replace(turn, marker_tokens=marker_tokens(turn)) for turn in batch])
    return appended


#: With messages of at most this share of the window, the 20 preserved messages fit next to the reserve, markers
#: included.
PRESERVED_SHARE_MAX = 0.015
WINDOWS = st.floats(3, 6).map(lambda power: round(10**power))


@settings(deadline=None)
@given(st.data(), WINDOWS, policies(), SECTIONS, st.booleans(), st.booleans(), st.floats(0, 0.3))
def test_no_window_and_no_policy_loses_messages_below_a_full_context(
    data: st.DataObject,
    window: int,
    policy: CompactionPolicy,
    sections: dict[str, dict[str, float]],
    is_exact: bool,
    makes: bool,
    directive: float,
) -> None:
    played, context_tokens = Played(window, policy, is_exact, int(window * directive), sections, makes), 0
    for batch in data.draw(sittings(window)):
        played.turns += batch
        context_tokens += sum(turn.cost for turn in batch)
        played.ask()
        assert played.compactions <= context_tokens / (MIN_SPAN_SHARE * window), "compacted although little was said"


@settings(deadline=None)
@given(st.data(), WINDOWS, st.booleans())
def test_default_policy_leaves_nothing_out_where_messages_are_not_huge(
    data: st.DataObject, window: int, is_exact: bool
) -> None:
    played, context_tokens = Played(window, DEFAULT_POLICY, is_exact), 0
    for batch in data.draw(sittings(window, st.floats(0.001, PRESERVED_SHARE_MAX))):
        played.turns += [replace(turn, pinned=False) for turn in batch]
        context_tokens += sum(turn.cost for turn in batch)
        assert not played.ask().excluded
        assert played.pressure <= 1
    assert played.compactions <= context_tokens / (MIN_SPAN_SHARE * window)
