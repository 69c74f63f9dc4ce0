"""A short way to search in tests: flat options instead of a request with its search scope and candidate gate."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memories.models import Tenant
from memories.search.retrieval import CandidateGate, Retrieval, RetrievalRequest, retrieve, search_conditions
from memories.services.store.moments import PointInTime
from memories.store.search_scope import SearchScope


def retrieve_for_test(
    tenant: Tenant,
    query: str | None,
    *,
    now: datetime,
    token_budget: float = 4_000,
    overfetch_ratio: float = 1.25,
    partition: object = "",
    moment: PointInTime | None = None,
    exact: bool = False,
    segments: Mapping[str, str] | None = None,
    filters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Retrieval:
    """Return what `query` finds; other `options` are fields of `CandidateGate` or of `RetrievalRequest`."""
    scope = SearchScope(
        *(tenant.pk, str(partition), moment or PointInTime.now(now), exact, segments or {}),
        conditions=search_conditions(filters or {}),
    )
    names = {name for name in options if name in CandidateGate.__dataclass_fields__}
    gate = CandidateGate(token_budget, overfetch_ratio, **{name: options.pop(name) for name in names})
    return retrieve(RetrievalRequest(scope, query, gate, **options))
