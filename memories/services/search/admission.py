"""Choose candidates whose tokens are not all known: read those that are probably admitted, then choose again
(ADR-0185).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from memories.services.search.planner import TOKENS_PER_MEMORY

#: The tokens of a memory that only the vector retriever found, before it is read.
UNKNOWN_TOKENS = -1
#: What such a memory counts with, as a share of the mean of the others: reading a few rows too many costs less than
#: reading twice.
UNREAD_SHARE = 0.75


class Admission:
    """The memories that a gate admits; tokens become known as memories are read.

    `results` are those of the query; `chosen` are the pinned ones followed by these.
    """

    def __init__(
        self,
        pinned: Sequence[int],
        choose: Callable[[Mapping[int, int], int], Sequence[int]],
        tokens: dict[int, int],
        known: Collection[int],
        requested: Iterable[int] = (),
    ) -> None:
        """`choose` returns results, best first, from known tokens and the tokens assumed for an unread memory.

        `known` are the tokens of memories found by words; the texts of `requested` are already being read.
        """
        self._unread_tokens = int(UNREAD_SHARE * sum(known) / len(known)) if known else TOKENS_PER_MEMORY
        self._pinned, self._choose_results, self._tokens = pinned, choose, tokens
        self._requested = set(requested)
        self._choose()

    def _choose(self) -> None:
        self.results = self._choose_results(self._tokens, self._unread_tokens)
        self.chosen = list(dict.fromkeys([*self._pinned, *self.results]))

    def unread(self) -> list[int]:
        """Return the chosen memories that have not been requested; they count as requested afterwards."""
        unread = [key for key in self.chosen if key not in self._requested]
        self._requested.update(unread)
        return unread

    def learn(self, read: Mapping[int, int]) -> None:
        """Choose again with the tokens of memories that were read, unless all were known."""
        if any(self._tokens.get(key) == UNKNOWN_TOKENS for key in read):
            self._tokens.update(read)
            self._choose()
