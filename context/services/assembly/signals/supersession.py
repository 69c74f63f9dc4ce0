"""Currency: of several memories that answer the same question, the one that holds at the time asked about.

Notes that resemble each other and both have much to do with the question are taken for versions of one fact: a question
about now raises the newer and lowers the older, one about then the other way round. Messages of conversations tell what
happened, they replace nothing: they neither gain nor lose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from context.services.assembly.signals.columns import CandidatePool
from context.services.assembly.signals.temporal_match import query_time_spans
from context.services.scorer import SECONDS_PER_DAY, ScoreColumn

#: ADR-0078. Only so many candidates that have most to do with the question are compared with each other.
_COMPARED_MAX = 60
#: ADR-0078. The cosine between two memories from which on they count in full as saying the same.
ALIKE_IN_FULL = 0.7
#: ADR-0078. How much of resemblance makes half of the full gain or loss.
HALF_AT = 0.5
#: Days between two memories from which on one is in full the newer.
NEWER_IN_FULL_DAYS = 1.0
#: More than any two memories are apart.
EVER_SECONDS = 1e12


@dataclass(frozen=True)
class TenseRules:
    """Words that say that a question is about an earlier state, and words that only put it into the past."""

    earlier: re.Pattern[str]
    up_to: re.Pattern[str]
    past: re.Pattern[str]


ENGLISH_TENSES = TenseRules(
    earlier=re.compile(
        r"\b(?:used? to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|(?:was|were|did)\b.* first|"
        r"initial(?:ly)?|in the past|back then|earlier|(?<!how )old|until|at the start|in the beginning)\b",
        re.IGNORECASE,
    ),
    up_to=re.compile(r"\b(?:before|until|prior to)\b", re.IGNORECASE),
    past=re.compile(r"\b(?:was|were|did|had)\b", re.IGNORECASE),
)


def supersession(pool: CandidatePool, asked_at: datetime, rules: TenseRules = ENGLISH_TENSES) -> ScoreColumn:
    """From -1 (others hold at the time asked about) to 1 (it does, and others do not); 0 for what has no rival."""
    found = np.zeros(len(pool))
    strength = np.where(pool.is_turn | ~np.isfinite(pool.created), 0.0, pool.strength)
    places = np.argsort(-strength, kind="stable")[:_COMPARED_MAX]
    places = places[strength[places] > 0.0]
    merit = _merit(pool, asked_at, rules)
    if len(places) < 2 or merit is None:
        return found
    rivalry = _rivalry(pool, places, strength[places] / pool.strength.max())
    created, merit = pool.created[places], merit[places]
    days_apart = np.abs(created[:, None] - created[None, :]) / SECONDS_PER_DAY
    better = np.sign(merit[:, None] - merit[None, :]) * np.minimum(days_apart / NEWER_IN_FULL_DAYS, 1.0)
    found[places] = (rivalry * better).sum(axis=1) / (HALF_AT + rivalry.sum(axis=1))
    return found


def _rivalry(pool: CandidatePool, places: npt.NDArray[np.intp], share: ScoreColumn) -> npt.NDArray[np.float64]:
    """How much each two of them answer the same, 0..1: alike by their vectors, and both near to the question."""
    vectors = pool.vectors_of(places.tolist()).astype(np.float64)
    alike = np.clip(vectors @ vectors.T / ALIKE_IN_FULL, 0.0, 1.0)
    rivalry = alike * np.outer(share, share) ** 2
    np.fill_diagonal(rivalry, 0.0)
    return rivalry


def _merit(pool: CandidatePool, asked_at: datetime, rules: TenseRules) -> ScoreColumn | None:
    """Larger for what holds rather at the time asked about; None where the question takes no side.

    For a time that is named: the newest from before its end, then what came after it, soonest first.
    """
    spans = query_time_spans(pool, asked_at)
    if spans:
        end = (spans[0].start if rules.up_to.search(pool.text) else spans[0].end).timestamp()
        return np.where(pool.created > end, -pool.created - EVER_SECONDS, pool.created)
    if rules.earlier.search(pool.text):
        return -pool.created
    return None if rules.past.search(pool.text) else pool.created
