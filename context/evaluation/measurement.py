"""The measurement of one question: the context an agent would get, and how much of the evidence it includes.

Every context is a preview through the real assembly, so nothing is stored or counted.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.receipts.results import MEMORY, AssembledContext, ContextRequest
from context.services.evaluation.evidence import measure_retrieved_evidence
from context.services.profiles.scoring_profiles import ScoringProfile
from context.services.scorer import SCORE_DECIMALS
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import PlatformError

_BY = Actor.system("evaluation")
#: Warnings of contexts that are worse than usual.
DEGRADED = ("embedder_unavailable", "no_embeddings", "search_failed", "pinned_failed", "duplicates_failed")


class DegradedSearchError(PlatformError):
    """The context lacks a part of the search, so it cannot be measured."""


@dataclass(frozen=True)
class EvaluationQuestion:
    """A question with its memories as rows: `wanted` is the evidence, `stale` answered it at another time.

    `as_of` is set if some memories are younger than the question.
    """

    id: str
    text: str
    now: datetime
    wanted: frozenset[UUID]
    stale: frozenset[UUID] = frozenset()
    partition: str = ""
    category: str = ""
    answer: str = ""
    as_of: datetime | None = None


@dataclass(frozen=True)
class EvaluationSettings:
    """The tenant, scoring, packer, ordering and budgets (tokens) of every question of a run."""

    tenant_id: UUID
    scoring: ScoringProfile
    packer: str
    ordering: str
    budgets: Sequence[int] = field(default_factory=list)


def measure_question(question: EvaluationQuestion, settings: EvaluationSettings) -> dict[str, Any]:
    """Return the measures at each budget, as a run stores them. Raises `DegradedSearchError`."""
    return {str(budget): _measured(question, _context_of(question, settings, budget)) for budget in settings.budgets}


def _context_of(question: EvaluationQuestion, settings: EvaluationSettings, budget: int) -> AssembledContext:
    request = ContextRequest(
        query=question.text,
        partition=question.partition,
        max_tokens=budget,
        packer=settings.packer,
        ordering=settings.ordering,
        as_of=question.as_of,
        scoring=settings.scoring,
        preview=True,
    )
    context = assemble_context(request, tenant_id=settings.tenant_id, reach="", actor=_BY, now=question.now)
    for notice in context.warnings:
        if notice.code in DEGRADED:
            raise DegradedSearchError("degraded_search", notice.detail)
    return context


def _measured(question: EvaluationQuestion, context: AssembledContext) -> dict[str, Any]:
    memories = [block for block in context.blocks if block.anchor.type == MEMORY]
    memories.sort(key=lambda block: block.score or 0.0, reverse=True)
    measured = measure_retrieved_evidence(
        [block.anchor.id for block in memories],
        evidence=[str(memory_id) for memory_id in question.wanted],
        stale=[str(memory_id) for memory_id in question.stale],
        answer=question.answer,
        text=context.text,
        tokens=context.budget.used,
        milliseconds=context.timings["total"],
    )
    score = round(sum(block.score or 0.0 for block in memories), SCORE_DECIMALS)
    return {"measured": asdict(measured), "score": score, "items": len(memories)}
