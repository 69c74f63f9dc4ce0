"""Supersession: of several memories that answer the same query, the one that is true at the queried time.

Notes that resemble each other and are both relevant to the query are treated as versions of one fact: a query about the
present raises the newer and lowers the older, one about the past does the opposite. Messages of conversations report
events and replace nothing: they neither gain nor lose.
"""

import re

import numpy as np
import numpy.typing as npt

from context.services.assembly.signals.columns import CandidatePool, inner_products
from context.services.assembly.signals.temporal_match import query_time_spans
from context.services.scorer import SECONDS_PER_DAY, ScoreColumn

#: ADR-0078. The number of the most relevant candidates that are compared with each other.
_COMPARED_MAX = 60
#: ADR-0078. From this cosine on, two memories count in full as making the same statement.
ALIKE_IN_FULL = 0.7
#: ADR-0078. The similarity that results in half of the full gain or loss.
HALF_AT = 0.5
#: From this number of days between two memories on, one counts in full as the newer one.
NEWER_IN_FULL_DAYS = 1.0
#: Longer than the time between any two memories.
EVER_SECONDS = 1e12


#: Words that make a query one about an earlier state, words that end it there, and words of the past tense.
_EARLIER = re.compile(
    r"\b(?:used? to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|(?:was|were|did)\b.* first|"
    r"initial(?:ly)?|in the past|back then|earlier|(?<!how )old|until|at the start|in the beginning)\b",
    re.IGNORECASE,
)
_UP_TO = re.compile(r"\b(?:before|until|prior to)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|did|had)\b", re.IGNORECASE)


def supersession(pool: CandidatePool) -> ScoreColumn:
    """Return -1 (another is true at the queried time) to 1 (this one is); 0 if no memory conflicts with it."""
    found = np.zeros(len(pool))
    strength = np.where(pool.is_turn | ~np.isfinite(pool.created), 0.0, pool.strength)
    places = np.argsort(-strength, kind="stable")[:_COMPARED_MAX]
    places = places[strength[places] > 0.0]
    merit = _merit(pool)
    if len(places) < 2 or merit is None:
        return found
    rivalry = _rivalry(pool, places, strength[places] / pool.strength.max())
    created, merit = pool.created[places], merit[places]
    days_apart = np.abs(created[:, None] - created[None, :]) / SECONDS_PER_DAY
    better = np.sign(merit[:, None] - merit[None, :]) * np.minimum(days_apart / NEWER_IN_FULL_DAYS, 1.0)
    found[places] = (rivalry * better).sum(axis=1) / (HALF_AT + rivalry.sum(axis=1))
    return found


def _rivalry(pool: CandidatePool, places: npt.NDArray[np.intp], share: ScoreColumn) -> npt.NDArray[np.float64]:
    """Return for each pair how much both answer the same, 0..1: similar vectors, and both relevant to the query."""
    vectors = pool.vectors_of(places.tolist()).astype(np.float64)
    alike = np.clip(inner_products(vectors, vectors) / ALIKE_IN_FULL, 0.0, 1.0)
    rivalry = alike * np.outer(share, share) ** 2
    np.fill_diagonal(rivalry, 0.0)
    return rivalry


def _merit(pool: CandidatePool) -> ScoreColumn | None:
    """Return larger numbers for memories more likely to be true at the queried time; None if the query favours none.

    For a named time: the newest from before its end, then what came after it, soonest first.
    """
    text = pool.question.text
    if spans := query_time_spans(pool):
        end = (spans[0].start if _UP_TO.search(text) else spans[0].end).timestamp()
        return np.where(pool.created > end, -pool.created - EVER_SECONDS, pool.created)
    if _EARLIER.search(text):
        return -pool.created
    return None if _PAST.search(text) else pool.created
