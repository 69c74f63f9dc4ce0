"""The conductor of an outcome: which of a context's memories did the model's answer make use of?

The answer is never stored. Its sentences are embedded outside of any transaction; without an embedder its words alone
decide, with a warning.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context.feedback.votes import RecordedVotes, receipt_memories, record_implicit_votes
from context.receipts.results import ContextWarning
from context.services.feedback.votes import (
    SAMPLE_MEMORIES,
    AnswerOverlap,
    best_similarities,
    find_overlaps,
    leading_sentences,
)
from memories.embeddings.embedders import embedder_of
from memories.embeddings.providers import EmbeddingError
from memories.models import Memory, MemoryEmbedding, MemoryVersion
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

_ANSWER_CHARACTERS_MAX = 200_000
WORDS_ONLY = ContextWarning("embedder_unavailable", "The embedder is unavailable; only words were compared.")


@dataclass(frozen=True)
class AnswerUsage:
    """What an answer said about its context: how each memory recurred in it, and the votes that came of it."""

    receipt_id: UUID
    overlaps: Mapping[UUID, AnswerOverlap]
    given: RecordedVotes
    warnings: Sequence[ContextWarning] = ()

    @property
    def used(self) -> list[UUID]:
        """The memories that the answer made use of, in the order of the context."""
        return [memory_id for memory_id, overlap in self.overlaps.items() if overlap.is_used]


def record_answer_usage(
    *, tenant_id: UUID, receipt_id: UUID, answer: str, reach: str = "", by: Actor, now: datetime
) -> AnswerUsage:
    """Count the memories of a context that the model's `answer` used, each at most once a day. Opens its own scopes.

    Raises `InvalidInput` for an answer that is no text, `NotFound` for a context outside of `reach`.
    """
    _check(answer)
    with tenant_scope(tenant_id):
        versions = receipt_memories(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach)
        texts = _texts(tenant_id, versions)
        sample = Memory.objects.for_tenant(tenant_id).live(now).newest_texts(SAMPLE_MEMORIES) if texts else []
    similarities, warnings = _similarities(tenant_id, versions, answer) if texts else ({}, [])
    overlaps = find_overlaps(texts, answer, sample=sample, similarities=similarities)
    outcome = AnswerUsage(receipt_id, overlaps, RecordedVotes(), warnings)
    if not outcome.used:
        return outcome
    with tenant_scope(tenant_id):
        given = record_implicit_votes(
            outcome.used, tenant_id=tenant_id, receipt_id=receipt_id, reach=reach, by=by, now=now
        )
        _audit(tenant_id, given, by, now)
    return AnswerUsage(receipt_id, overlaps, given, warnings)


def _check(answer: str) -> None:
    if not answer.strip():
        raise InvalidInput("blank", "An answer is needed.", "answer")
    if len(answer) > _ANSWER_CHARACTERS_MAX:
        raise InvalidInput("too_long", f"An answer has at most {_ANSWER_CHARACTERS_MAX:,} characters.", "answer")
    if any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in answer):
        raise InvalidInput("bad_characters", "The text holds NUL or half of a surrogate pair.", "answer")


def _texts(tenant_id: UUID, versions: Mapping[UUID, int]) -> dict[UUID, str]:
    """What each memory said in the context, in its order; those erased since are left out."""
    numbers = set(versions.values())
    superseded = MemoryVersion.objects.for_tenant(tenant_id).texts_of(versions, numbers)
    current = Memory.objects.for_tenant(tenant_id).texts_of(versions, numbers)
    found = {(memory_id, version): text for memory_id, version, text in (*superseded, *current)}
    return {pair[0]: found[pair] for pair in versions.items() if pair in found}


def _similarities(
    tenant_id: UUID, versions: Mapping[UUID, int], answer: str
) -> tuple[dict[UUID, float], list[ContextWarning]]:
    """The best cosine of any sentence to each memory's stored vector."""
    sentences = leading_sentences(answer)
    if not sentences:
        return {}, []
    try:
        embedder = embedder_of(tenant_id)
        # as many as one call takes
        vectors = embedder.embed(sentences[: embedder.batch_size])
    except EmbeddingError as error:
        logger.warning("An outcome is compared by words alone: %s", error.detail)
        return {}, [WORDS_ONLY]
    with tenant_scope(tenant_id):
        rows = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(set(versions.items()), embedder.name)
        stored = {pk: vector for pk, version, vector in rows.vectors() if versions[pk] == version}
    return best_similarities(stored, vectors), []


def _audit(tenant_id: UUID, given: RecordedVotes, by: Actor, now: datetime) -> None:
    if not given.votes:
        return
    record_audit(
        tenant_id=tenant_id,
        by=by,
        now=now,
        verb="record_outcome",
        target_kind="memory",
        target_ids=[vote.memory_id for vote in given.votes],
        fields=["usefulness_score"],
    )
