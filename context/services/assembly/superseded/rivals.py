"""Pairs of candidates that state the same attribute of the same thing with another value: a learned judgement.

Each two of the most relevant candidates are compared by their words, values, vectors and times. A logistic function of
these features gives the probability that they are rivals (`python -m benchmarks.learn_rivals` learns its weights).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.assembly.signals.columns import CandidatePool, Places, inner_products
from context.services.assembly.superseded.queried_time import LAST_SECONDS, queried_time, start_times
from context.services.assembly.superseded.statements import Statement, read_statement
from context.services.scorer import SECONDS_PER_DAY
from memories.services.time_limits import in_time

Matrix = npt.NDArray[np.float64]

#: ADR-0119. The number of the most relevant candidates that are compared with each other.
COMPARED_MAX = 40
#: ADR-0119. Two statements without a word in common are rivals only from this cosine on.
COSINE_MIN = 0.3
#: ADR-0329. The number of the likeliest successors that count for a memory.
SUCCESSORS_MAX = 2
#: ADR-0329. From this probability on, a rival makes a memory one of several versions.
VERSION_MIN = 0.1
#: ADR-0119. A longer time between two statements has no additional effect.
DAYS_APART_MAX = 60.0
#: ADR-0119. The log-odds that two statements are rivals: this, plus the weighted features of `pair_features`.
INTERCEPT = -3.477
FEATURE_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "cosine": -0.006,
        "relevance_least": 5.309,
        "relevance_newer": -1.569,
        "shared_words_older": 3.852,
        "same_number": 1.188,
        "other_number": 0.793,
        "same_unit": 0.730,
        "other_identifier": -1.181,
        "other_value_newer": 0.104,
        "change_newer": 0.671,
        "reversal_newer": 0.497,
        "days_apart": 1.008,
        "length_older": -0.997,
        "nearness_rank": -0.725,
        "words_rank": -0.664,
        "message_older": -1.373,
        "message_newer": -2.065,
        "same_session": 4.404,
    }
)
#: Prevents a division by zero.
_TINY = 1e-9


@dataclass(frozen=True)
class Rivals:
    """The compared candidates by their `places`; `replaced[i, j]`: the probability (0..1) that j is true instead of i.

    It is 0 if i is as valid as j at the queried time. `validity` is larger for a memory that is more likely true then.
    """

    places: Places
    replaced: Matrix
    validity: npt.NDArray[np.float64]


def find_rivals(pool: CandidatePool, successors: Mapping[UUID, Sequence[UUID]] = MappingProxyType({})) -> Rivals:
    """Return the rivals among the most relevant candidates; `successors` name the memories that replace one for sure.

    A candidate without a known time has no rivals.
    """
    places = compared_places(pool)
    if successors:
        linked = {*successors, *(newer for each in successors.values() for newer in each)}
        more = [
            place for place, row in enumerate(pool.rows) if row["id"] in linked and np.isfinite(pool.created[place])
        ]
        places = np.array(list(dict.fromkeys([*places.tolist(), *more])), dtype=np.intp)
    statements = read_statements(pool, places)
    features = pair_features(pool, places, statements)
    log_odds = INTERCEPT + sum((FEATURE_WEIGHTS[name] * features[name] for name in FEATURE_WEIGHTS), np.array(0.0))
    probability = 1.0 / (1.0 + np.exp(-np.broadcast_to(log_odds, (len(places), len(places)))))
    has_common = (features["shared_words_older"] > 0.0) | (features["cosine"] >= COSINE_MIN)
    states_other = (features["other_value_newer"] > 0.0) | (features["reversal_newer"] > 0.0)
    probability = np.where(has_common & states_other, probability, 0.0)
    created = pool.created[places]
    # the features are those of (older, newer)
    probability = np.where(created[:, None] < created[None, :], probability, probability.T)
    known = _named_successors(pool, places, successors)
    likelier = np.maximum(probability, np.maximum(known, known.T))
    starts = start_times(created, statements)
    starts = np.where(_are_withdrawn(statements, created, starts, likelier >= VERSION_MIN), created, starts)
    queried = queried_time(pool, places, statements, starts)
    validity = queried.validity
    if queried.is_former:
        validity = _without_current(validity, likelier >= VERSION_MIN)
    later = validity[None, :] - validity[:, None]
    # of two memories with the same time, the link determines which is newer
    replaced = np.where(later > 0.0, likelier, np.where(later == 0.0, known, 0.0))
    np.fill_diagonal(replaced, 0.0)
    if len(places) > SUCCESSORS_MAX:
        least = np.partition(replaced, -SUCCESSORS_MAX, axis=1)[:, -SUCCESSORS_MAX]
        replaced = np.where(replaced >= least[:, None], replaced, 0.0)
    return Rivals(places, replaced, validity)


def compared_places(pool: CandidatePool) -> Places:
    """Return the places of the most relevant candidates with a known time, most relevant first."""
    strength = np.where(np.isfinite(pool.created), pool.strength, 0.0)
    places = np.argsort(-strength, kind="stable")[:COMPARED_MAX]
    return places[strength[places] > 0.0]


def read_statements(pool: CandidatePool, places: Places) -> list[Statement]:
    """Return the texts of these candidates as statements."""
    return [read_statement(pool.texts[place].body) for place in in_time(places.tolist())]


def pair_features(pool: CandidatePool, places: Places, statements: Sequence[Statement]) -> dict[str, Matrix]:
    """Return each feature as a matrix, (older, newer), of all pairs of these candidates."""
    relevance = pool.strength[places] / (pool.strength.max(initial=0.0) + _TINY)
    vectors = pool.vectors_of(places.tolist()).astype(np.float64)
    cosine = np.clip(inner_products(vectors, vectors), 0.0, 1.0)
    shared, own = _shared_words(statements)
    likeness = shared / (own[:, None] + own[None, :] - shared + _TINY)
    same_numbers, other_numbers = _values([one.numbers for one in statements])
    same_units, _ = _values([one.units for one in statements])
    _, other_identifiers = _values([one.identifiers for one in statements])
    rows = [pool.rows[place] for place in places.tolist()]
    days = pool.created[places] / SECONDS_PER_DAY
    is_turn = pool.is_turn[places].astype(np.float64)
    changes = np.array([one.has_change for one in statements], dtype=np.float64)
    reversals = np.array([one.has_reversal for one in statements], dtype=np.float64)
    lengths = np.log1p(np.array([len(pool.texts[place].body) for place in places.tolist()], dtype=np.float64))
    return {
        "cosine": cosine,
        "relevance_least": np.minimum(relevance[:, None], relevance[None, :]),
        "relevance_newer": _of_newer(relevance),
        "shared_words_older": shared / (own[:, None] + _TINY),
        "same_number": same_numbers,
        "other_number": other_numbers,
        "same_unit": same_units,
        "other_identifier": other_identifiers,
        "other_value_newer": _states_other(statements).astype(np.float64),
        "change_newer": _of_newer(changes),
        "reversal_newer": _of_newer(reversals),
        "days_apart": np.log1p(np.minimum(np.abs(days[:, None] - days[None, :]), DAYS_APART_MAX)),
        "length_older": _of_older(lengths),
        "nearness_rank": _worse_rank(cosine + likeness),
        "words_rank": _worse_rank(likeness),
        "message_older": _of_older(is_turn),
        "message_newer": _of_newer(is_turn),
        "same_session": _same_session(rows),
    }


def _of_older(column: npt.NDArray[np.float64]) -> Matrix:
    return np.repeat(column[:, None], len(column), axis=1)


def _of_newer(column: npt.NDArray[np.float64]) -> Matrix:
    return np.repeat(column[None, :], len(column), axis=0)


def _worse_rank(alike: Matrix) -> Matrix:
    """Return the logarithm (of 1 + rank) of the worse of the two ranks by similarity that each two have for each other.

    Rank 0 is the best.
    """
    unlike = -alike
    np.fill_diagonal(unlike, 1.0)
    order = np.argsort(unlike, axis=1, kind="stable")
    ranks, numbers = np.empty_like(alike), np.arange(len(alike))
    ranks[numbers[:, None], order] = np.log1p(numbers)  # few logarithms instead of one for each pair
    return np.asarray(np.maximum(ranks, ranks.T))


def _incidence(sets: Sequence[frozenset[str]], words: Collection[str]) -> Matrix:
    """Return sets x words: 1 if the set contains the word; `words` are all words of the sets, or more."""
    holds = np.zeros((len(sets), len(words)))
    if words:
        number_of = dict(zip(words, range(len(words)), strict=True))
        columns = [number_of[word] for word in chain.from_iterable(sets)]
        holds[np.repeat(np.arange(len(sets)), [len(each) for each in sets]), columns] = 1.0
    return holds


def _shared_words(statements: Sequence[Statement]) -> tuple[Matrix, npt.NDArray[np.float64]]:
    """Return the weight of the words that each two have in common, and of the words of each; rare words weigh more."""
    sets = [one.stems for one in statements]
    holds = _incidence(sets, sorted(frozenset().union(*sets)))
    weighted = holds * np.log((len(statements) + 1.0) / (holds.sum(axis=0) + 0.5))
    return inner_products(weighted, holds), weighted.sum(axis=1)


def _values(sets: Sequence[frozenset[str]]) -> tuple[Matrix, Matrix]:
    """Return 1 for two that have a value in common, and 1 for two that have values but none in common."""
    holds = _incidence(sets, frozenset().union(*sets))
    has_common = holds @ holds.T > 0.0
    has_any = np.array([bool(one) for one in sets], dtype=bool)
    are_other = has_any[:, None] & has_any[None, :] & ~has_common
    return has_common.astype(np.float64), are_other.astype(np.float64)


def _states_other(statements: Sequence[Statement]) -> npt.NDArray[np.bool_]:
    """Return whether the second states another value than the first, older one: a number, a name or a change."""
    numbers, names = [one.numbers for one in statements], [one.names for one in statements]
    all_names = frozenset().union(*names)
    stated = _incidence(numbers, frozenset().union(*numbers))
    named, said = _incidence(names, all_names), _incidence([one.words & all_names for one in statements], all_names)
    has_change = np.array([one.has_change for one in statements], dtype=bool)
    # what the newer one has beyond what the older one has
    more_numbers, more_names = (1.0 - stated) @ stated.T > 0.0, (1.0 - said) @ named.T > 0.0
    return np.asarray(has_change[None, :] | more_numbers | more_names)


def _are_withdrawn(
    statements: Sequence[Statement],
    created: npt.NDArray[np.float64],
    starts: npt.NDArray[np.float64],
    are_versions: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """Return whether a version with words of withdrawal was stored between an announcement and its date."""
    withdraws = np.array([one.has_withdrawal for one in statements], dtype=bool)
    is_between = (created[:, None] < created[None, :]) & (created[None, :] < starts[:, None])
    return np.asarray((withdraws[None, :] & is_between & are_versions).any(axis=1))


def _without_current(validity: npt.NDArray[np.float64], are_versions: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the validity in which the newest of several versions comes last."""
    has_newer = (are_versions & (validity[:, None] < validity[None, :])).any(axis=1)
    has_older = (are_versions & (validity[:, None] > validity[None, :])).any(axis=1)
    return np.where(has_older & ~has_newer, validity - LAST_SECONDS, validity)


def _same_session(rows: Sequence[Mapping[str, Any]]) -> Matrix:
    keys = [(row.get("partition_path"), row["session"]) if row.get("session") else None for row in rows]
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    numbers = np.array([number_of[key] if key else -1 - place for place, key in enumerate(keys)])
    return np.asarray(numbers[:, None] == numbers[None, :], dtype=np.float64)


def _named_successors(pool: CandidatePool, places: Places, successors: Mapping[UUID, Sequence[UUID]]) -> Matrix:
    """Return 1 if the second memory is a named successor of the first."""
    known = np.zeros((len(places), len(places)))
    if successors:
        number_of = {pool.rows[place]["id"]: number for number, place in enumerate(places.tolist())}
        for older, newer in successors.items():
            if older in number_of:
                known[number_of[older], [number_of[one] for one in newer if one in number_of]] = 1.0
    return known
