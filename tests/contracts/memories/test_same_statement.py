"""Whether two texts make the same statement: the project's table of pairs, and properties for any text."""

import json
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.services.hygiene.statements import are_equivalent, read_statement, states_the_same
from memories.services.hygiene.statements.reading import CHARACTERS_MAX
from tests.timing import seconds_of

PAIRS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "statement_pairs.jsonl").read_text("utf-8").splitlines()
]
#: Minimum share of pairs that state the same and are recognised: of those in nearly the same words, and of all.
RECALL_MIN, RECALL_OF_ALL_MIN = 0.9, 0.9
_SAMPLE = """
Anna owes Ben 20 euros the a not only every in of on from to room 12 21 4711 version 3.1 safe unsafe never always must
may before after Frau der den die im nicht kein el la no sin 5 km kg May 2026 9:30 pm half please note that ?
is was were painted by younger than name called 's which who started turn off up past about gave each w/ dept.
wegen des Sturms Auto meines welche, Kater bekommt wurde von heißt 1. se lo puedo instalarlo Lucía cual y media
"""
WORDS = _SAMPLE.split()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


def test_table_has_three_hundred_pairs_of_ten_kinds_in_three_languages() -> None:
    assert len(PAIRS) >= 300
    assert len({pair["kind"] for pair in PAIRS}) >= 10
    assert len({pair["language"] for pair in PAIRS}) >= 3
    assert Counter(pair["label"] for pair in PAIRS).keys() == {"same", "different"}


def test_different_statements_are_never_taken_for_the_same() -> None:
    different = [pair for pair in PAIRS if pair["label"] == "different"]
    assert [pair["id"] for pair in different if states_the_same(pair["a"], pair["b"])] == []


def test_most_pairs_that_state_the_same_are_recognised() -> None:
    same = [pair for pair in PAIRS if pair["label"] == "same"]
    found = [pair for pair in same if states_the_same(pair["a"], pair["b"])]
    assert len(found) >= RECALL_OF_ALL_MIN * len(same)
    near, found_near = ([pair for pair in pairs if pair["kind"] != "paraphrase"] for pairs in (same, found))
    assert len(found_near) >= RECALL_MIN * len(near)


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_no_language_is_left_behind(language: str) -> None:
    same = [pair for pair in PAIRS if pair["label"] == "same" and pair["language"] == language]
    assert sum(states_the_same(pair["a"], pair["b"]) for pair in same) >= 0.75 * len(same)


def test_order_of_the_texts_does_not_matter() -> None:
    for pair in PAIRS:
        assert states_the_same(pair["a"], pair["b"]) == states_the_same(pair["b"], pair["a"]), pair["id"]


@given(st.text(max_size=300))
def test_every_text_states_the_same_as_itself(text: str) -> None:
    assert states_the_same(text, text)
    assert are_equivalent(read_statement(text), read_statement(text))


@given(texts, texts)
def test_comparison_is_symmetric(one: str, other: str) -> None:
    assert states_the_same(one, other) == states_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The crew swapped the letters. Ann and Ben.", "The crew swapped. Ann and Ben the letters."),
        ("The old platform is abcdefgh.", "The old platform is abcdefgi."),
    ],
)
def test_other_sentences_of_the_same_letters_are_compared(one: str, other: str) -> None:
    assert not states_the_same(one, other)


@given(texts, st.permutations(["Ann", "and", "Ben", "likes", "Tom,", "Kim.", "formally"]))
def test_any_order_of_the_words_can_be_compared(text: str, words: list[str]) -> None:
    assert states_the_same(f"{text} {' '.join(words)}", f"{text} {' '.join(sorted(words))}") in (True, False)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["{} owes {}.", "Port {} maps to {}.", "{} x {}"]))
def test_swapped_numbers_are_never_the_same(one: int, other: int, form: str) -> None:
    assert states_the_same(form.format(one, other), form.format(other, one)) == (one == other)


@given(texts, st.sampled_from(["7", "not", "Zoe", "kilo", "unless"]), st.integers(0, 12))
def test_an_added_fact_is_never_the_same(text: str, added: str, place: int) -> None:
    words = text.split()
    assert not states_the_same(text, " ".join([*words[:place], added, *words[place:]]))


@settings(deadline=None, max_examples=20)
@given(st.text(max_size=2_000))
def test_any_text_can_be_read(text: str) -> None:
    read_statement(text)
    read_statement(text * 4)


def test_long_texts_state_the_same_only_if_equal() -> None:
    long = "The door code of room 12 is 4711. " * (CHARACTERS_MAX // 30)
    assert states_the_same(long, long.replace(" is ", "  is "))
    assert not states_the_same(long, "Please note: " + long)


@pytest.mark.parametrize("unit", ["a ", "1 ", "if a, ", "- ", "(", "und ", "wenn es regnet ", "12:30 "])
def test_time_grows_with_the_length_of_the_text(unit: str) -> None:
    numbers = count()

    def seconds(length: int) -> float:
        # results for statements are cached
        text = f"{next(numbers)} {unit * length}"
        one, other = text[:length], text[: length - 1] + "x"
        return seconds_of(lambda: states_the_same(one, other))

    seconds(CHARACTERS_MAX)
    assert min(seconds(CHARACTERS_MAX) for _ in range(3)) < 0.5
    assert min(seconds(CHARACTERS_MAX * 50) for _ in range(3)) < 0.1
