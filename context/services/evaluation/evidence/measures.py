"""What one context holds of the evidence that its question names (ADR-0079)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from context.services.evaluation.answer_words import answer_word_share, significant_words


@dataclass(frozen=True)
class QuestionMeasures:
    """One question at one budget.

    `evidence` memories were named and `held` of them stand in the context. `evidence_rank` and `stale_rank` are the
    places, from 1, of the first memory of either kind by score; None where the context holds none. `stale` were named
    as wrong for this question. `containment` is the share (0..1) of the answer's words in the text, None for an answer
    without words. `tokens` are those of the whole text.
    """

    evidence: int
    held: int
    evidence_rank: int | None
    stale: int
    stale_rank: int | None
    containment: float | None
    tokens: int
    milliseconds: float

    @property
    def recall(self) -> float:
        """The share of the evidence that is held."""
        return self.held / self.evidence

    @property
    def is_full(self) -> bool:
        """Whether all evidence is held."""
        return self.held == self.evidence

    @property
    def reciprocal_rank(self) -> float:
        """1 / the place of the first evidence; 0 without any."""
        return 1 / self.evidence_rank if self.evidence_rank else 0.0

    @property
    def is_current_first(self) -> bool | None:
        """Whether evidence stands before everything stale; None where the question names nothing stale.

        A context without the evidence fails, whether or not it holds something stale.
        """
        if not self.stale:
            return None
        return self.evidence_rank is not None and (self.stale_rank is None or self.evidence_rank < self.stale_rank)


def measure_retrieved_evidence(
    ranked: Sequence[Hashable],
    *,
    evidence: Collection[Hashable],
    stale: Collection[Hashable] = (),
    answer: str = "",
    text: str = "",
    tokens: int = 0,
    milliseconds: float = 0.0,
) -> QuestionMeasures:
    """Compare a context with what was asked for. `ranked` are the ids of its memories, the highest score first.

    Raises `ValueError` where no evidence is named.
    """
    if not evidence:
        raise ValueError("a question names at least one memory as evidence")
    words = significant_words(answer)
    return QuestionMeasures(
        evidence=len(set(evidence)),
        held=len(set(evidence) & set(ranked)),
        evidence_rank=_first_rank(ranked, evidence),
        stale=len(set(stale)),
        stale_rank=_first_rank(ranked, stale),
        containment=answer_word_share(words, text) if words else None,
        tokens=tokens,
        milliseconds=milliseconds,
    )


def _first_rank(ranked: Sequence[Hashable], wanted: Collection[Hashable]) -> int | None:
    return next((rank for rank, memory_id in enumerate(ranked, start=1) if memory_id in wanted), None)
