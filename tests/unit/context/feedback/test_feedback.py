"""The usefulness formula, and when an answer counts as having used a memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.feedback.votes import (
    ANSWER_SENTENCES_MAX,
    EXPLICIT_WEIGHTS,
    IMPLICIT_WEIGHT,
    SIMILARITY_MIN,
    AnswerOverlap,
    best_similarities,
    comparison_words,
    find_overlaps,
    leading_sentences,
    usefulness_from_votes,
)

BREAD = "Alex bakes sourdough bread every Saturday morning."
FLOUR = "Alex prefers rye flour over wheat flour."
SISTER = "Alex's sister Mina lives in Lisbon."
KITCHEN = {"bread": BREAD, "flour": FLOUR, "sister": SISTER}


def used(answer: str, memories: dict[str, str] = KITCHEN, **similarities: float) -> set[str]:
    overlaps = find_overlaps(memories, answer, sample=(), similarities=similarities)
    return {key for key, overlap in overlaps.items() if overlap.is_used}


def test_weights_are_those_of_the_specification() -> None:
    assert EXPLICIT_WEIGHTS == {"POSITIVE": 1, "NEGATIVE": -1, "VERY_NEGATIVE": -3}
    assert IMPLICIT_WEIGHT == 0.25


@pytest.mark.parametrize(
    ("positive", "negative", "score"),
    [
        (0, 0, 1 / 2),
        (1, 0, 2 / 3),
        (0, 1, 1 / 3),
        (0, 3, 1 / 5),
        (2, 3, 3 / 7),
        (0.25, 0, 5 / 9),
        (5, 0, 6 / 7),
        (0, 2, 0.25),
    ],
)
def test_usefulness_by_the_sums_of_votes(positive: float, negative: float, score: float) -> None:
    assert usefulness_from_votes(positive, negative) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(("positive", "negative"), [(-1, 0), (0, -0.25)])
def test_negative_sums_are_nonsense(positive: float, negative: float) -> None:
    with pytest.raises(ValueError, match="not below 0"):
        usefulness_from_votes(positive, negative)


amounts = st.floats(0, 1e6)


@given(amounts, amounts, st.floats(0.25, 100))
def test_usefulness_lies_between_its_ends_and_follows_each_vote(positive: float, negative: float, more: float) -> None:
    score = usefulness_from_votes(positive, negative)
    assert 0 < score < 1
    assert usefulness_from_votes(positive + more, negative) > score > usefulness_from_votes(positive, negative + more)


@given(st.integers(0, 50), st.integers(0, 50))
def test_one_implicit_vote_never_outweighs_an_explicit_one(positive: int, negative: int) -> None:
    before = usefulness_from_votes(positive, negative)
    assert (
        usefulness_from_votes(positive + 1, negative)
        > usefulness_from_votes(positive + IMPLICIT_WEIGHT, negative)
        > before
    )
    assert usefulness_from_votes(positive + IMPLICIT_WEIGHT, negative + 1) < max(before, 0.5 + 1e-9) or before > 0.5


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", set()),
        ("I do not know.", set()),
        ("Alex!", set()),
        ("On Saturday he bakes his sourdough.", {"bread"}),
        ("SOURDOUGH, BREAD, SATURDAY", {"bread"}),
        ("Bread is fine.", set()),
        ("The flour is rye.", {"flour"}),
        ("Mina is in Lisbon, far from any rye flour.", {"flour", "sister"}),
    ],
)
def test_which_memories_an_answer_used_by_their_words(answer: str, expected: set[str]) -> None:
    assert used(answer) == expected


def test_word_that_is_in_several_memories_is_not_rare() -> None:
    overlaps = find_overlaps(KITCHEN, "Alex", sample=(), similarities={})
    assert all("alex" not in overlap.rare_words for overlap in overlaps.values())
    assert overlaps["bread"].rare_words == {"bakes", "sourdough", "bread", "saturday", "morning"}


def test_sample_makes_words_common() -> None:
    sample = [f"{word} again, number {n}" for n, word in enumerate(["rye", "flour"] * 2)]
    (overlap,) = find_overlaps({"flour": FLOUR}, "rye flour", sample=sample, similarities={}).values()
    assert overlap.rare_words == {"alex", "prefers", "wheat"}
    assert not overlap.is_used


def test_words_in_two_percent_of_a_large_sample_are_still_rare() -> None:
    sample = [f"filler {n}" for n in range(146)] + ["rye bread", "rye beer"]
    (overlap,) = find_overlaps({"flour": FLOUR}, "", sample=sample, similarities={}).values()
    assert "rye" not in overlap.rare_words  # 3 of 149: the limit is 2
    (overlap,) = find_overlaps({"flour": FLOUR}, "", sample=[*sample, "more"], similarities={}).values()
    assert "rye" in overlap.rare_words  # 3 of 150: the limit is 3


@pytest.mark.parametrize(
    ("rare", "shared", "is_used"),
    [
        (0, 0, False),
        (1, 0, False),
        (1, 1, True),
        (4, 1, False),
        (4, 2, True),
        (5, 2, False),
        (5, 3, True),
        (40, 3, True),
        (40, 2, False),
    ],
)
def test_three_rare_words_or_half_of_them(rare: int, shared: int, is_used: bool) -> None:
    words = [f"word{n}" for n in range(rare)]
    assert AnswerOverlap(frozenset(words), frozenset(words[:shared]), None).is_used is is_used


def test_near_sentence_is_enough_and_a_far_one_is_not() -> None:
    assert used("Entirely different.", sister=SIMILARITY_MIN, bread=SIMILARITY_MIN - 0.01) == {"sister"}


def test_words_are_folded_and_short_ones_and_stop_words_left_out() -> None:
    assert comparison_words("The STRASSE, die Straße; Ｆｕｌｌ ERR_4012 at 6 Nm (v2)") == {
        "strasse",
        "die",
        "full",
        "err_4012",
        "v2",
    }


def test_scripts_without_spaces_give_pairs() -> None:
    assert comparison_words("東京に行く") == {"東京", "京に", "に行", "行く"}
    assert used("東京駅です", {"tokyo": "東京駅", "osaka": "大阪城の公園"}) == {"tokyo"}


def test_sentences_end_at_marks_and_lines() -> None:
    text = 'One. "Two!" Three?\nFour\n\n- \n五です。六です。 v1.2 stays'
    assert leading_sentences(text) == ["One.", '"Two!"', "Three?", "Four", "五です。", "六です。", "v1.2 stays"]
    assert leading_sentences(" \n...") == []
    assert len(leading_sentences("Go. " * 1000)) == ANSWER_SENTENCES_MAX


def test_best_similarity_is_that_of_the_nearest_sentence() -> None:
    sentences = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    best = best_similarities({"a": [0, 1], "b": [1, 0]}, sentences)
    assert best == pytest.approx({"a": 0.8, "b": 1.0})
    assert best_similarities({}, sentences) == best_similarities({"a": [0, 1]}, sentences[:0]) == {}


texts = st.text(st.sampled_from("ab cde.1ßé東京\n"), max_size=60)


@given(st.dictionaries(st.integers(), texts, max_size=4), texts, texts)
def test_longer_answer_never_uses_less(memories: dict[int, str], answer: str, more: str) -> None:
    def used_by(text: str) -> set[int]:
        return {key for key, each in find_overlaps(memories, text, sample=(), similarities={}).items() if each.is_used}

    assert used_by(answer) <= used_by(f"{answer}\n{more}")
    assert used_by("") == set()


@given(st.dictionaries(st.integers(), texts, max_size=4), texts)
def test_order_of_memories_does_not_matter(memories: dict[int, str], answer: str) -> None:
    backwards = dict(reversed(memories.items()))
    assert find_overlaps(memories, answer, sample=(), similarities={}) == find_overlaps(
        backwards, answer, sample=(), similarities={}
    )


@given(st.text(max_size=200))
def test_any_text_has_words_and_sentences_without_error(text: str) -> None:
    comparison_words(text)
    assert all(sentence in text for sentence in leading_sentences(text))
