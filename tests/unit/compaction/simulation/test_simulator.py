"""The effect that a policy would have had on a recorded session."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.planning import mask_turns, plan_compaction
from compaction.services.sessions.turns import COMPACTED
from compaction.services.simulation.simulator import simulate_session
from context.services.profiles.compaction_policy import CompactionPolicy
from tests.timing import timed_result
from tests.unit.conversations import call, conversations, plain, tool_result_turn

FEW = CompactionPolicy(preserve_messages=2, preserve_share=0.0)


def talk(count, tokens=100):
    return [plain(place, tokens, role=("user", "assistant")[place % 2]) for place in range(count)]


def test_short_session_only_grows():
    simulation = simulate_session(talk(4), FEW, 1000, directive_tokens=50)
    assert [(point.sequence, point.tokens, point.event) for point in simulation.points] == [
        (0, 150, "appended"),
        (1, 250, "appended"),
        (2, 350, "appended"),
        (3, 450, "appended"),
    ]
    assert (simulation.compactions, simulation.masked, simulation.compacted, simulation.peak) == (0, 0, 0, 0.45)


def test_emergency_comes_before_the_answer_at_the_threshold():
    simulation = simulate_session(talk(10), FEW, 1000)
    # before the tenth message 900 tokens stand, of which 700 become 140
    events = [(point.sequence, point.tokens) for point in simulation.points if point.event == "emergency"]
    assert events == [(8, 340)]
    assert (simulation.compactions, simulation.compacted, simulation.peak) == (1, 7, 0.9)


def test_pause_compacts_over_the_sleep_threshold():
    turns = talk(8)
    late = replace(turns[7], created_at=turns[6].created_at + timedelta(minutes=10))
    simulation = simulate_session([*turns[:7], late], FEW, 1000)
    assert [(point.sequence, point.tokens) for point in simulation.points if point.event == "scheduled"] == [(6, 300)]
    soon = replace(late, created_at=turns[6].created_at + timedelta(minutes=9))
    unknown = replace(late, created_at=None)
    off = replace(FEW, has_scheduled=False)
    assert all(
        simulate_session([*turns[:7], last], policy, 1000).compactions == 0
        for last, policy in ((soon, FEW), (unknown, FEW), (late, off))
    )


def test_masking_alone_is_counted_apart():
    turns = [plain(0, 50), call(1, "a"), tool_result_turn(2, "a", 800), *talk(4, 10)]
    simulation = simulate_session(
        [replace(turn, id=place, sequence=place) for place, turn in enumerate(turns)], FEW, 1000
    )
    assert (simulation.compactions, simulation.masked, simulation.peak) == (0, 1, 0.87)


def test_everything_can_be_switched_off():
    off = replace(FEW, has_emergency=False, has_scheduled=False)
    simulation = simulate_session(talk(20), off, 1000)
    assert (simulation.compactions, simulation.peak) == (0, 2.0)
    assert simulation.cost.tokens_sent == simulation.cost.tokens_sent_without_compaction
    assert simulation.cost.calls_truncated == simulation.cost.calls_truncated_without_compaction == 5


def test_cost_is_reckoned_with_and_without_compaction():
    simulation = simulate_session(talk(10), FEW, 1000, price_per_million=2.0)
    # asked for before messages 1, 3, 5, 7 and 9
    assert simulation.cost.calls == 5
    assert simulation.cost.tokens_sent_without_compaction == 100 + 300 + 500 + 700 + 900
    assert simulation.cost.tokens_sent == 100 + 300 + 500 + 700 + 340
    assert simulation.cost.summary_call_tokens == 700 + 140
    assert simulation.cost.price == pytest.approx((1940 + 840) * 2 / 1e6)
    assert simulation.cost.price_without_compaction == pytest.approx(2500 * 2 / 1e6)
    assert simulate_session(talk(10), FEW, 1000).cost.price == 0


def test_context_is_requested_before_every_message_of_a_session_without_replies():
    assert simulate_session([plain(place) for place in range(5)], FEW, 1000).cost.calls == 5
    assert simulate_session([], FEW, 1000, directive_tokens=100).peak == 0.1


def test_recorded_states_do_not_matter():
    turns = talk(12)
    assert simulate_session([replace(turn, state=COMPACTED) for turn in turns], FEW, 1000) == simulate_session(
        turns, FEW, 1000
    )


@given(conversations(max_size=60), st.integers(300, 4000), st.integers(0, 10), st.integers(0, 200))
def test_simulation_is_the_plan_rule_stepped_by_hand(turns, window, preserve, directive):
    policy = CompactionPolicy(preserve_messages=preserve, preserve_share=0.1)
    answers = {"assistant"} if any(turn.role == "assistant" for turn in turns) else {turn.role for turn in turns}
    remaining, summary, points, compactions, sent = [], 0, [], 0, 0

    def tokens():
        return directive + summary + sum(turn.context_tokens for turn in remaining)

    for place, turn in enumerate(turns):
        if turn.role in answers:
            if tokens() / window >= policy.emergency_threshold:
                plan = plan_compaction(
                    remaining, window=window, policy=policy, fixed_tokens=directive + summary, summary_tokens=summary
                )
                remaining = [each for each in mask_turns(remaining, plan.mask_ids) if each.id not in plan.span_ids]
                summary = plan.summary_budget_tokens if plan.span_ids else summary
                compactions += bool(plan.span_ids)
                if not plan.is_empty:
                    points.append((place - 1, tokens(), "emergency"))
            sent += min(tokens(), window)
        remaining.append(turn)
        points.append((place, tokens(), "appended"))

    simulation = simulate_session(turns, policy, window, directive_tokens=directive)
    assert [(point.sequence, point.tokens, point.event) for point in simulation.points] == points
    assert (simulation.compactions, simulation.cost.tokens_sent) == (compactions, sent)
    assert all(point.pressure == point.tokens / window <= simulation.peak for point in simulation.points)


@pytest.mark.parametrize("tokens", [12, 40, 400])
def test_seven_hundred_messages_take_some_milliseconds(tokens):
    turns = talk(700, tokens)
    simulation, taken = timed_result(lambda: simulate_session(turns, CompactionPolicy(), 8000))
    assert simulation.compactions
    assert taken < 0.5
