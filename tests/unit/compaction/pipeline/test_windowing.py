"""Which of the newest messages are preserved, and which belong together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.windowing import (
    first_preserved_index,
    index_between_units,
    is_complete_unit,
    preserved_from,
    tool_call_units,
)
from tests.unit.conversations import call, conversations, plain, tool_result_turn


def test_a_short_conversation_is_preserved_whole():
    assert first_preserved_index([10, 20, 30], 1000) == 0
    assert first_preserved_index([], 1000) == 0


def test_the_newest_twenty_stay_however_long_they_are():
    assert first_preserved_index([500] * 50, 1000) == 30


def test_more_than_twenty_stay_where_they_fit_in_the_share():
    assert first_preserved_index([10] * 50, 1500) == 20


def test_share_and_count_are_arguments():
    assert first_preserved_index([10] * 50, 1000, preserve_messages=5, preserve_share=0.1) == 40
    assert first_preserved_index([10] * 50, 1000, preserve_messages=0, preserve_share=0) == 50


def test_a_message_that_just_fits_the_share_stays():
    assert first_preserved_index([1, 200], 1000, preserve_messages=0) == 1
    assert first_preserved_index([1, 201], 1000, preserve_messages=0) == 2


def test_share_counts_as_it_is_written():
    # 0.29 x 100 is 28.999999999999996 in binary
    assert first_preserved_index([29], 100, preserve_messages=0, preserve_share=0.29) == 0


@pytest.mark.parametrize(
    ("tokens", "window", "options"),
    [([-1], 10, {}), ([1], -1, {}), ([1], 1, {"preserve_messages": -1}), ([1], 1, {"preserve_share": -0.1})],
)
def test_negative_numbers_are_nonsense(tokens, window, options):
    with pytest.raises(ValueError, match="not below 0"):
        first_preserved_index(tokens, window, **options)


@given(st.lists(st.integers(0, 500), max_size=60), st.integers(0, 5000), st.integers(0, 30), st.floats(0, 1))
def test_preserved_are_the_larger_of_count_and_share(tokens, window, count, share):
    index = first_preserved_index(tokens, window, preserve_messages=count, preserve_share=share)
    assert 0 <= index <= len(tokens)
    assert len(tokens) - index >= min(count, len(tokens))
    if len(tokens) - index > count:
        assert sum(tokens[index:]) <= window * share + 1e-3


def test_a_call_and_its_results_are_one_unit():
    turns = [plain(0), call(1, "a", "b"), tool_result_turn(2, "a"), tool_result_turn(3, "b"), plain(4)]
    assert tool_call_units(turns) == [(0,), (1, 2, 3), (4,)]


def test_results_that_come_late_or_twice_belong_to_their_call():
    turns = [call(0, "a"), plain(1), tool_result_turn(2, "a"), tool_result_turn(3, "a"), plain(4)]
    assert tool_call_units(turns) == [(0, 2, 3), (1,), (4,)]


def test_a_call_id_used_again_belongs_to_the_nearest_call():
    turns = [call(0, "a"), tool_result_turn(1, "a"), call(2, "a"), tool_result_turn(3, "a")]
    assert tool_call_units(turns) == [(0, 1), (2, 3)]


def test_a_result_without_a_call_is_a_unit_that_is_incomplete():
    turns = [tool_result_turn(0, "lost"), plain(1)]
    assert tool_call_units(turns) == [(0,), (1,)]
    assert [is_complete_unit([turn]) for turn in turns] == [False, True]


def test_a_call_is_whole_with_all_of_its_results_only():
    one, two = tool_result_turn(1, "a"), tool_result_turn(2, "b")
    assert is_complete_unit([call(0, "a", "b"), one, two])
    assert not is_complete_unit([call(0, "a", "b"), one])
    assert not is_complete_unit([call(0)])


def test_index_moves_down_to_the_start_of_units_even_interleaved_ones():
    turns = [plain(0), call(1, "a"), call(2, "b"), tool_result_turn(3, "a"), tool_result_turn(4, "b"), plain(5)]
    assert [index_between_units(turns, index) for index in range(7)] == [0, 1, 1, 1, 1, 5, 6]


def preserved(turns, window=10_000, tokens_max=10_000, messages=1, share=0.0, cut_tokens_max=None):
    cut_tokens_max = tokens_max if cut_tokens_max is None else cut_tokens_max
    limits = {"tokens_max": tokens_max, "cut_tokens_max": cut_tokens_max}
    return preserved_from(turns, window, preserve_messages=messages, preserve_share=share, **limits)


def test_preserved_turns_begin_at_a_whole_unit():
    assert preserved([plain(0), call(1, "a"), tool_result_turn(2, "a")]) == 1


def test_preserved_turns_beyond_the_limit_are_cut_to_the_newest_units_that_fit():
    turns = [plain(0, 100), call(1, "a", tokens=100), tool_result_turn(2, "a", tokens=100), plain(3, 100)]
    assert preserved(turns, messages=4, tokens_max=400) == 0
    assert preserved(turns, messages=4, tokens_max=300) == 1
    assert preserved(turns, messages=4, tokens_max=299) == 3
    assert preserved(turns, messages=4, tokens_max=99) == 4
    assert preserved(turns, messages=4, tokens_max=-5) == 4
    assert preserved(turns, messages=4, tokens_max=400, cut_tokens_max=0) == 0
    assert preserved(turns, messages=4, tokens_max=399, cut_tokens_max=100) == 3


def test_a_call_that_waits_for_results_is_always_preserved():
    waiting = [plain(0), call(1, "a", "b"), tool_result_turn(2, "a")]
    assert preserved(waiting, messages=0) == 1
    assert preserved([*waiting, tool_result_turn(3, "b")], messages=0) == 4
    assert preserved([plain(0), call(1, "a")], messages=0, tokens_max=0) == 1


@given(conversations(), st.integers(0, 30), st.floats(0, 1), st.integers(-10, 4000))
def test_no_unit_has_turns_on_both_sides_of_the_preserved_index(turns, messages, share, tokens_max):
    index = preserved(turns, 2000, tokens_max, messages, share)
    assert 0 <= index <= len(turns)
    assert all(unit[-1] < index or unit[0] >= index for unit in tool_call_units(turns))
