"""Scoring for one question by one profile: mappings of memories in, scores out, best first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context.services.assembly.profiled_scorer import ProfiledScorer, ScoringQuestion
from context.services.profiles.scoring_profiles import ScoringProfile
from context.services.scorer import MemoryScorer, ScoredMemory
from memories.embeddings.providers.protocol import EmbeddingVectors


@dataclass(frozen=True)
class QueryScorer:
    """By which numbers memories are ranked, and for which question; ages are reckoned from when it was asked.

    `vectors` are those of the memories, by id, where the profile compares them with each other.
    """

    profile: ScoringProfile
    question: ScoringQuestion
    vectors: Mapping[UUID, EmbeddingVectors] = field(default_factory=dict)

    def score(self, memories: Sequence[Mapping[str, Any]]) -> Sequence[ScoredMemory]:
        """The memories with their scores, highest first; by the default profile as ADR-0040 gives them."""
        if self.profile.is_default:
            return MemoryScorer(clock=lambda: self.question.asked_at).score(memories)
        return ProfiledScorer(self.profile).score(memories, self.question, self.vectors)
