"""Whether nothing stored answers a query: the parts of the query, the features of its candidates, the probability."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

from context.services.assembly.no_answer.features import COMPARED_EACH, answer_features, compared_rows
from context.services.assembly.no_answer.probability import WARNING_MIN, WEIGHTS, no_answer_probability
from context.services.assembly.no_answer.query_parts import language_of, read_query

QUERY = "What is Keith Marlow's phone number?"


@dataclass
class Row:
    content: str
    similarity: float | None = 0.5
    text_rank: int | None = None
    id: uuid.UUID = field(default_factory=uuid.uuid4)


def features_of(query: str, texts: Sequence[str], attribute_similarity: Sequence[float]) -> dict[str, float]:
    rows = [Row(text) for text in texts]
    return answer_features(query, read_query(query), rows, np.array(attribute_similarity, dtype=np.float64))


def test_a_query_has_names_and_attributes_without_times_and_grammar() -> None:
    parts = read_query("Which discount did Penrith Creamery get on the HB-310 in March 2026?")
    assert (parts.names, parts.attributes) == (["penrith", "creamery", "hb-310"], ["discount"])
    assert parts.is_composite


@pytest.mark.parametrize(
    ("query", "answer", "other"),
    [
        (QUERY, "Keith: 01539 720 411", "Keith has 3 dogs"),
        ("What is Ann's e-mail address?", "ann@example.com", "Ann writes often"),
        ("When is Jutta's birthday?", "Jutta was born on 4 May", "Jutta came on Monday"),
        ("When does the market open?", "It opens on Tuesday", "It opens for all"),
        ("When does the warehouse close?", "It closes at six", "It closes with a bang"),
        ("How long is Oliver's contract?", "Oliver stays for two years", "Oliver stays"),
        ("How much does Conor earn?", "Conor gets 410 a week", "Conor complains"),
    ],
)
def test_a_query_asks_for_a_form(query: str, answer: str, other: str) -> None:
    form = read_query(query).answer_form
    assert form is not None
    assert form.search(answer)
    assert not form.search(other)


def test_a_query_for_a_place_asks_for_no_form() -> None:
    parts = read_query("Where does Sam live?")
    assert parts.answer_form is None
    assert not parts.is_composite


@pytest.mark.parametrize(
    ("text", "language"),
    [("Where is the key?", 0), ("Wo ist der Schlüssel?", 1), ("¿Dónde está la llave?", 2), ("Zzz", None)],
)
def test_the_language_is_that_of_the_frequent_words(text: str, language: int | None) -> None:
    assert language_of(text) == language


def test_candidates_are_the_nearest_and_those_of_the_best_text_rank_each_once() -> None:
    rows = [Row("one", similarity=1 - place / 100, text_rank=100 - place if place % 2 else None) for place in range(40)]
    compared = compared_rows(rows)
    assert compared[:COMPARED_EACH] == rows[:COMPARED_EACH]
    assert compared[COMPARED_EACH:] == [rows[place] for place in range(39, 20, -2)][:COMPARED_EACH]


def test_an_answer_contains_a_name_and_the_form() -> None:
    texts = ["Keith Marlow asked nine questions.", "The phone number of the bakery is 01539 720 411."]
    assert features_of(QUERY, texts, [0.1, 0.9])["answer_similarity"] == pytest.approx(-0.1), "no text has both"
    texts[0] = "Keith Marlow: 01539 720 411."
    assert features_of(QUERY, texts, [0.1, 0.9])["answer_similarity"] == pytest.approx(0.1)


def test_a_digit_of_a_name_is_no_answer() -> None:
    found = features_of("What is the serial number of SW-2?", ["SW-2 is broken."], [0.4])
    assert found["answer_similarity"] == pytest.approx(-0.1)


def test_every_candidate_may_answer_if_none_contains_a_name() -> None:
    assert features_of("Where does Sam live?", ["He lives in Porto."], [0.4])["answer_similarity"] == pytest.approx(0.4)


def test_the_probability_needs_every_feature_and_falls_with_the_similarity_of_an_answer() -> None:
    texts = ["Keith Marlow: 01539 720 411.", "The phone number of the bakery is 01539 720 412."]
    found = features_of(QUERY, texts, [0.0, 0.6])
    assert set(found) == set(WEIGHTS)
    steps = [no_answer_probability(found | {"answer_similarity": step / 10}) for step in range(-1, 10)]
    assert all(later < earlier for earlier, later in pairwise(steps))
    assert steps[0] > WARNING_MIN > steps[-1]


def test_a_query_with_a_time_is_warned_about_less() -> None:
    probability = {
        query: no_answer_probability(features_of(query, ["Keith Marlow likes tea."], [0.1]))
        for query in (QUERY, "What was Keith Marlow's phone number in 2025?")
    }
    assert probability[QUERY] > 5 * probability["What was Keith Marlow's phone number in 2025?"]


def test_features_take_less_than_a_millisecond() -> None:
    texts = [f"Keith Marlow asked question {place} about the fridge in Athlone." for place in range(20)]
    similarity = [0.1] * len(texts)
    features_of(QUERY, texts, similarity)
    start = time.process_time()
    for _ in range(50):
        features_of(QUERY, texts, similarity)
    assert (time.process_time() - start) / 50 < 0.001
