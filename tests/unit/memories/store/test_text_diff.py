"""The difference between two texts: readable, bounded in time, and sufficient to restore both."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.store.text_diff import DiffPiece, diff_words, near_changes
from tests.timing import timed_result

TEXTS = st.text(alphabet=st.sampled_from("ab c.\n!é"), max_size=60) | st.text(max_size=60)


def marked(before: str, after: str) -> str:
    signs = {"same": "{}", "added": "[+{}]", "removed": "[-{}]"}
    return "".join(signs[piece.kind].format(piece.text) for piece in diff_words(before, after))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("Mina likes tea.", "Mina likes coffee.", "Mina likes [-tea][+coffee]."),
        ("The door is open.", "The red door is open.", "The [+red ]door is open."),
        ("The old red door is open.", "The door is open.", "The [-old red ]door is open."),
        ("One. Two. Three.", "One. Three.", "One. [-Two. ]Three."),
        ("It costs 5 EUR today.", "It costs 7 USD today.", "It costs [-5 EUR][+7 USD] today."),
        ("same", "same", "same"),
        ("", "new", "[+new]"),
        ("old", "", "[-old]"),
        ("a b", "a  b", "a[- ][+  ]b"),
    ],
)
def test_changed_words_are_listed(before: str, after: str, expected: str) -> None:
    assert marked(before, after) == expected


def test_two_empty_texts_have_no_pieces() -> None:
    assert diff_words("", "") == []


def test_another_text_altogether_is_replaced_as_a_whole() -> None:
    assert diff_words("Lena moved to Oslo in a van", "Billing for a quarter ends in May") == [
        DiffPiece("removed", "Lena moved to Oslo in a van"),
        DiffPiece("added", "Billing for a quarter ends in May"),
    ]


@given(TEXTS, TEXTS)
def test_pieces_give_both_texts_back_and_alternate(before: str, after: str) -> None:
    pieces = diff_words(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after
    assert all(piece.text for piece in pieces)
    assert all(one.kind != next_one.kind for one, next_one in pairwise(pieces))


def test_the_longest_texts_of_few_words_are_compared_in_bounded_time() -> None:
    before, after = "a b a a b " * 3_000, "b a b a a " * 3_000
    pieces, taken = timed_result(lambda: diff_words(before, after))
    assert taken < 2
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


def test_of_texts_too_long_to_compare_the_common_ends_stay() -> None:
    middle, other = "x y " * 2_000, "y x x " * 2_000
    pieces = diff_words(f"It begins {middle}and ends", f"It begins {other}and ends")
    assert [pieces[0], pieces[-1]] == [DiffPiece("same", "It begins "), DiffPiece("same", " and ends")]


@pytest.mark.parametrize(
    ("same", "shown"),
    [
        (("a\nb\nc\nd\n", "e\nf\ng\n", "h\ni\nj\nk"), ("…\nc\nd\n", "e\nf\ng\n", "h\ni\n…\n")),
        (("", "1\n2\n3\n4\n5\n", ""), ("", "1\n2\n3\n4\n5\n", "")),
        (("", "1\n2\n3\n4\n5\n6\n", ""), ("", "1\n2\n…\n5\n6\n", "")),
    ],
)
def test_unchanged_text_far_from_a_change_is_left_out(same: tuple[str, str, str], shown: tuple[str, str, str]) -> None:
    def pieces(texts: tuple[str, str, str]) -> list[DiffPiece]:
        first, between, last = (DiffPiece("same", text) for text in texts)
        found = [first, DiffPiece("removed", "x"), between, DiffPiece("added", "y"), last]
        return [piece for piece in found if piece.text]

    assert near_changes(pieces(same)) == pieces(shown)
