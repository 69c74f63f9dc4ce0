"""What the tests of scoring profiles share: numbers, drafts, and an evaluation that proves them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from context.models import EvaluationRun, ScoringProfileVersion
from context.services.profiles.scoring_profiles import ADR_0040
from memories.models import Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import CONTEXT_NOW

KIM = Actor.operator(7, "Kim")
BY_WORDS = {"relevance": 0.7, "recency": 0.1, "usefulness": 0.1, "confidence": 0.1}


def new_version(tenant: Tenant, name: str, version: int = 1, **fields: Any) -> ScoringProfileVersion:
    """A row as it is, past every verb."""
    values = {"numbers": {**ADR_0040.to_numbers(), "weights": BY_WORDS}, "recorded_from": CONTEXT_NOW} | fields
    with tenant_scope(tenant.pk):
        return ScoringProfileVersion.objects.create(tenant=tenant, name=name, version=version, **values)


def published(tenant: Tenant, name: str, version: int = 1, **fields: Any) -> ScoringProfileVersion:
    """A published version with an evaluation of its numbers."""
    numbers = fields.setdefault("numbers", {**ADR_0040.to_numbers(), "weights": BY_WORDS})
    run = finished_evaluation(tenant, numbers)
    return new_version(
        tenant,
        name,
        version,
        state="published",
        adr_reference="ADR-0078",
        evaluation_run=run,
        published_at=CONTEXT_NOW,
        **fields,
    )


def finished_evaluation(
    tenant: Tenant, numbers: Mapping[str, Any], *, at: datetime = CONTEXT_NOW, state: str = "done", **fields: Any
) -> EvaluationRun:
    """An evaluation of these numbers."""
    values: dict[str, Any] = {
        "corpus_kind": "file", "corpus_name": "questions", "corpus_sha256": "0" * 64, "profile_name": "some",
        "profile_version": 1, "packer": "greedy", "ordering": "top_down", "budgets": [250, 1000],
    }  # fmt: skip
    with tenant_scope(tenant.pk):
        return EvaluationRun.objects.create(
            tenant=tenant, state=state, profile_numbers=dict(numbers), created_at=at, **values | fields
        )
