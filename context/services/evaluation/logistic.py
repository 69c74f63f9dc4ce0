"""Logistic regression with a ridge penalty, and the quality of its probabilities on held-out rows.

Newton's method on standardised columns; the standardisation is folded back, so that a coefficient is the change of the
log-odds for one unit of its column. Deterministic: no sampling, folds by the order of the groups.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memories.services.store.content import CodedError

FloatArray = NDArray[np.float64]

#: Fewer would overfit: rows, rows of each outcome, and rows of the rarer outcome for each column (the usual ten events
#: per variable).
MIN_ROWS = 200
MIN_OUTCOMES = 20
MIN_OUTCOMES_PER_COLUMN = 10

#: What a standardised coefficient of 1 costs, in units of one row's log loss.
RIDGE = 1.0
NEWTON_STEPS_MAX = 100
NEWTON_TOLERANCE = 1e-10
#: Halvings of a step that increases the loss, before the point counts as the optimum.
HALVINGS_MAX = 30
FOLDS = 5
CALIBRATION_BINS = 10
#: Log loss clips probabilities to this distance from 0 and 1.
PROBABILITY_MIN = 1e-12


class TooLittleDataError(CodedError):
    """There is too little data for a model; `code` is stable, the message says what is missing."""


@dataclass(frozen=True)
class LogisticModel:
    """Log-odds = `intercept` + the sum of `coefficients` x columns of the same `names`."""

    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def probabilities(self, features: FloatArray) -> FloatArray:
        """Return the probability of each row."""
        return _sigmoid(features @ np.array(self.coefficients) + self.intercept)


class CalibrationBin(NamedTuple):
    """Rows whose predicted probability is from `low` to below `high`: how many, mean prediction, observed share."""

    low: float
    high: float
    rows: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class HeldOutReport:
    """The quality of probabilities. `base_log_loss` and `base_brier` are those of always predicting the observed share.

    `auc` is how often a row of outcome 1 ranks above one of outcome 0, ties counting half; None if an outcome is
    missing. Only bins with rows are listed.
    """

    rows: int
    positives: int
    log_loss: float
    base_log_loss: float
    brier: float
    base_brier: float
    auc: float | None
    bins: tuple[CalibrationBin, ...]


def fit_logistic(features: FloatArray, outcomes: FloatArray, names: Sequence[str]) -> LogisticModel:
    """Return the model that predicts `outcomes` (0 or 1, one a row) best from `features` (rows x columns, named).

    A column that never changes gets the coefficient 0. Raises `TooLittleDataError` below the limits of this module.
    """
    _require_enough_rows(len(outcomes), int(outcomes.sum()), len(names))
    centre, spread = features.mean(axis=0), features.std(axis=0)
    changes = spread > 1e-12
    scale = np.where(changes, spread, 1.0)
    standardised = np.where(changes, (features - centre) / scale, 0.0)
    beta = _newton(np.column_stack([np.ones(len(outcomes)), standardised]), outcomes)
    coefficients = np.where(changes, beta[1:] / scale, 0.0)
    intercept = float(beta[0] - coefficients @ centre)
    return LogisticModel(tuple(names), tuple(coefficients.tolist()), intercept)


def _require_enough_rows(rows: int, positives: int, columns: int) -> None:
    if rows < MIN_ROWS:
        detail = f"A model needs {MIN_ROWS} candidates to learn from; there are {rows:,}."
        raise TooLittleDataError("too_few_rows", detail)
    rarer = min(positives, rows - positives)
    needed = max(MIN_OUTCOMES, MIN_OUTCOMES_PER_COLUMN * columns)
    if rarer < needed:
        kind = "evidence" if positives < rows - positives else "no evidence"
        detail = f"{columns} coefficients need {needed} candidates that are {kind}; there are {rarer:,}."
        raise TooLittleDataError("too_few_outcomes", detail)


def cross_validate(
    features: FloatArray, outcomes: FloatArray, names: Sequence[str], groups: Sequence[Hashable]
) -> tuple[HeldOutReport, FloatArray]:
    """Return the report on rows predicted by models fitted without their group, and these predictions in row order.

    Groups, such as questions, go to the folds in the order they appear. Raises `TooLittleDataError` for fewer groups
    than folds and for a fold that leaves too little data.
    """
    number_of = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    if len(number_of) < FOLDS:
        detail = f"{FOLDS} folds need as many questions, or partitions; there are {len(number_of)}."
        raise TooLittleDataError("too_few_groups", detail)
    fold_of = np.array([number_of[group] % FOLDS for group in groups])
    predicted = np.empty(len(outcomes))
    for fold in range(FOLDS):
        is_held_out = fold_of == fold
        model = fit_logistic(features[~is_held_out], outcomes[~is_held_out], names)
        predicted[is_held_out] = model.probabilities(features[is_held_out])
    return held_out_report(predicted, outcomes), predicted


def held_out_report(predicted: FloatArray, outcomes: FloatArray) -> HeldOutReport:
    """Return the quality of probabilities for outcomes (at least one) they were not fitted to."""
    share = np.full(len(outcomes), outcomes.mean())
    return HeldOutReport(
        rows=len(outcomes),
        positives=int(outcomes.sum()),
        log_loss=_log_loss(predicted, outcomes),
        base_log_loss=_log_loss(share, outcomes),
        brier=float(np.mean((predicted - outcomes) ** 2)),
        base_brier=float(np.mean((share - outcomes) ** 2)),
        auc=_auc(predicted, outcomes),
        bins=_bins(predicted, outcomes),
    )


def _newton(design: FloatArray, labels: FloatArray) -> FloatArray:
    """Return the coefficients of least penalised log loss; the intercept, the first column, has no penalty."""
    penalty = np.array([0.0, *[RIDGE] * (design.shape[1] - 1)])

    def loss(beta: FloatArray) -> float:
        log_odds = design @ beta
        return float(np.sum(np.logaddexp(0.0, log_odds) - labels * log_odds) + 0.5 * np.sum(penalty * beta**2))

    beta = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS_MAX):
        predicted = _sigmoid(design @ beta)
        gradient = design.T @ (predicted - labels) + penalty * beta
        curvature = np.maximum(predicted * (1.0 - predicted), 1e-12)
        step = np.linalg.solve((design * curvature[:, None]).T @ design + np.diag(penalty), gradient)
        before, halved = loss(beta), (beta - step / 2.0**halving for halving in range(HALVINGS_MAX))
        beta = next((tried for tried in halved if loss(tried) <= before), beta)
        if before - loss(beta) <= NEWTON_TOLERANCE * max(abs(before), 1.0):
            break
    return beta


def _sigmoid(log_odds: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0))), dtype=np.float64)


def _log_loss(predicted: FloatArray, labels: FloatArray) -> float:
    safe = np.clip(predicted, PROBABILITY_MIN, 1.0 - PROBABILITY_MIN)
    return float(-np.mean(labels * np.log(safe) + (1.0 - labels) * np.log(1.0 - safe)))


def _auc(predicted: FloatArray, labels: FloatArray) -> float | None:
    positives, negatives = predicted[labels == 1.0], np.sort(predicted[labels == 0.0])
    if not len(positives) or not len(negatives):
        return None
    below, not_above = (np.searchsorted(negatives, positives, side) for side in ("left", "right"))
    return float(np.mean(below + not_above) / (2 * len(negatives)))


def _bins(predicted: FloatArray, labels: FloatArray) -> tuple[CalibrationBin, ...]:
    number = np.clip((predicted * CALIBRATION_BINS).astype(int), 0, CALIBRATION_BINS - 1)
    return tuple(
        CalibrationBin(
            low=one / CALIBRATION_BINS,
            high=(one + 1) / CALIBRATION_BINS,
            rows=int(np.sum(number == one)),
            predicted=float(predicted[number == one].mean()),
            observed=float(labels[number == one].mean()),
        )
        for one in np.unique(number).tolist()
    )
