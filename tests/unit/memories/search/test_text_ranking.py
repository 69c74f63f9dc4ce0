"""How rows that contain words of a query are ranked."""

from collections.abc import Sequence

import numpy as np
import pytest

from memories.services.search.planner import LEXEMES_MAX, TextQuery, match_all
from memories.services.search.text_ranking import TEXT_HIT, rank_text_hits

#: A row: which lexemes it contains as bits, its session and its position.
Row = tuple[int, str, int | None]


def ranked(rows: Sequence[Row], text: TextQuery, limit: int = 10) -> list[int]:
    """Return the numbers of the rows, best first; each is older than the one before it."""
    hits = [
        (key + 1, key, 10 + key, at or 0, held, hash(session) if session else 0, -key)
        for key, (held, session, at) in enumerate(rows)
    ]
    found = rank_text_hits(np.array(hits, dtype=TEXT_HIT), text, limit)
    assert all(key >> 64 == 1 + (key & 0xFFFF) and tokens == 10 + (key & 0xFFFF) for key, tokens in found.items())
    return [key & 0xFFFF for key in found]


def test_a_rare_word_outweighs_two_common_ones() -> None:
    rows = [(0b011, "", None)] * 6 + [(0b100, "", None)]
    assert ranked(rows, match_all(["common", "usual", "rare"]))[0] == 6


def test_ties_go_to_the_newest_and_the_limit_cuts_the_rest() -> None:
    assert ranked([(1, "", None), (1, "", None), (1, "", None)], match_all(["word"]), limit=2) == [0, 1]


@pytest.mark.parametrize(
    ("session", "position", "is_helped"),
    [("s", 6, True), ("s", 4, True), ("s", 7, True), ("s", 8, False), ("other", 6, False), ("", 6, False)],
)
def test_a_message_counts_the_words_of_those_around_it(session: str, position: int, is_helped: bool) -> None:
    rows = [(0b10, "x", 5), (0b01, "s", 5), (0b10, session, position), (0b10, "y", 5)]
    found = ranked(rows, match_all(["first", "second"]))
    assert (found.index(2) < found.index(0)) is is_helped


def test_preceding_messages_count_more_than_following_ones() -> None:
    rows = [(0b10, "s", 1), (0b01, "s", 2), (0b10, "s", 3), (0b01, "t", 1)]
    assert ranked(rows, match_all(["first", "second"])) == [1, 2, 0, 3]


def test_a_dropped_common_word_weighs_no_more_than_a_matched_one() -> None:
    rows = [(0b01, "", None)] * 5 + [(0b10, "", None), (0b11, "", None)]
    assert ranked(rows, TextQuery(["matched", "common"], ["matched"]))[:2] == [6, 0]


def test_of_a_very_long_query_the_longest_words_rank() -> None:
    lexemes = [f"w{'o' * (number % 90)}rd{number}" for number in range(300)]
    text = match_all(lexemes)
    assert len(text.ranking) == LEXEMES_MAX
    assert min(map(len, text.ranking)) > 60
    assert match_all(lexemes[:9]).ranking == lexemes[:9]
    assert ranked([(0, "", None), (1 << (LEXEMES_MAX - 1), "", None)], text) == [1, 0]


def test_no_row_is_no_rank() -> None:
    assert ranked([], match_all(["word"])) == []
