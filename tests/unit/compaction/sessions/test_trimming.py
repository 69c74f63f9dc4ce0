"""Which messages a context contains if not all of them fit."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compaction.services.sessions.trimming import trim_to_newest_turns
from compaction.services.sessions.turns import COMPACTED, MASKED, SessionTurn
from compaction.services.windowing import is_complete_unit, tool_call_units
from tests.unit.conversations import call, conversations, plain, tool_result_turn

TALK = [plain(place, 10) for place in range(5)]


def kept(turns, available):
    return [turn.id for turn in trim_to_newest_turns(turns, available).kept]


def test_the_newest_that_fit_stay_in_their_order():
    assert kept(TALK, 29) == [3, 4]
    assert kept(TALK, 50) == [0, 1, 2, 3, 4]
    assert kept(TALK, 9) == []
    assert kept(TALK, -1) == []
    assert kept([], 100) == []


def test_pinned_messages_come_first():
    turns = [replace(TALK[0], pinned=True), *TALK[1:]]
    assert kept(turns, 25) == [0, 4]
    assert kept(turns, 10) == [0]


def test_of_pinned_messages_the_newest_stay():
    assert kept([replace(turn, pinned=True) for turn in TALK], 25) == [3, 4]


def test_a_message_too_long_for_any_context_is_passed_over():
    turns = [*TALK[:3], plain(3, 500), TALK[4]]
    assert kept(turns, 40) == [0, 1, 2, 4]


def test_no_hole_opens_where_one_does_not_fit_in_the_rest():
    turns = [TALK[0], TALK[1], plain(2, 30), TALK[3], TALK[4]]
    assert kept(turns, 45) == [3, 4]


def test_a_call_stays_with_its_results_or_not_at_all():
    turns = [TALK[0], call(1, "a", "b"), tool_result_turn(2, "a", 10), tool_result_turn(3, "b", 10), TALK[4]]
    assert kept(turns, 40) == [1, 2, 3, 4]
    assert kept(turns, 39) == [4]


def test_pinned_result_brings_its_call_along():
    turns = [call(0, "a"), tool_result_turn(1, "a", 10, pinned=True), *TALK[2:]]
    assert kept(turns, 30) == [0, 1, 4]


def test_results_without_a_call_and_calls_without_all_results_are_left_out():
    turns = [tool_result_turn(0, "lost", 10), TALK[1], call(2, "a", "b"), tool_result_turn(3, "a", 10)]
    trimmed = trim_to_newest_turns(turns, 1000)
    assert [turn.id for turn in trimmed.kept] == [1]
    assert [turn.id for turn in trimmed.incomplete] == [turn.id for turn in trimmed.excluded] == [0, 2, 3]


def test_masked_outputs_are_shown_as_placeholder_and_compacted_ones_are_excluded():
    turns = [replace(TALK[0], state=COMPACTED), call(1, "a"), tool_result_turn(2, "a", 500, state=MASKED)]
    trimmed = trim_to_newest_turns(turns, 22)
    assert [turn.id for turn in trimmed.kept] == [1, 2]
    assert trimmed.tokens == 22
    assert trimmed.excluded == ()


@given(conversations(), st.integers(-10, 5000))
def test_kept_turns_fit_and_consist_of_whole_units(turns, available):
    trimmed = trim_to_newest_turns(turns, available)
    assert trimmed.tokens == sum(turn.context_tokens for turn in trimmed.kept)
    assert trimmed.tokens <= max(available, 0)
    assert sorted(turn.id for turn in (*trimmed.kept, *trimmed.excluded)) == [turn.id for turn in turns]
    assert list(trimmed.kept) == sorted(trimmed.kept, key=lambda turn: turn.id)
    for unit in tool_call_units(trimmed.kept):
        assert is_complete_unit([trimmed.kept[index] for index in unit])


def test_search_that_reaches_turns_that_were_not_read_is_uncertain() -> None:
    turns = [SessionTurn(place, "user", "", 10, sequence=place) for place in (3, 50, 51, 52)]
    assert trim_to_newest_turns(turns, 25, unread_before=50).is_certain, "the third does not fit"
    assert not trim_to_newest_turns(turns, 30, unread_before=50).is_certain, "those before 50 may fit"
    assert not trim_to_newest_turns(turns[1:], 30, unread_before=50).is_certain
    assert trim_to_newest_turns(turns, 40).is_certain
