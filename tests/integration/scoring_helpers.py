"""Helpers of the tests of scoring profiles: settings, drafts, and the evaluation that publishing requires."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from context.models import EvaluationAnswer, EvaluationRun, ScoringProfileVersion
from context.services.profiles.scoring_profiles import ADR_0040
from memories.models import Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import CONTEXT_NOW

KIM = Actor.operator(7, "Kim")
ARGUMENT = {
    "context": "Agents ask about error codes, and recency buries old answers.",
    "decision": "Less weight for recency, more weight for relevance.",
    "consequences": "Old answers return. Questions about today need watching.",
}
REASON = "It loses some evidence and halves the time of a request."
_NUMBERS = count()
BY_WORDS = {"relevance": 0.7, "recency": 0.1, "usefulness": 0.1, "confidence": 0.1}


def new_version(tenant: Tenant, name: str, version: int = 1, **fields: Any) -> ScoringProfileVersion:
    """Return the row as stored, without any action."""
    values = {"numbers": {**ADR_0040.to_numbers(), "weights": BY_WORDS}, "recorded_from": CONTEXT_NOW} | fields
    with tenant_scope(tenant.pk):
        return ScoringProfileVersion.objects.create(tenant=tenant, name=name, version=version, **values)


def published(tenant: Tenant, name: str, version: int = 1, **fields: Any) -> ScoringProfileVersion:
    """A published version with an evaluation of its settings."""
    numbers = fields.setdefault("numbers", {**ADR_0040.to_numbers(), "weights": BY_WORDS})
    run = finished_evaluation(tenant, numbers)
    return new_version(
        tenant,
        name,
        version,
        state="published",
        argument={**ARGUMENT, "reason": ""},
        evaluation_run=run,
        published_at=CONTEXT_NOW,
        **fields,
    )


def prove(
    tenant: Tenant,
    numbers: Mapping[str, Any],
    in_use: Mapping[str, Any] | None = None,
    *,
    shares: Sequence[float] = (0.9, 0.8) * 20,
    base_shares: Sequence[float] = (0.5,) * 40,
    **fields: Any,
) -> EvaluationRun:
    """Store evaluations of these settings and of those in use (adr-0040), so that the version may be published."""
    finished_evaluation(tenant, in_use or ADR_0040.to_numbers(), shares=base_shares, **fields)
    return finished_evaluation(tenant, numbers, shares=shares, **fields)


def finished_evaluation(
    tenant: Tenant,
    numbers: Mapping[str, Any],
    *,
    at: datetime = CONTEXT_NOW,
    state: str = "done",
    shares: Sequence[float] = (0.5,) * 40,
    **fields: Any,
) -> EvaluationRun:
    """An evaluation of these settings; `shares` are those of the evidence (in tenths) by question."""
    values: dict[str, Any] = {
        "corpus_kind": "file", "corpus_name": "questions", "corpus_sha256": "0" * 64, "profile_name": "some",
        "profile_version": 1, "packer": "greedy", "ordering": "top_down", "budgets": [250, 1000],
    }  # fmt: skip
    values = {**values, "total": len(shares), "done": len(shares)} | fields
    with tenant_scope(tenant.pk):
        created_at = at + timedelta(milliseconds=next(_NUMBERS))
        run = EvaluationRun.objects.create(
            tenant=tenant, state=state, profile_numbers=dict(numbers), created_at=created_at, **values
        )
        EvaluationAnswer.objects.bulk_create(
            EvaluationAnswer(
                tenant=tenant, run=run, position=place, question_id=f"q{place}",
                measures=_measures(run.budgets, share),
            )
            for place, share in enumerate(shares)
        )  # fmt: skip
        return run


def _measures(budgets: Sequence[int], share: float) -> dict[str, Any]:
    ranks: dict[str, Any] = {"evidence_rank": 1 if share else None, "stale": 0, "stale_rank": None}
    others = {"containment": None, "tokens": 90, "milliseconds": 2.0}
    measured = {**ranks, "evidence": 10, "held": round(10 * share), **others}
    return {str(budget): {"measured": measured, "score": 1.0, "items": 3} for budget in budgets}
