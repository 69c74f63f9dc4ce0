"""Asking one question of a corpus: the context that an agent would get, and what of the evidence it holds.

Every context is a preview through the real assembly, so nothing is stored and nothing is counted.
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
#: With one of these a context is not what agents get from day to day.
DEGRADED = ("embedder_unavailable", "no_embeddings", "search_failed", "pinned_failed", "duplicates_failed")


class DegradedSearchError(PlatformError):
    """A context that lacks a part of the search measures nothing."""


@dataclass(frozen=True)
class EvaluationQuestion:
    """A question with its memories as rows: `wanted` is the evidence, `stale` what answered it at another time.

    `as_of` is set where memories exist that are younger than the question: it is then asked of what was true.
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
    """How every question of a run is asked: of which tenant, scored and packed how, at which budgets (tokens)."""

    tenant_id: UUID
    scoring: ScoringProfile
    packer: str
    ordering: str
    budgets: Sequence[int] = field(default_factory=list)


def measure_question(question: EvaluationQuestion, setting: EvaluationSettings) -> dict[str, Any]:
    """What was measured at each budget, as a run keeps it. Raises `DegradedSearchError` where a part did not work."""
    return {str(budget): _measured(question, _context_of(question, setting, budget)) for budget in setting.budgets}


def _context_of(question: EvaluationQuestion, setting: EvaluationSettings, budget: int) -> AssembledContext:
    request = ContextRequest(
        query=question.text,
        partition=question.partition,
        max_tokens=budget,
        packer=setting.packer,
        ordering=setting.ordering,
        as_of=question.as_of,
        scoring=setting.scoring,
        preview=True,
    )
    context = assemble_context(request, tenant_id=setting.tenant_id, reach="", actor=_BY, now=question.now)
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
