"""Logistic regression: known coefficients, an optimum verified by hand, refusals, held-out reports."""

import math

import numpy as np
import pytest

from context.services.evaluation.logistic import (
    MIN_OUTCOMES,
    MIN_ROWS,
    LogisticModel,
    TooLittleDataError,
    cross_validate,
    fit_logistic,
    held_out_report,
)


def data(rows=4_000, seed=1):
    generator = np.random.default_rng(seed)
    features = np.column_stack([generator.normal(3, 2, rows), generator.uniform(0, 1, rows)])
    log_odds = -4.0 + 1.0 * features[:, 0] + 2.0 * features[:, 1]
    return features, (generator.uniform(size=rows) < 1 / (1 + np.exp(-log_odds))).astype(float)


def test_known_coefficients_are_found_again():
    features, outcomes = data(20_000)
    model = fit_logistic(features, outcomes, ["a", "b"])
    assert model.names == ("a", "b")
    assert model.coefficients == pytest.approx((1.0, 2.0), abs=0.12)
    assert model.intercept == pytest.approx(-4.0, abs=0.2)


def test_mean_of_the_predictions_is_that_of_the_outcomes():
    features, outcomes = data()
    predicted = fit_logistic(features, outcomes, ["a", "b"]).probabilities(features)
    assert predicted.mean() == pytest.approx(outcomes.mean(), abs=1e-6)


def test_the_scale_of_a_column_only_scales_its_coefficient():
    features, outcomes = data()
    plain = fit_logistic(features, outcomes, ["a", "b"])
    scaled = fit_logistic(features * [1_000.0, 1.0] + [5.0, 0.0], outcomes, ["a", "b"])
    assert scaled.coefficients[0] * 1_000 == pytest.approx(plain.coefficients[0], rel=1e-6)
    assert scaled.probabilities(features * [1_000.0, 1.0] + [5.0, 0.0]) == pytest.approx(plain.probabilities(features))


def test_a_constant_column_gets_nothing_and_equal_columns_share():
    features, outcomes = data()
    wide = np.column_stack([features, np.full(len(outcomes), 7.0), features[:, 0]])
    model = fit_logistic(wide, outcomes, ["a", "b", "constant", "again"])
    assert model.coefficients[2] == 0.0
    assert model.coefficients[0] == pytest.approx(model.coefficients[3], rel=1e-3)


def test_perfectly_separable_rows_have_finite_coefficients():
    features = np.linspace(-1, 1, 400)[:, None]
    model = fit_logistic(features, (features[:, 0] > 0).astype(float), ["a"])
    assert 0 < model.coefficients[0] < 100


def test_the_same_rows_give_the_same_model():
    assert fit_logistic(*data(), ["a", "b"]) == fit_logistic(*data(), ["a", "b"])


def test_too_few_rows_are_refused():
    features, outcomes = data(MIN_ROWS - 1)
    with pytest.raises(TooLittleDataError) as refusal:
        fit_logistic(features, outcomes, ["a", "b"])
    assert refusal.value.code == "too_few_rows"


@pytest.mark.parametrize("rare", [0, MIN_OUTCOMES - 1])
@pytest.mark.parametrize("is_turned", [False, True])
def test_too_few_of_one_outcome_are_refused(rare, is_turned):
    features, _ = data(1_000)
    outcomes = (np.arange(1_000) < rare).astype(float)
    with pytest.raises(TooLittleDataError) as refusal:
        fit_logistic(features, 1 - outcomes if is_turned else outcomes, ["a", "b"])
    assert refusal.value.code == "too_few_outcomes"


def test_many_columns_need_many_outcomes():
    generator = np.random.default_rng(2)
    outcomes = (np.arange(1_000) < 50).astype(float)
    fit_logistic(generator.normal(size=(1_000, 5)), outcomes, [*"abcde"])
    with pytest.raises(TooLittleDataError, match="60 candidates that are evidence"):
        fit_logistic(generator.normal(size=(1_000, 6)), outcomes, [*"abcdef"])


def test_a_report_by_hand():
    report = held_out_report(np.array([0.9, 0.6, 0.4, 0.05]), np.array([1, 0, 1, 0]))
    assert (report.rows, report.positives) == (4, 2)
    assert report.log_loss == pytest.approx(-(math.log(0.9) + 2 * math.log(0.4) + math.log(0.95)) / 4)
    assert report.base_log_loss == pytest.approx(math.log(2))
    assert report.brier == pytest.approx((0.01 + 0.36 + 0.36 + 0.0025) / 4)
    assert report.base_brier == 0.25
    assert report.auc == 0.75
    assert [(one.low, one.rows, one.predicted, one.observed) for one in report.bins] == [
        (0.0, 1, 0.05, 0.0),
        (0.4, 1, 0.4, 1.0),
        (0.6, 1, 0.6, 0.0),
        (0.9, 1, 0.9, 1.0),
    ]


def test_ties_count_half_and_a_lone_outcome_has_no_auc():
    assert held_out_report(np.array([0.5, 0.5, 0.5]), np.array([1, 0, 0])).auc == 0.5
    assert held_out_report(np.array([0.5, 0.7]), np.array([1, 1])).auc is None
    assert held_out_report(np.array([1.0, 0.0]), np.array([0, 1])).log_loss < 30


def test_held_out_probabilities_are_calibrated_where_the_model_is_right():
    features, outcomes = data(5_000)
    report, predicted = cross_validate(features, outcomes, ["a", "b"], groups=[row // 10 for row in range(5_000)])
    assert len(predicted) == 5_000
    assert report.log_loss < report.base_log_loss
    assert report.auc > 0.8
    assert all(abs(one.predicted - one.observed) < 0.1 for one in report.bins if one.rows > 200)


def test_no_row_is_predicted_by_a_model_that_saw_its_group():
    """Columns that only name the group predict nothing once the group is held out."""
    groups = [row // 100 for row in range(2_000)]
    outcomes = np.array([group % 2 for group in groups], dtype=float)
    features = np.eye(20)[groups][:, ::2]
    held_out, _ = cross_validate(features, outcomes, [*"abcdefghij"], groups)
    seen = fit_logistic(features, outcomes, [*"abcdefghij"]).probabilities(features)
    assert held_out_report(seen, outcomes).log_loss < 0.1 < held_out.log_loss


def test_fewer_groups_than_folds_are_refused():
    features, outcomes = data(1_000)
    with pytest.raises(TooLittleDataError) as refusal:
        cross_validate(features, outcomes, ["a", "b"], groups=["x"] * 1_000)
    assert refusal.value.code == "too_few_groups"


def test_probabilities_follow_from_coefficients_and_intercept():
    model = LogisticModel(("a",), (2.0,), -1.0)
    assert model.probabilities(np.array([[0.5], [1e9], [-1e9]])).tolist() == pytest.approx([0.5, 1.0, 0.0])
