"""The orchestrator of an outcome: find the memories of a context that the model's answer used.

The answer is never stored. Its sentences are embedded outside of any transaction; without an embedder only words are
compared, with a warning.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from context.feedback.votes import RecordedVotes, audit_votes, receipt_memories, record_implicit_votes
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
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import last_write_scope, tenant_scope

logger = logging.getLogger(__name__)

WORDS_ONLY = ContextWarning("embedder_unavailable", "The embedder is unavailable; only words were compared.")


@dataclass(frozen=True)
class AnswerUsage(RecordedVotes):
    """How much of each memory of a context is in the answer, in the order of the context, and the recorded votes."""

    overlaps: Mapping[UUID, AnswerOverlap] = field(default_factory=dict)
    warnings: Sequence[ContextWarning] = ()

    @property
    def used(self) -> list[UUID]:
        return [memory_id for memory_id, overlap in self.overlaps.items() if overlap.is_used]


def record_answer_usage(
    *, tenant_id: UUID, receipt_id: UUID, answer: str, reach: str = "", by: Actor, now: datetime
) -> AnswerUsage:
    """Count the memories of a context that the model's `answer` used, each at most once a day. Opens its own scopes.

    Raises `NotFound` for a context outside of `reach`.
    """
    with tenant_scope(tenant_id):
        versions = receipt_memories(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach)
        texts = _texts(tenant_id, versions)
        sample = Memory.objects.for_tenant(tenant_id).live(now).newest_texts(SAMPLE_MEMORIES) if texts else []
    similarities, warnings = _similarities(tenant_id, versions, answer) if texts else ({}, [])
    overlaps = find_overlaps(texts, answer, sample=sample, similarities=similarities)
    usage = AnswerUsage(overlaps=overlaps, warnings=warnings)
    if not usage.used:
        return usage
    with last_write_scope(tenant_id):
        given = record_implicit_votes(
            usage.used, tenant_id=tenant_id, receipt_id=receipt_id, reach=reach, by=by, now=now
        )
        audit_votes(tenant_id, "record_outcome", given.votes, by=by, now=now)
    return replace(usage, **vars(given))


def _texts(tenant_id: UUID, versions: Mapping[UUID, int]) -> dict[UUID, str]:
    """Return the text of each memory as the context showed it, in its order, without memories erased since."""
    numbers = set(versions.values())
    superseded = MemoryVersion.objects.for_tenant(tenant_id).texts_of(versions, numbers)
    current = Memory.objects.for_tenant(tenant_id).texts_of(versions, numbers)
    found = {(memory_id, version): text for memory_id, version, text in (*superseded, *current)}
    return {pair[0]: found[pair] for pair in versions.items() if pair in found}


def _similarities(
    tenant_id: UUID, versions: Mapping[UUID, int], answer: str
) -> tuple[dict[UUID, float], list[ContextWarning]]:
    sentences = leading_sentences(answer)
    if not sentences:
        return {}, []
    try:
        embedder = embedder_of(tenant_id)
        # One call accepts at most this many texts.
        vectors = embedder.embed(sentences[: embedder.batch_size])
    except EmbeddingError as error:
        logger.warning("An outcome is compared by words only: %s", error.detail)
        return {}, [WORDS_ONLY]
    with tenant_scope(tenant_id):
        rows = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(set(versions.items()), embedder.name)
        stored = {pk: vector for pk, version, vector in rows.vectors() if versions[pk] == version}
    return best_similarities(stored, vectors), []
