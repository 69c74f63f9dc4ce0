"""What one compaction changes in a session."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.planning import (
    ALL_PINNED,
    MIN_SPAN_SHARE,
    MIN_SPAN_TOKENS,
    MIN_SUMMARY_TOKENS,
    NOTHING_OUTSIDE_WINDOW,
    SPAN_TOO_SMALL,
    SUMMARIES_OFF,
    UNDER_TARGET,
    mask_turns,
    plan_compaction,
)
from compaction.services.sessions.turns import COMPACTED, LIVE, MASKED, SessionTurn
from compaction.services.windowing import tool_call_units
from context.services.profiles.compaction_policy import CompactionPolicy
from tests.unit.conversations import call, conversations, plain, tool_result_turn

FEW = CompactionPolicy(preserve_messages=2, preserve_share=0.0, has_emergency=False)
TALK = [plain(place, 100) for place in range(10)]
#: A tool's long output outside the window of two messages.
TOOL = [plain(0, 100), call(1, "a"), tool_result_turn(2, "a", 700), *(plain(place, 50) for place in range(3, 8))]


def plan(turns, window=1000, policy=FEW, fixed=0, **given):
    return plan_compaction(turns, window=window, policy=policy, fixed_tokens=fixed, **given)


# window, fixed, current summary, turns -> masked, span, tokens before, after masking, summary's budget, reason
GOLDEN = [
    ("a talk over its target is summarised", 1000, 0, 0, TALK, (), range(8), 1000, 1000, 160, ""),
    ("the directive counts", 1000, 100, 0, TALK, (), range(8), 1100, 1100, 160, ""),
    ("few tokens below the target limit the summary", 1000, 200, 0, TALK, (), range(8), 1200, 1200, 100, ""),
    ("no tokens below the target leave half a summary", 1000, 300, 0, TALK, (), range(8), 1300, 1300, 80, ""),
    (
        "no tokens below the target and few in the window leave those",
        1000,
        600,
        0,
        TALK,
        (),
        range(8),
        1600,
        1600,
        72,
        "",
    ),
    ("half of the current summary is taken over too", 1000, 600, 300, TALK, (), range(8), 1600, 1600, 230, ""),
    ("a new summary takes over the room of the current one", 1000, 60, 60, TALK, (), range(8), 1060, 1060, 220, ""),
    ("masking alone is enough", 1000, 0, 0, TOOL, (2,), (), 1060, 372, 0, UNDER_TARGET),
    ("masking is not enough", 1000, 200, 0, TOOL, (2,), range(6), 1260, 572, 64, ""),
    ("under its target nothing is done", 3000, 0, 0, TALK, (), (), 1000, 1000, 0, UNDER_TARGET),
    ("exactly at its target nothing is done", 2000, 0, 0, TALK, (), (), 1000, 1000, 0, UNDER_TARGET),
]


@pytest.mark.parametrize(
    ("window", "fixed", "current", "turns", "masked", "span", "before", "after", "budget", "reason"),
    [row[1:] for row in GOLDEN],
    ids=[row[0] for row in GOLDEN],
)
def test_plans_are_as_reckoned_by_hand(window, fixed, current, turns, masked, span, before, after, budget, reason):
    made = plan(turns, window, fixed=fixed, summary_tokens=current)
    assert (made.mask_ids, made.span_ids) == (masked, tuple(span))
    assert (made.tokens_before, made.tokens_after_masking, made.summary_budget_tokens) == (before, after, budget)
    assert made.reason == reason
    assert made.is_summary_needed == bool(span)
    assert made.first_preserved_index == len(turns) - 2


def test_empty_plan_has_a_reason():
    assert plan([]).is_empty
    assert plan([]).reason == UNDER_TARGET
    assert plan(TALK[:2], window=395).reason == NOTHING_OUTSIDE_WINDOW
    assert plan(TALK, policy=replace(FEW, has_summaries=False)).reason == SUMMARIES_OFF
    pinned = [replace(turn, pinned=True) for turn in TALK]
    assert plan(pinned).reason == ALL_PINNED
    assert plan([*pinned[:7], *TALK[7:]], window=1100).reason == SPAN_TOO_SMALL


def test_masking_can_be_switched_off():
    made = plan(TOOL, policy=replace(FEW, has_masking=False))
    assert made.mask_ids == ()
    assert made.span_ids == tuple(range(6))


def test_masked_output_leaves_with_the_span_too():
    made = plan(TOOL, fixed=200)
    assert made.mask_ids == (2,)
    assert 2 in made.span_ids
    assert made.span_tokens == 100 + 10 + 12 + 3 * 50


def test_a_tool_unit_with_a_pinned_part_stays_whole():
    turns = [*TALK[:6], call(10, "a"), tool_result_turn(11, "a", 200, pinned=True), *TALK[6:]]
    made = plan(turns)
    assert not {10, 11} & set(made.span_ids)
    assert made.mask_ids == ()
    other = [*TALK[:6], call(10, "a", pinned=True), tool_result_turn(11, "a", 200), *TALK[6:]]
    assert plan(other).mask_ids == (11,)
    assert not {10, 11} & set(plan(other).span_ids)


def test_a_span_is_worth_a_summary_from_a_share_of_the_window_on():
    smallest = int(MIN_SPAN_SHARE * 10_000)
    turns = [plain(0, smallest), plain(1, 4000), plain(2, 4000)]
    assert plan(turns, 10_000).span_ids == (0,)
    assert plan([plain(0, smallest - 1), *turns[1:]], 10_000).reason == SPAN_TOO_SMALL


def test_requested_summary_is_made_even_under_the_target():
    assert plan(TALK, 10_000, is_forced=True).summary_budget_tokens == 160
    small = [plain(0, MIN_SPAN_TOKENS - 1), *TALK[:2]]
    assert plan(small, 10_000, is_forced=True).reason == SPAN_TOO_SMALL


def test_a_small_span_does_not_shrink_the_current_summary():
    small = [plain(0, MIN_SPAN_TOKENS), *TALK[:2]]
    assert plan(small, 10_000, fixed=900, summary_tokens=900, is_forced=True).summary_budget_tokens == 925


@pytest.mark.parametrize(
    ("turns", "fixed", "current", "at_most"),
    [
        pytest.param(TALK, 0, 0, 320, id="twice as long as planned"),
        pytest.param(TALK, 560, 0, 112, id="what fits into the window"),
        pytest.param([plain(0, 150), *TALK[:2]], 0, 0, 75, id="half of the span"),
        pytest.param([plain(0, 150), *TALK[:2]], 90, 90, 120, id="planned where half of the span is less"),
    ],
)
def test_summary_is_longer_than_planned_for_facts_it_would_lose(turns, fixed, current, at_most):
    made = plan(turns, fixed=fixed, summary_tokens=current, is_forced=True)
    assert made.summary_tokens_at_most == at_most
    assert made.tokens_after_at_most - made.tokens_after == at_most - made.summary_budget_tokens
    assert made.tokens_before - made.tokens_leaving + at_most == made.tokens_after_at_most


def test_preserved_messages_that_exceed_the_window_are_cut_to_what_reaches_the_target():
    turns = [plain(place, 300) for place in range(5)]
    made = plan(turns, 1000, policy=replace(FEW, preserve_messages=5))
    assert made.span_ids == (0, 1, 2, 3)
    assert made.summary_budget_tokens == 200
    assert made.tokens_after == 500


def test_preserved_messages_that_fit_the_window_all_stay():
    turns = [plain(place, 160) for place in range(6)]
    policy = replace(FEW, preserve_messages=5)
    assert plan(turns, 1000, policy=policy).span_ids == (0,)
    assert plan(turns, 1000, policy=policy, reserved_tokens=9).span_ids == (0, 1, 2, 3), "the next span does not fit"


def test_reserved_tokens_lower_the_target() -> None:
    assert plan(TALK, 2000, reserved_tokens=0).reason == UNDER_TARGET
    made = plan(TALK, 2000, reserved_tokens=500)
    assert made.span_ids == tuple(range(8))
    assert (made.tokens_before, made.tokens_after) == (1000, 360), "what is reserved is no part of the context"


def test_markers_count_towards_the_target() -> None:
    assert plan([replace(turn, marker_tokens=4) for turn in TALK], 2000).span_ids == tuple(range(8))


def test_twenty_messages_are_preserved_even_where_they_keep_an_emergency():
    turns = [plain(place, 30) for place in range(30)]
    policy = CompactionPolicy(has_masking=False)
    assert plan(turns, 1200, policy=policy, reserved_tokens=250).first_preserved_index == 30 - 20
    assert plan(turns, 900, policy=policy, reserved_tokens=225).first_preserved_index == 30 - 6, (
        "they exceed the window"
    )


def test_compacted_messages_are_passed_over():
    gone = [replace(turn, state=COMPACTED) for turn in TALK[:3]]
    made = plan([*gone, *TALK[3:]])
    assert made.tokens_before == 700
    assert made.span_ids == tuple(range(3, 8))
    assert made.first_preserved_index == 8
    assert plan(gone, 10, fixed=9).first_preserved_index == 3


@pytest.mark.parametrize(
    "given", [{"window": 0}, {"fixed": -1}, {"summary_tokens": 1}, {"fixed": 5, "summary_tokens": -1}]
)
def test_nonsense_is_refused(given):
    with pytest.raises(ValueError, match="window"):
        plan(TALK, **given)


POLICIES = st.builds(
    CompactionPolicy,
    target=st.floats(0.05, 0.95),
    preserve_messages=st.integers(0, 25),
    preserve_share=st.floats(0, 0.9),
    mask_over_bytes=st.integers(0, 2000),
    summary_share=st.floats(0.01, 0.9),
    has_masking=st.booleans(),
    has_summaries=st.booleans(),
)


@given(conversations(), st.integers(100, 8000), POLICIES, st.integers(0, 500), st.floats(0, 1), st.booleans())
def test_whatever_the_session_a_plan_keeps_the_rules(turns, window, policy, fixed, current, is_forced):
    made = plan(turns, window, policy, fixed, summary_tokens=int(fixed * current), is_forced=is_forced)
    by_id = {turn.id: turn for turn in turns}
    span = set(made.span_ids)
    outside = {turn.id for turn in turns[: made.first_preserved_index]}

    assert span | set(made.mask_ids) <= outside
    assert not any(by_id[each].pinned for each in (*span, *made.mask_ids))
    for unit in tool_call_units(turns):
        assert {turns[index].id for index in unit} <= span or not {turns[index].id for index in unit} & span
    assert made.tokens_before == fixed + sum(turn.tokens for turn in turns)
    assert made.tokens_after_masking <= made.tokens_before
    assert (made.tokens_after_masking < made.tokens_before) == bool(made.mask_ids)
    assert made.is_summary_needed == bool(span) == (not made.reason)
    assert made.is_empty or made.tokens_after_at_most < made.tokens_before
    if span:
        masked_tokens = {turn.id: turn.context_tokens for turn in mask_turns(turns, made.mask_ids)}
        assert made.span_tokens == sum(masked_tokens[each] for each in span)
        assert made.tokens_replaced == made.span_tokens + int(fixed * current)
        assert MIN_SUMMARY_TOKENS <= made.summary_budget_tokens <= made.summary_tokens_at_most < made.tokens_replaced
        assert is_forced or made.tokens_after_masking > int(window * policy.target)


@given(conversations())
def test_masking_changes_nothing_but_the_state(turns):
    ids = [turn.id for turn in turns if turn.role == "tool"]
    for before, after in zip(turns, mask_turns(turns, ids), strict=True):
        assert after == replace(before, state=MASKED if before.role == "tool" else LIVE)


def test_a_turn_takes_what_its_state_shows():
    turn = SessionTurn("m", "tool", "text", 90, placeholder_tokens=12)
    assert [replace(turn, state=state).context_tokens for state in (LIVE, MASKED, COMPACTED)] == [90, 12, 0]
