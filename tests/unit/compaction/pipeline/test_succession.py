"""Which sentence of a conversation makes an earlier one outdated."""

import numpy as np
import pytest

from compaction.services.pipeline.statements.model import StatementMessage
from compaction.services.pipeline.statements.parsing import parse_messages
from compaction.services.pipeline.statements.prediction import predict_sentences
from compaction.services.pipeline.statements.succession import (
    COMPARED_PER_STEM_MAX,
    RECENT_MAX,
    STEMS_COMPARED_MAX,
    Claim,
    Forest,
    compared_pairs,
    find_outdated,
    log_odds,
)


def claims(*texts: str) -> list[Claim]:
    messages = [StatementMessage(str(n), "user", text, "Ann", sequence=n) for n, text in enumerate(texts)]
    parsed = parse_messages(messages)
    predicted = predict_sentences(parsed)
    return [
        Claim(read.sentences[0].text, "Ann", "user", number, read.language, predicted[number][0])
        for number, read in enumerate(parsed)
    ]


def test_each_sentence_is_compared_with_a_bounded_number_of_earlier_ones() -> None:
    pairs, rows = compared_pairs(claims(*(f"The heron of pond {n} weighs {n} kilos." for n in range(80))))
    assert all(older < newer for older, newer in pairs)
    newest = [older for older, newer in pairs if newer == 79]
    assert RECENT_MAX <= len(newest) <= RECENT_MAX + STEMS_COMPARED_MAX * COMPARED_PER_STEM_MAX
    assert len({len(row) for row in rows}) == 1


def test_nothing_is_outdated_by_itself_or_without_sentences() -> None:
    assert find_outdated([]) == []
    (only,) = find_outdated(claims("The heron weighs two kilos."))
    assert only.by is None


def test_correction_makes_what_it_corrects_more_probably_outdated_than_what_it_does_not_touch() -> None:
    all_claims = claims(
        "The meeting with the bank is on Tuesday at 10.",
        "The heron cage costs 480 euros.",
        "Change of plan, the meeting with the bank is on Thursday at 14 instead.",
    )
    meeting, cage, _ = find_outdated(all_claims)
    assert meeting.probability > cage.probability


def test_forest_adds_the_leaves_that_a_row_reaches() -> None:
    forest = Forest(
        feature=np.array([0, 0, 0]),
        threshold=np.array([1.5, 0, 0], np.float32),
        left=np.array([1, 1, 2]),
        right=np.array([2, 1, 2]),
        value=np.array([0, -2, 3], np.float32),
        roots=np.array([0, 0]),
        depth=1,
        base=1.0,
    )
    low, high = forest.decide(np.array([[1.0], [2.0]], np.float32))
    assert low == pytest.approx(1 / (1 + np.exp(3)))
    assert high == pytest.approx(1 / (1 + np.exp(-7)))


def test_log_odds_are_bounded() -> None:
    assert log_odds(0.5) == 0
    assert log_odds(0) == log_odds(1e-5) == pytest.approx(-log_odds(1))
