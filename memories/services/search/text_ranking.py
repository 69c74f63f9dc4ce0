"""Rank rows that contain words of a query: rare words weigh more, words of adjacent messages less (ADR-0179)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from memories.services.search.planner import TextQuery

#: ADR-0078. The share of a lexeme's weight if another message of the session contains it, by distance.
SHARE_AT = {-1: 0.8, 1: 0.6, -2: 0.5, 2: 0.4}
_REACH = max(SHARE_AT)

#: A row that contains a lexeme of a query: the halves of its UUID, its tokens, the places of its lexemes in the query
#: as bits, a number for its session (0 if it is not a message), its position, and when it was created.
TEXT_HIT = np.dtype(
    [
        *((name, ">u8") for name in ("high", "low")),
        *((name, ">i4") for name in ("tokens", "position")),
        *((name, ">i8") for name in ("held", "session", "created")),
    ]
)
#: Rows of `TEXT_HIT`, in any order.
TextHits = npt.NDArray[np.void]
_Places = npt.NDArray[np.intp]
_Column = npt.NDArray[Any]


def rank_text_hits(hits: TextHits, text: TextQuery, limit: int) -> dict[int, int]:
    """Return the tokens of the best rows by the integers of their UUIDs, best first.

    Ties go to the newest, then to the smaller id.
    """
    held = (hits["held"][:, None] >> np.arange(len(text.ranking)) & 1).astype(np.float32)
    scores = _with_adjacent(held, hits) @ _weights(held, text)
    if len(hits) > limit:  # of thousands of rows, only those that may be among the best are sorted
        is_near_best = scores >= np.partition(scores, -limit)[-limit]
        hits, scores = hits[is_near_best], scores[is_near_best]
    best = np.lexsort((hits["low"], hits["high"], -hits["created"], -scores))[:limit]
    columns = (hits[name][best].tolist() for name in ("high", "low", "tokens"))
    return {high << 64 | low: tokens for high, low, tokens in zip(*columns, strict=True)}


def _weights(held: _Column, text: TextQuery) -> _Column:
    """Return the weight of each lexeme: higher for rarer ones; common ones weigh at most as much as any matched one."""
    weights = np.log1p(len(held) / (held.sum(axis=0) + 0.5))
    matched = set(text.matched)
    is_matched = np.array([lexeme in matched for lexeme in text.ranking], dtype=bool)
    capped: _Column = np.minimum(weights, np.where(is_matched, np.inf, weights[is_matched].min(initial=np.inf)))
    return capped


def _with_adjacent(held: _Column, hits: TextHits) -> _Column:
    """Return how much each row contains of each lexeme, with a share for the messages around it."""
    shared = held.copy()
    for before, after, distance in _adjacent(hits["session"], hits["position"].astype(np.int64)):
        shared[after] = np.maximum(shared[after], SHARE_AT[-distance] * held[before])
        shared[before] = np.maximum(shared[before], SHARE_AT[distance] * held[after])
    return shared


def _adjacent(sessions: _Column, positions: _Column) -> Iterator[tuple[_Places, _Places, int]]:
    """Yield the places of messages of the same session, and how far the second of each two is behind the first."""
    messages = np.flatnonzero(sessions)
    order = messages[np.lexsort((positions[messages], sessions[messages]))]
    sessions, positions = sessions[order], positions[order]
    for step in range(1, _REACH + 1):
        is_same = sessions[step:] == sessions[:-step]
        distances = np.where(is_same, positions[step:] - positions[:-step], 0)
        for distance in range(step, _REACH + 1):
            places = np.flatnonzero(distances == distance)
            yield order[places], order[places + step], distance
