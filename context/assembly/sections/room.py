"""The room a section has, and what it made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from context.receipts.results import Block, CandidateOutcome, Exclusion
from context.services.assembly.model_catalog import encoding_for, scaled_count, stored_tokens
from context.services.packer import TokenCounter


@dataclass(frozen=True)
class SectionBudget:
    """Tokens of `model` that are left, those an item's marker takes, and what counts texts without a stored count."""

    tokens: int
    marker_tokens: int
    model: str
    counter: TokenCounter

    @property
    def encoding(self) -> str:
        """The encoding whose stored counts apply."""
        return encoding_for(self.model)

    def of(self, tokens: int) -> "SectionBudget":
        """The same with room for `tokens`."""
        return replace(self, tokens=tokens)

    def tokens_of(self, token_counts: Mapping[str, int]) -> int:
        """Tokens of a stored text for the model, its marker not counted."""
        return scaled_count(token_counts[self.encoding], self.model)

    @property
    def gate_budget(self) -> float:
        """Return the room in the unit of stored counts and markers, in which candidates are gated; never below 0."""
        return stored_tokens(max(self.tokens, 0), self.model)


@dataclass(frozen=True)
class MarkerTokenCounter:
    """Counts a text together with its marker: what an item costs."""

    counter: TokenCounter
    marker_tokens: int

    def count_tokens(self, content: str, model: str) -> int:
        """Tokens of `content` and of one marker."""
        return self.counter.count_tokens(content, model) + self.marker_tokens


@dataclass(frozen=True)
class Section:
    """What a section kept and left out, in order of importance; `tokens` are those it takes, with markers.

    `room` are the tokens it was allowed to take.
    `optimality` are the packer's total score and, where asked for, the best possible one (see `Packing`).
    """

    blocks: Sequence[Block] = ()
    omitted: Sequence[Exclusion] = ()
    tokens: int = 0
    candidates: Sequence[CandidateOutcome] = ()
    optimality: Mapping[str, float | None] | None = None
    room: int = 0
