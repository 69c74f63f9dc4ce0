"""Scores in which a superseded memory follows what holds instead of it."""

import numpy as np
import numpy.typing as npt

from context.services.assembly.superseded.rivals import Rivals
from context.services.scorer import ScoreColumn

#: ADR-0119. How much lower the score of a surely superseded memory is than that of what holds.
BEHIND = 0.02


def put_superseded_behind(scores: ScoreColumn, rivals: Rivals, minimum: float) -> tuple[ScoreColumn, ScoreColumn]:
    """Return the scores, and for each candidate how probably it is superseded; 0 if less probably than `minimum`.

    What holds takes the score of what it replaces if that is higher, and what it replaces falls behind it. The scores
    of all others stay.
    """
    is_replaced: npt.NDArray[np.bool_] = rivals.replaced >= minimum
    is_superseded = np.asarray(is_replaced.any(axis=1))
    former = scores[rivals.places]
    gains = np.where(is_replaced, former[:, None] - former[None, :], 0.0).max(axis=0, initial=0.0)
    moved = np.where(is_superseded, former, former + gains)
    probability = np.where(is_replaced, rivals.replaced, 0.0).max(axis=1, initial=0.0)
    # the most valid first, so that each falls behind where its successor is in the end
    for place in np.argsort(-rivals.validity, kind="stable").tolist():
        if is_superseded[place]:
            moved[place] = min(moved[place], moved[is_replaced[place]].min() - BEHIND * probability[place])
    result, superseded = scores.copy(), np.zeros(len(scores))
    result[rivals.places], superseded[rivals.places] = moved, probability
    return result, superseded
