"""The measure for summaries: the share of answer words they keep."""

import pytest

from compaction.services.evaluation.answer_words import allowed_tokens, questions_of_one_session, share_of_answer_words
from context.services.evaluation.answer_words import significant_words

CORPUS = {
    "qa": [
        {"question": "Where does Ann live?", "answer": "In Oslo, Norway", "evidence": ["D1:3"], "category": 4},
        {"question": "How old is the boat?", "answer": 12, "evidence": ["D2:1", "D2:4"], "category": 1},
        {"question": "Two sessions?", "answer": "kayak", "evidence": ["D1:3", "D2:1"], "category": 1},
        {"question": "No such thing?", "answer": "kayak", "evidence": ["D1:3"], "category": 5},
        {"question": "Only small words?", "answer": "yes, she is", "evidence": ["D1:3"], "category": 4},
        {"question": "No evidence?", "answer": "kayak", "evidence": [], "category": 3},
        {"question": "No summary of its session?", "answer": "kayak", "evidence": ["D3:1"], "category": 3},
    ],
    "session_1_summary": "Ann lives in Oslo now.",
    "session_2_summary": "The boat is old.",
    "session_3_summary": "",
    "session_1": [],
}


def words(text):
    return len(text.split())


def measure(summaries):
    questions = questions_of_one_session(CORPUS)
    return share_of_answer_words(questions, summaries, allowed_tokens(CORPUS, words), words)


def test_small_words_and_case_do_not_count():
    assert significant_words("The Kayak is in O'Hara's hands") == {"kayak", "o'hara's", "hands"}


def test_only_questions_of_one_session_with_an_answer_count():
    questions = questions_of_one_session(CORPUS)
    assert [(row.session, row.answer_words) for row in questions] == [
        (1, {"oslo", "norway"}),
        (2, {"12"}),
        (3, {"kayak"}),
    ]


def test_summaries_may_be_as_long_as_the_own_ones():
    assert allowed_tokens(CORPUS, words) == {1: 5, 2: 4}


@pytest.mark.parametrize(
    ("summaries", "share"),
    [
        ({1: "Oslo in Norway", 2: "12 years"}, 1.0),
        ({1: "Oslo", 2: "12 years"}, 0.75),
        ({1: "Oslo"}, 0.5),
        ({1: "Oslo Norway and four more words", 2: "12"}, 0.5),
        ({1: "", 2: ""}, 0.0),
    ],
)
def test_the_share_is_the_mean_over_questions(summaries, share):
    assert measure(summaries) == share


def test_without_a_summary_there_is_nothing_to_measure():
    assert measure({}) is None
    assert measure({3: "kayak"}) is None
