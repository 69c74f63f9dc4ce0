"""What needs somebody now, in one tenant or in many: composed of what each app tells of its own work."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from compaction.pipeline.backlog import failed_run_backlogs, full_session_backlogs, review_backlogs
from context.evaluation.backlog import failed_evaluation_backlogs
from memories.embeddings.backlog import failed_embedding_backlogs
from memories.tenancy.queries.backlogs import Backlog


@dataclass(frozen=True)
class ActionItemKind:
    """One sort of thing that waits: `read` counts it by tenant, `page` with `query` is where it is dealt with."""

    name: str
    column: str
    one: str
    many: str
    advice: str
    page: str
    read: Callable[[Collection[UUID]], Mapping[UUID, Backlog]]
    query: Mapping[str, str]
    icon: str
    is_fault: bool = False

    def address(self, tenant_id: UUID) -> str:
        """Where a tenant's are dealt with."""
        address = reverse(self.page, args=[tenant_id])
        return f"{address}?{urlencode(self.query)}" if self.query else address


ACTION_ITEM_KINDS: Sequence[ActionItemKind] = (
    ActionItemKind(
        "reviews",
        "Reviews",
        "summary waits for review",
        "summaries wait for review",
        "Approve, edit or reject it. Until then the session stays as full as it is.",
        "reviews",
        review_backlogs,
        {},
        "check",
    ),
    ActionItemKind(
        "sessions",
        "Full sessions",
        "session is over its warning",
        "sessions are over their warning",
        "Compact it, or its next context may have to be cut short.",
        "sessions",
        full_session_backlogs,
        {"state": "over", "sort": "-pressure"},
        "stack-2",
    ),
    ActionItemKind(
        "runs",
        "Failed runs",
        "compaction or roll-up failed",
        "compactions and roll-ups failed",
        "The reason stands beside it. It can be tried again.",
        "jobs",
        failed_run_backlogs,
        {"kind": "runs", "state": "failed"},
        "alert-triangle",
        is_fault=True,
    ),
    ActionItemKind(
        "evaluations",
        "Failed evaluations",
        "evaluation failed",
        "evaluations failed",
        "The reason stands beside it. It goes on from where it stopped.",
        "jobs",
        failed_evaluation_backlogs,
        {"kind": "evaluation", "state": "failed"},
        "gauge",
        is_fault=True,
    ),
    ActionItemKind(
        "embeddings",
        "Failed embeddings",
        "memory has no vector",
        "memories have no vector",
        "The embedder refused the text. Until it takes it, the memory is found by its words alone.",
        "memories",
        failed_embedding_backlogs,
        {"state": "failed"},
        "brain",
        is_fault=True,
    ),
)


@dataclass(frozen=True)
class ActionItem:
    """How much of a kind waits in a tenant; nothing does where `backlog.count` is 0."""

    kind: ActionItemKind
    backlog: Backlog
    address: str

    @property
    def words(self) -> str:
        """The kind in the number that fits."""
        return self.kind.one if self.backlog.count == 1 else self.kind.many


def action_items(tenant_ids: Collection[UUID]) -> dict[UUID, list[ActionItem]]:
    """Every kind of each tenant, in the order of `ACTION_ITEM_KINDS`; inside a scope that reads them. Seven queries."""
    found = [(kind, kind.read(tenant_ids)) for kind in ACTION_ITEM_KINDS]
    return {
        tenant_id: [
            ActionItem(kind, counts.get(tenant_id, Backlog()), kind.address(tenant_id)) for kind, counts in found
        ]
        for tenant_id in tenant_ids
    }
