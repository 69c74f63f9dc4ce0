"""Probabilities of being evidence, learned from candidates of questions with known evidence."""

from collections.abc import Iterator

import numpy as np
import pytest

from context.services.evaluation.calibration import Observation, calibrate
from context.services.evaluation.logistic import TooLittleDataError
from context.services.profiles.scoring_profiles import ADR_0040, ScoringProfile

QUESTIONS = 60


def observed(questions: int = QUESTIONS) -> Iterator[Observation]:
    """Ten candidates a question, one of them evidence: relevance tells it, the uncalibrated score hides it."""
    chance = np.random.default_rng(7)
    for question in range(questions):
        for place in range(10):
            is_evidence = place == question % 10
            relevance = float(np.clip(0.3 + 0.4 * is_evidence + chance.normal(0, 0.12), 0, 1))
            yield Observation(
                question=f"q{question}",
                group=f"q{question}",
                memory=f"m{question}-{place}",
                tokens=40,
                score=1 - relevance,
                parts={"relevance": relevance, "recency": float(chance.random()), "confidence": 0.8},
                is_evidence=is_evidence,
            )


def test_constant_components_have_no_coefficient() -> None:
    learnt = calibrate(list(observed()), {f"q{number}": 1 for number in range(QUESTIONS)}, [50])
    numbers = learnt.as_numbers()
    assert numbers["coefficients"]["relevance"] > 5
    assert abs(numbers["coefficients"]["recency"]) < 2
    assert "confidence" not in numbers["coefficients"]
    assert numbers["intercept"] < 0
    profile = ScoringProfile.from_numbers("own", 1, ADR_0040.to_numbers() | numbers)
    assert profile.is_calibrated


def test_report_is_of_held_out_candidates_and_better_than_the_mean() -> None:
    report = calibrate(list(observed()), {f"q{number}": 1 for number in range(QUESTIONS)}, [50]).report
    assert (report.rows, report.positives) == (600, 60)
    assert report.log_loss < report.base_log_loss
    assert report.brier < report.base_brier
    assert report.auc is not None
    assert report.auc > 0.95
    assert sum(each.rows for each in report.bins) == 600


def test_recall_within_a_budget_is_computed_before_and_after_calibration() -> None:
    wanted = {f"q{number}": 1 for number in range(QUESTIONS)} | {"unanswerable": 1}
    small, whole = calibrate(list(observed()), wanted, [40, 400]).recalls
    assert (small.budget, whole.budget) == (40, 400)
    assert small.before < 0.2
    assert small.greedy > 0.8
    assert small.optimal == small.greedy
    assert whole.before == whole.greedy == whole.optimal == pytest.approx(QUESTIONS / (QUESTIONS + 1))


def test_same_candidates_give_the_same_numbers() -> None:
    wanted = {f"q{number}": 1 for number in range(QUESTIONS)}
    first, second = (calibrate(list(observed()), wanted, [50]) for _ in range(2))
    assert (first.as_numbers(), first.as_record()) == (second.as_numbers(), second.as_record())


@pytest.mark.parametrize(("questions", "code"), [(0, "too_few_rows"), (10, "too_few_rows"), (30, "too_few_outcomes")])
def test_too_little_data_is_refused(questions: int, code: str) -> None:
    rows = list(observed(questions))
    if questions == 30:
        rows = [row for row in rows if not row.is_evidence or int(row.question[1:]) < 15]
    with pytest.raises(TooLittleDataError) as refused:
        calibrate(rows, {f"q{number}": 1 for number in range(questions)}, [50])
    assert refused.value.code == code
