"""Scores that rank a superseded memory after its successor."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from context.services.assembly.signals.columns import Places
from context.services.assembly.superseded.rivals import Rivals
from context.services.scorer import ScoreColumn

#: ADR-0119. How much lower the score of a certainly superseded memory is than that of its successor.
BEHIND = 0.02


@dataclass(frozen=True)
class SupersededScores:
    """Scores of candidates, how probably each is superseded, and the place of its likeliest successor, -1 for none."""

    scores: ScoreColumn
    superseded: ScoreColumn
    successors: Places


def put_superseded_behind(scores: ScoreColumn, rivals: Rivals, minimum: float) -> SupersededScores:
    """Return the scores; a memory superseded less probably than `minimum` does not count as superseded.

    The successor takes the score of the memory that it replaces if that is higher, and the replaced memory follows it.
    All other scores are unchanged.
    """
    is_replaced: npt.NDArray[np.bool_] = rivals.replaced >= minimum
    is_superseded = np.asarray(is_replaced.any(axis=1))
    former = scores[rivals.places]
    gains = np.where(is_replaced, former[:, None] - former[None, :], 0.0).max(axis=0, initial=0.0)
    moved = np.where(is_superseded, former, former + gains)
    likely = np.where(is_replaced, rivals.replaced, 0.0)
    probability = likely.max(axis=1, initial=0.0)
    result, superseded, successors = scores.copy(), np.zeros(len(scores)), np.full(len(scores), -1, dtype=np.intp)
    # the most valid first, so that each follows the final position of its successor
    order = np.argsort(-rivals.validity, kind="stable")
    for place in order[is_superseded[order]].tolist():
        moved[place] = min(moved[place], moved[is_replaced[place]].min() - BEHIND * probability[place])
        likeliest = np.flatnonzero(likely[place] == probability[place])
        successors[rivals.places[place]] = rivals.places[likeliest[np.argmax(rivals.validity[likeliest])]]
    result[rivals.places], superseded[rivals.places] = moved, probability
    return SupersededScores(result, superseded, successors)
