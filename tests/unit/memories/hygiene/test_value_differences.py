"""Two texts compared word by word: those that differ only in a number or a date, and what is marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.hygiene.value_differences import has_value_difference, mark_value_differences


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The invoice of March is 340 EUR.", "The invoice of March is 1,430 EUR."),
        ("Mina's birthday is on 12 May.", "Mina's birthday is on the 14th of June."),
        ("The workshop closes at six in the evening.", "The workshop closes at 7 in the evening."),
        ("The meeting is on Monday.", "The meeting is on Tuesday."),
        ("The swap takes about 45 minutes.", "The swap takes 50 minutes."),
        ("The contract ends 2026-05-12.", "The contract ends 2027-05-12."),
    ],
)
def test_other_number_or_date_about_the_same_is_a_candidate(one: str, other: str) -> None:
    assert has_value_difference(one, other)
    assert has_value_difference(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The invoice is 340 EUR.", "The invoice is 340 EUR."),
        ("The shop closes at six today.", "The shop closes at 6 today."),
        ("The party is on the 5th.", "The party is on the 5."),
        ("ERR_4012 means a wet plug.", "ERR_4013 means a wet plug."),
        ("Room 12 has a projector.", "Room 14 has a projector."),
        ("The Otter 3 goes 40 km.", "The Otter 4 goes 40 km."),
        ("Alex likes tea.", "Alex likes coffee."),
        ("Return it within 14 days.", "Keep it for 30 days."),
        ("The fee is 14 EUR.", "The fee is 14 EUR and 30 more."),
        ("Costs 5", "Costs 6"),
        ("", ""),
    ],
)
def test_names_other_words_and_more_words_are_none(one: str, other: str) -> None:
    assert not has_value_difference(one, other)


def test_differing_words_are_marked_and_values_distinguished() -> None:
    left, right = mark_value_differences("The fee is 14 EUR now.", "The price is 30 EUR now.")
    assert [(span.text, span.is_value) for span in left if not span.is_shared] == [("fee", False), ("14", True)]
    assert [(span.text, span.is_value) for span in right if not span.is_shared] == [("price", False), ("30", True)]


@given(st.text(max_size=200), st.text(max_size=200))
def test_pieces_give_both_texts_back(one: str, other: str) -> None:
    left, right = mark_value_differences(one, other)
    assert "".join(span.text for span in left) == one
    assert "".join(span.text for span in right) == other
    assert has_value_difference(one, other) == has_value_difference(other, one)
    assert not has_value_difference(one, one)
