"""Signals of time: times in a query, the requested time, the valid version; recency; diversity."""

import numpy as np
import pytest

from context.services.assembly.profiled_scorer import recency, repetition
from context.services.assembly.signals.answer_type import answer_type
from context.services.assembly.signals.supersession import supersession
from context.services.assembly.signals.temporal_match import QuestionTime, named_time_spans, temporal_match
from tests.unit.signal_rows import SIGNALS_NOW, signal_memory, signal_pool, signal_turn


def spans(text, years=(2024,), at=SIGNALS_NOW):
    return [f"{span.start:%Y-%m-%d}/{span.end:%Y-%m-%d}" for span in named_time_spans(text, QuestionTime(at, years))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What happened on 7 May 2023?", ["2023-05-07/2023-05-08"]),
        ("What happened on May 7th, 2023?", ["2023-05-07/2023-05-08"]),
        ("What happened on the 7th of May?", ["2024-05-07/2024-05-08"]),
        ("What happened on 2023-05-07?", ["2023-05-07/2023-05-08"]),
        ("Where was she in May 2023?", ["2023-05-01/2023-06-01"]),
        ("Where was she in December?", ["2024-12-01/2025-01-01"]),
        ("Where was she in 2022?", ["2022-01-01/2023-01-01"]),
        ("Where was she in the summer of 2023?", ["2023-06-01/2023-09-01"]),
        ("Where was she in winter 2023?", ["2023-12-01/2024-03-01"]),
        ("Where was she in early 2025?", ["2025-01-01/2025-05-01"]),
        ("What did she do last March?", ["2024-03-01/2024-04-01"]),
        ("What did she do last week?", ["2025-11-03/2025-11-10"]),
        ("What did she do last month?", ["2025-10-01/2025-11-01"]),
        ("What did she do last year?", ["2024-01-01/2025-01-01"]),
        ("What did she do yesterday?", ["2025-11-11/2025-11-12"]),
        ("What did she do last Wednesday?", ["2025-11-05/2025-11-06"]),
        ("What did she do two weeks ago?", ["2025-10-26/2025-11-02"]),
        ("What did she do 3 days ago?", ["2025-11-09/2025-11-10"]),
        ("May I come in?", []),
        ("Where may she be?", []),
        ("What happened on 31 February 2023?", []),
        ("Who is she?", []),
        ("Room 2050b", []),
    ],
)
def test_times_are_read_as_spans(text, expected):
    assert spans(text) == expected


def test_last_may_is_the_one_before_the_question_where_there_are_memories_of_then():
    assert spans("last May", years=(2023, 2024, 2025)) == ["2025-05-01/2025-06-01"]
    assert spans("last December", years=(2023, 2024, 2025)) == ["2024-12-01/2025-01-01"]
    assert spans("last May", years=(2022, 2023)) == ["2022-05-01/2022-06-01", "2023-05-01/2023-06-01"]


def test_a_month_without_a_year_is_that_of_any_year_there_is():
    assert spans("in June", years=(2022, 2023)) == ["2022-06-01/2022-07-01", "2023-06-01/2023-07-01"]


def test_memories_of_the_time_named_count_and_those_soon_after_a_little():
    dates = ["2023-04-20", "2023-05-01", "2023-05-31", "2023-06-10", "2023-07-01", "2024-05-15"]
    found = temporal_match(
        signal_pool([signal_memory("a", created=date) for date in dates], "Where was she in May 2023?")
    )
    assert found.tolist() == pytest.approx([0, 1, 1, 0.33, 0, 0])


def test_no_time_named_no_time_counts_and_unknown_ages_suit_no_time():
    assert temporal_match(signal_pool([signal_memory("a")], "Where was she?")).tolist() == [0.0]
    assert temporal_match(signal_pool([signal_memory("a", created_at=None)], "Where was she in 2023?")).tolist() == [
        0.0
    ]


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("When did she go?", "I went last week.", "I went."),
        ("In which month did she go?", "That was on the 3rd.", "I went there."),
        ("How long did she stay?", "I stayed three weeks.", "I stayed."),
        ("How long did she stay?", "For a couple of days.", "I left yesterday."),
        ("How many are there?", "There are 14 of them.", "There are lots."),
        ("Where did she go?", "I went to Lisbon.", "I went away."),
        ("Where did she go?", "I went to Lisbon.", "I went home."),
        ("Who came?", "Then Marta came.", "Then she came."),
        ("Which book was it?", 'It was "Emma", I think.', "It was good."),
        ("Why did she go?", "I went because of it.", "I went."),
    ],
)
def test_texts_with_the_requested_type_of_answer_come_first(question, answer, other):
    found = answer_type(signal_pool([signal_turn(f"Ann: {answer}", 1), signal_turn(f"Ben: {other}", 2)], question))
    assert 1 >= found[0] > found[1] >= 0


def test_a_question_of_no_known_form_prefers_none():
    assert answer_type(signal_pool([signal_memory("I went to Lisbon last week.")], "What did she do?")).tolist() == [
        0.0
    ]


OLD, NEW, OTHER = [1.0, 0.2, 0.0], [1.0, 0.0, 0.2], [0.0, 0.3, 1.0]


def versions(text, **fields):
    rows = [
        signal_memory("Priya lives in Leeds.", created="2024-01-10", lexemes=["priya", "live"], **fields),
        signal_memory("Priya has moved to Cardiff.", created="2025-05-19", lexemes=["priya"], **fields),
        signal_memory("The lamp is green.", created="2025-06-01", similarity=0.1),
    ]
    return signal_pool(rows, text, ["priya", "live"], [OLD, NEW, OTHER])


def test_a_question_about_now_raises_the_newer_version():
    old, new, other = supersession(versions("Where does Priya live?"))
    assert new > 0.3
    assert old < -0.3
    assert abs(other) < 0.05


@pytest.mark.parametrize("question", ["Where did Priya live originally?", "Where did Priya live in March 2024?"])
def test_a_question_about_then_raises_the_version_of_then(question):
    old, new, _ = supersession(versions(question))
    assert old > 0.3
    assert new < -0.3


def test_before_a_time_named_is_before_it():
    old, new, _ = supersession(versions("Where did Priya live before the move in May 2025?"))
    assert old > new


def test_the_past_tense_alone_takes_no_side():
    assert supersession(versions("Where was Priya?")).tolist() == [0.0, 0.0, 0.0]


def test_messages_replace_nothing():
    rows = [
        signal_turn("Ann: I live in Leeds.", 1),
        signal_turn("Ann: I live in Cardiff.", 2, session="s2", created="2025-05-19"),
    ]
    assert supersession(signal_pool(rows, "Where does Ann live?", vectors=[OLD, NEW])).tolist() == [
        0.0,
        0.0,
    ]


def test_without_vectors_ages_or_rivals_nothing_is_current():
    rows = [signal_memory("a", created="2024-01-01"), signal_memory("b")]
    assert supersession(signal_pool(rows, "Where is it?")).tolist() == [0.0, 0.0]
    assert supersession(signal_pool(rows[:1], "Where is it?", vectors=[OLD])).tolist() == [0.0]
    assert supersession(signal_pool([], "Where is it?")).tolist() == []
    unknown = [signal_memory("a", created_at=None), signal_memory("b")]
    assert supersession(signal_pool(unknown, "Where is it?", vectors=[OLD, NEW])).tolist() == [0.0, 0.0]


def test_currency_stays_within_its_bounds():
    rows = [signal_memory("a", created=f"2024-{month:02}-01", similarity=1.0) for month in range(1, 13)] * 6
    found = supersession(signal_pool(rows, "Where is it?", vectors=[OLD] * 72))
    assert np.abs(found).max() <= 1.0
    assert found.max() > 0.8


def test_recency_halves_by_kind():
    rows = [{"kind": "fact"}, {"kind": "episode"}, {"kind": "fact"}, {"kind": "fact"}]
    ages = np.array([20.0, 20.0, -5.0, np.inf]) * 86_400
    assert recency(rows, ages, 10.0, {"episode": 20.0}).tolist() == [0.25, 0.5, 1.0, 0.5]


def test_near_duplicate_of_a_better_text_is_a_repetition():
    rows = [signal_memory("a"), signal_memory("a again"), signal_memory("b")]
    found = repetition(signal_pool(rows, vectors=[[1, 0], [1, 0.01], [0, 1]]), np.array([0.9, 0.8, 0.5]), 0.5)
    assert found.tolist() == pytest.approx([0.0, 1.0, 0.0], abs=1e-3)


def test_scores_less_their_repetition_fall_in_the_order_they_were_chosen():
    generator = np.random.default_rng(3)
    rows = [signal_memory(str(number)) for number in range(40)]
    scores = generator.uniform(size=40)
    vectors = generator.normal(size=(40, 4))
    found = repetition(signal_pool(rows, vectors=vectors), scores, 0.3)
    assert found.min() == 0.0
    assert found[np.argmax(scores)] == 0.0
    assert (found <= 1.0 + 1e-6).all()
    assert repetition(signal_pool(rows[:1]), scores[:1], 0.3).tolist() == [0.0]
