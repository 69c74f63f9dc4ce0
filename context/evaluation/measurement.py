"""The measurement of one question: the context an agent would get, and how much of the evidence it includes.

Every context is a preview through the real assembly, so nothing is stored or counted.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.receipts.results import MEMORY, AssembledContext, ContextRequest
from context.services.evaluation.corpus import CorpusQuestion
from context.services.evaluation.evidence import measure_retrieved_evidence
from context.services.profiles.scoring_profiles import ScoringProfile
from context.services.scorer import SCORE_DECIMALS
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import PlatformError

_BY = Actor.system("evaluation")
#: The codes of warnings about contexts that lack a part of the search.
DEGRADED = (
    "embedder_unavailable",
    "no_embeddings",
    "search_failed",
    "pinned_failed",
    "successors_failed",
    "duplicates_failed",
)


class DegradedSearchError(PlatformError):
    """The context lacks a part of the search, so it cannot be measured."""


@dataclass(frozen=True)
class EvaluationQuestion(CorpusQuestion):
    """A question whose evidence and stale memories are rows. `as_of` is set if it is about an earlier time."""

    as_of: datetime | None = None


class EvaluationSettings(NamedTuple):
    """The tenant, scoring, packer, ordering and budgets (tokens) of every question of a run."""

    tenant_id: UUID
    scoring: ScoringProfile
    packer: str
    ordering: str
    budgets: Sequence[int]


def question_context(question: EvaluationQuestion, tenant_id: UUID, by: Actor, **settings: Any) -> AssembledContext:
    """Return the context of a question at its own time, as a preview; `settings` are fields of `ContextRequest`."""
    request = ContextRequest(
        query=question.text, partition=question.partition, as_of=question.as_of, preview=True, **settings
    )
    return assemble_context(request, ContextCaller(tenant_id, by, question.asked_at))


def measure_question(question: EvaluationQuestion, settings: EvaluationSettings) -> dict[str, Any]:
    """Return the measures at each budget, as a run stores them. Raises `DegradedSearchError`."""
    tenant_id, scoring, packer, ordering, budgets = settings
    same = {"scoring": scoring, "packer": packer, "ordering": ordering}
    return {
        str(budget): _measured(question, question_context(question, tenant_id, _BY, max_tokens=budget, **same))
        for budget in budgets
    }


def _measured(question: EvaluationQuestion, context: AssembledContext) -> dict[str, Any]:
    for notice in context.warnings:
        if notice.code in DEGRADED:
            raise DegradedSearchError("degraded_search", notice.detail)
    memories = [block for block in context.blocks if block.anchor.type == MEMORY]
    memories.sort(key=lambda block: block.score or 0.0, reverse=True)
    measured = measure_retrieved_evidence(
        [block.anchor.id for block in memories],
        evidence=question.evidence,
        stale=question.stale,
        answer=question.answer,
        text=context.text,
        tokens=context.budget.used,
        milliseconds=context.timings["total"],
    )
    score = round(sum(block.score or 0.0 for block in memories), SCORE_DECIMALS)
    return {"measured": asdict(measured), "score": score, "items": len(memories)}
