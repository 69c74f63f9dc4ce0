"""The share of evidence in contexts, with numbers computed by hand."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.evaluation.evidence import (
    MEASURES,
    EvaluationReport,
    MeasuredAnswer,
    QuestionMeasures,
    build_evaluation_report,
    estimate_means,
    measure_retrieved_evidence,
    run_difference,
    summarise_measures,
)

HALF = measure_retrieved_evidence(
    ["x", "old", "a", "y"],
    evidence={"a", "b"},
    stale={"old", "older"},
    answer="In the Harbour of Kiel, 1998",
    text="<memory>The boat lies in Kiel harbour.</memory>",
    tokens=14,
    milliseconds=3.0,
)
MEASURED = st.builds(
    QuestionMeasures,
    evidence=st.just(4),
    held=st.integers(0, 4),
    evidence_rank=st.none() | st.integers(1, 9),
    stale=st.integers(0, 1),
    stale_rank=st.none() | st.integers(1, 9),
    containment=st.none() | st.floats(0, 1),
    tokens=st.integers(0, 4000),
    milliseconds=st.floats(0, 1000),
)


def answers(*measured: QuestionMeasures, category: str = "now") -> list[MeasuredAnswer]:
    return [MeasuredAnswer(f"q{number}", category, each) for number, each in enumerate(measured)]


def test_one_context_worked_by_hand() -> None:
    assert (HALF.evidence, HALF.held, HALF.evidence_rank) == (2, 1, 3)
    assert (HALF.stale, HALF.stale_rank) == (2, 2)
    measured = {name: read(HALF) for name, read in MEASURES.items()}
    assert (measured["recall"], measured["full"], measured["current_first"]) == (0.5, False, False)
    assert measured["mrr"] == pytest.approx(1 / 3)
    assert measured["containment"] == pytest.approx(2 / 3), "harbour and kiel of harbour, kiel, 1998"
    assert (HALF.tokens, HALF.milliseconds) == (14, 3.0)


def test_an_empty_context_contains_nothing() -> None:
    empty = measure_retrieved_evidence([], evidence={"a"}, stale={"old"}, answer="Kiel")
    assert not any(read(empty) for read in MEASURES.values())


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        (["a", "old"], True),
        (["old", "a"], False),
        (["x", "a"], True),
        (["old"], False),
        (["x"], False),
    ],
)
def test_the_current_version_is_first_only_when_it_is_there(ranked: list[str], expected: bool) -> None:
    assert measure_retrieved_evidence(ranked, evidence={"a"}, stale={"old"}).is_current_first is expected


def test_without_a_stale_version_none_can_be_before() -> None:
    assert measure_retrieved_evidence(["a"], evidence={"a"}).is_current_first is None


@pytest.mark.parametrize("answer", ["", "yes, she is", "东京"])
def test_an_answer_without_words_is_not_looked_for(answer: str) -> None:
    assert measure_retrieved_evidence(["a"], evidence={"a"}, answer=answer, text="anything").containment is None


def test_four_questions_summed_up_by_hand() -> None:
    full = measure_retrieved_evidence(
        ["a"], evidence={"a"}, stale={"b"}, answer="Kiel", text="Kiel", tokens=10, milliseconds=1.0
    )
    late = measure_retrieved_evidence(["x", "a"], evidence={"a"}, tokens=20, milliseconds=2.0)
    lost = measure_retrieved_evidence(["x"], evidence={"a"}, tokens=30, milliseconds=9.0)
    summary = summarise_measures([full, HALF, late, lost])
    means = {name: estimate.value for name, estimate in summary.measures.items()}
    assert means == {
        "recall": pytest.approx((1 + 0.5 + 1 + 0) / 4),
        "full": pytest.approx(2 / 4),
        "containment": pytest.approx((1 + 2 / 3) / 2, abs=1e-6),
        "mrr": pytest.approx((1 + 1 / 3 + 1 / 2 + 0) / 4, abs=1e-6),
        "current_first": pytest.approx(1 / 2),
        "tokens": pytest.approx((10 + 14 + 20 + 30) / 4),
    }
    assert {name: estimate.questions for name, estimate in summary.measures.items()} == {
        **dict.fromkeys(MEASURES, 4),
        "containment": 2,
        "current_first": 2,
    }
    assert (summary.milliseconds_p50, summary.milliseconds_p95) == (2.5, pytest.approx(8.1))


def test_measures_that_apply_to_no_question_are_left_out() -> None:
    assert list(summarise_measures([measure_retrieved_evidence(["a"], evidence={"a"})]).measures) == [
        "recall",
        "full",
        "mrr",
        "tokens",
    ]


def test_categories_are_reported_separately_and_missing_ones_only_in_the_total() -> None:
    found, lost = measure_retrieved_evidence(["a"], evidence={"a"}), measure_retrieved_evidence([], evidence={"a"})
    rows = [
        MeasuredAnswer("1", "then", found),
        MeasuredAnswer("2", "now", lost),
        MeasuredAnswer("3", "", found),
        MeasuredAnswer("4", "now", found),
    ]
    report = build_evaluation_report(rows)
    assert report.total.measures["recall"].value == 0.75
    assert {name: (part.questions, part.measures["recall"].value) for name, part in report.categories.items()} == {
        "now": (2, 0.5),
        "then": (1, 1.0),
    }
    assert list(report.categories) == ["now", "then"]


def test_the_interval_is_that_of_a_share_of_coin_tosses() -> None:
    """100 questions, half of them found: the normal approximation says 0.5 ± 1.96 x 0.05."""
    found, lost = measure_retrieved_evidence(["a"], evidence={"a"}), measure_retrieved_evidence([], evidence={"a"})
    recall = summarise_measures([found, lost] * 50).measures["recall"]
    assert recall.value == 0.5
    assert recall.low == pytest.approx(0.402, abs=0.015)
    assert recall.high == pytest.approx(0.598, abs=0.015)


def test_where_all_questions_agree_the_interval_is_a_point() -> None:
    recall = summarise_measures([measure_retrieved_evidence(["a"], evidence={"a"})] * 7).measures["recall"]
    assert (recall.low, recall.value, recall.high) == (1, 1, 1)


def test_intervals_are_the_same_every_time() -> None:
    columns = np.random.default_rng(5).random((40, 2))
    assert estimate_means(columns) == estimate_means(columns)


def test_the_difference_is_taken_question_by_question() -> None:
    """Each of 30 questions gains exactly 0.5: a certain gain, though the runs by themselves vary from 0 to 1."""
    two = {"a", "b"}
    before = [measure_retrieved_evidence([], evidence=two), measure_retrieved_evidence(["a"], evidence=two)] * 15
    after = [measure_retrieved_evidence(["a"], evidence=two), measure_retrieved_evidence(["a", "b"], evidence=two)] * 15
    gain = run_difference(answers(*before), answers(*after))
    recall = gain.measures["recall"]
    assert (recall.value, recall.low, recall.high, recall.is_beyond_chance) == (0.5, 0.5, 0.5, True)
    assert gain.questions == 30


def test_questions_of_one_run_alone_are_left_out() -> None:
    found, lost = measure_retrieved_evidence(["a"], evidence={"a"}), measure_retrieved_evidence([], evidence={"a"})
    first = [MeasuredAnswer("1", "", lost), MeasuredAnswer("2", "", found), MeasuredAnswer("3", "", found)]
    second = [MeasuredAnswer("4", "", lost), MeasuredAnswer("2", "", lost), MeasuredAnswer("1", "", lost)]
    loss = run_difference(first, second)
    assert loss.questions == 2
    assert loss.measures["recall"].value == -0.5
    assert not loss.measures["recall"].is_beyond_chance
    assert run_difference(first, second[::-1]) == loss


@given(st.lists(MEASURED, min_size=1, max_size=8))
def test_means_lie_within_their_intervals_and_shares_within_0_and_1(measured: list[QuestionMeasures]) -> None:
    for name, estimate in summarise_measures(measured).measures.items():
        assert estimate.low <= estimate.value + 1e-6
        assert estimate.value <= estimate.high + 1e-6
        assert name == "tokens" or 0 <= estimate.low <= estimate.high <= 1


@given(MEASURED)
def test_what_is_measured_survives_json(measured: QuestionMeasures) -> None:
    assert QuestionMeasures(**json.loads(json.dumps(asdict(measured)))) == measured


def test_reports_survive_json() -> None:
    report = build_evaluation_report(answers(HALF, replace(HALF, stale=0)))
    assert EvaluationReport.from_dict(json.loads(json.dumps(asdict(report)))) == report
