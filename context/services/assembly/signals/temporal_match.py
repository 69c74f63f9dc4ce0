"""Times: a memory from the time that the question names, or from soon after, when one tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.assembly.signals.time_rules import (
    ENGLISH_TIMES,
    QuestionTime,
    TimeRule,
    TimeSpan,
    named_time_spans,
)
from context.services.scorer import SECONDS_PER_DAY, ScoreColumn

#: ADR-0078. Days around a named time that still count in full: time zones before it, the evening's tale after it.
DAYS_BEFORE, DAYS_AFTER = 1.0, 1.0
#: ADR-0078. Later than that a memory counts by so much at first, and no more after so many days.
LATER_SHARE, LATER_DAYS = 0.6, 20.0


def temporal_match(pool: CandidatePool, asked_at: datetime, rules: Sequence[TimeRule] = ENGLISH_TIMES) -> ScoreColumn:
    """How well the age of each memory suits a time named in the question, 0..1; all 0 where none is named."""
    found = np.zeros(len(pool))
    for span in query_time_spans(pool, asked_at, rules):
        found = np.maximum(found, _suits(pool.created, span))
    return found


def query_time_spans(
    pool: CandidatePool, asked_at: datetime, rules: Sequence[TimeRule] = ENGLISH_TIMES
) -> list[TimeSpan]:
    """The times that the question names, those without a year in every year that a candidate is from."""
    known = pool.created[np.isfinite(pool.created)]
    years = sorted({datetime.fromtimestamp(seconds, UTC).year for seconds in np.unique(known).tolist()})
    return named_time_spans(pool.text, QuestionTime(asked_at, years), rules)


def _suits(created: ScoreColumn, span: TimeSpan) -> ScoreColumn:
    days_before = (span.start.timestamp() - created) / SECONDS_PER_DAY
    days_after = (created - span.end.timestamp()) / SECONDS_PER_DAY
    is_within = (days_before <= DAYS_BEFORE) & (days_after <= DAYS_AFTER)
    later = LATER_SHARE * np.clip(1.0 - days_after / LATER_DAYS, 0.0, 1.0)
    return np.where(is_within, 1.0, np.where(days_after > 0, later, 0.0))
