"""Near-duplicates: texts with similar vectors that make the same statement (ADR-0062, ADR-0095)."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from memories.services.hygiene.statements import ParsedStatement, are_equivalent, read_statement
from memories.services.time_limits import in_time

#: Multiplications of one product. Below 2^18 the linear algebra library starts no threads, which on a busy machine
#: take far longer to start than the work takes.
MAX_PRODUCT = 1 << 18
#: Maximum texts of near vectors that are read, in the given order, their characters, and the pairs that are compared
#: word by word; further ones do not count as near-duplicates.
TEXTS_READ_MAX, CHARACTERS_READ_MAX, PAIRS_COMPARED_MAX = 300, 30_000, 1_000

MemoryKey = TypeVar("MemoryKey", bound=Hashable)
SimilarityFlags = npt.NDArray[np.bool_]


class NearDuplicates:
    """The pairs of items that state the same and whose vectors have a cosine above a threshold; `has_any` if there are.

    An item without a vector is in no pair.
    """

    def __init__(
        self, vectors: Mapping[Any, npt.NDArray[Any]], threshold: float, text_of: Callable[[Any], str] = str
    ) -> None:
        """`vectors` by key have unit length and one dimension; `text_of` is called only for near vectors."""
        self._places: dict[Any, int] = {}
        self._is_near = _pairs_above(_as_rows([*vectors.values()]), threshold)
        if self._is_near.any():
            _keep_equivalent(self._is_near, [text_of(key) for key in vectors])
            self._places = {key: place for place, key in enumerate(vectors)}
        self.has_any = bool(self._is_near.any())

    def twin_of(self, key: Hashable, others: Iterable[MemoryKey]) -> MemoryKey | None:
        """Return the first near-duplicate of `key` among `others`, excluding `key`; None if there is none."""
        if not self.has_any:
            return None
        place = self._places.get(key)
        if place is None:
            return None
        near = self._is_near[place]
        return next((other for other in others if other in self._places and near[self._places[other]]), None)

    def repeats(self, ranked: Sequence[MemoryKey], tokens: Mapping[MemoryKey, int] | None = None) -> set[MemoryKey]:
        """Return those of `ranked` (best first) that nearly repeat a better one that is not itself a repeat.

        With `tokens`, a better one counts only if it is not longer, because it is then preferred at any budget.
        """
        repeated: set[MemoryKey] = set()
        if not self.has_any:
            return repeated
        stays = np.full(len(self._places), np.inf)
        for key in ranked:
            place = self._places.get(key)
            if place is None:
                continue
            length = 0.0 if tokens is None else float(tokens[key])
            if (self._is_near[place] & (stays <= length)).any():
                repeated.add(key)
            else:
                stays[place] = length
        return repeated


def _keep_equivalent(is_near: SimilarityFlags, texts: Sequence[str]) -> None:
    """Clear the flags of pairs that do not state the same."""
    statements = dict[int, ParsedStatement]()
    forms = defaultdict[Hashable, list[int]](list)
    characters = 0
    for place in in_time(np.flatnonzero(is_near.any(axis=1))[:TEXTS_READ_MAX].tolist()):
        characters += len(texts[place])
        if characters > CHARACTERS_READ_MAX:
            break
        statements[place] = read_statement(texts[place])
        forms[statements[place].form].append(place)
    alike = defaultdict[str, list[list[int]]](list)
    for places in forms.values():
        alike[statements[places[0]].key].append(places)
    equal = np.zeros_like(is_near)
    for places in forms.values():
        equal[np.ix_(places, places)] = True
    pairs = (pair for several in alike.values() for pair in combinations(several, 2))
    for one, other in in_time(islice(pairs, PAIRS_COMPARED_MAX)):
        if are_equivalent(statements[one[0]], statements[other[0]]):
            equal[np.ix_(one, other)] = equal[np.ix_(other, one)] = True
    is_near &= equal


def _as_rows(vectors: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
    if not vectors:
        return np.zeros((0, 0), dtype=np.float32)
    # half the time of an array of arrays
    return np.concatenate(vectors, dtype=np.float32, casting="same_kind").reshape(len(vectors), -1)


def _pairs_above(vectors: npt.NDArray[np.float32], threshold: float) -> SimilarityFlags:
    count = len(vectors)
    flags = np.zeros((count, count), dtype=np.bool_)
    if not count or threshold >= 1:  # only rounding errors exceed 1
        return flags
    step = max(math.isqrt(MAX_PRODUCT // max(vectors.shape[1], 1)), 1)
    for top in range(0, count, step):
        rows = slice(top, top + step)
        for left in range(top, count, step):
            columns = slice(left, left + step)
            flags[rows, columns] = vectors[rows] @ vectors[columns].T > np.float32(threshold)
    flags |= flags.T
    np.fill_diagonal(flags, val=False)
    return flags
