"""What operators have to act on, in one tenant or in several: the backlogs of every app."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from compaction.pipeline.backlog import failed_run_backlogs, full_session_backlogs, review_backlogs
from context.evaluation.backlog import failed_evaluation_backlogs
from memories.embeddings.status import failed_embedding_backlogs
from memories.tenancy.queries.rows import Backlog


@dataclass(frozen=True)
class ActionItemKind:
    """A kind of backlog: `read` counts it by tenant, `page` with `query` shows it."""

    name: str
    column: str
    singular: str
    plural: str
    advice: str
    page: str
    read: Callable[[Collection[UUID]], Mapping[UUID, Backlog]]
    query: Mapping[str, str]
    icon: str
    is_failure: bool = False

    def address(self, tenant_id: UUID) -> str:
        """Return the address of the page that shows them."""
        address = reverse(self.page, args=[tenant_id])
        return f"{address}?{urlencode(self.query)}" if self.query else address


ACTION_ITEM_KINDS: Sequence[ActionItemKind] = (
    ActionItemKind(
        "reviews",
        "Reviews",
        "summary waits for review",
        "summaries wait for review",
        "Approve, edit or reject it. The session does not shrink before that.",
        "reviews",
        review_backlogs,
        {},
        "check",
    ),
    ActionItemKind(
        "sessions",
        "Full sessions",
        "session above its warning threshold",
        "sessions above their warning threshold",
        "Compact it, or its next context may be truncated.",
        "sessions",
        full_session_backlogs,
        {"state": "over", "sort": "-pressure"},
        "stack-2",
    ),
    ActionItemKind(
        "runs",
        "Failed jobs",
        "compaction or roll-up failed",
        "compactions and roll-ups failed",
        "Open it to see the reason and retry.",
        "jobs",
        failed_run_backlogs,
        {"kind": "runs", "state": "failed"},
        "alert-triangle",
        is_failure=True,
    ),
    ActionItemKind(
        "evaluations",
        "Failed evaluations",
        "evaluation failed",
        "evaluations failed",
        "Open it to see the reason and resume.",
        "jobs",
        failed_evaluation_backlogs,
        {"kind": "evaluation", "state": "failed"},
        "gauge",
        is_failure=True,
    ),
    ActionItemKind(
        "embeddings",
        "Failed embeddings",
        "memory has no vector",
        "memories have no vector",
        "The embedder rejected the text. Only lexical search finds the memory.",
        "memories",
        failed_embedding_backlogs,
        {"state": "failed"},
        "brain",
        is_failure=True,
    ),
)


@dataclass(frozen=True)
class ActionItem:
    """The backlog of one kind in a tenant; empty where `backlog.count` is 0."""

    kind: ActionItemKind
    backlog: Backlog
    address: str

    @property
    def text(self) -> str:
        """The kind in singular or plural."""
        return self.kind.singular if self.backlog.count == 1 else self.kind.plural


def action_items(tenant_ids: Collection[UUID]) -> dict[UUID, list[ActionItem]]:
    """Return every kind of each tenant, in the order of `ACTION_ITEM_KINDS`. Seven queries, in a scope for them."""
    found = [(kind, kind.read(tenant_ids)) for kind in ACTION_ITEM_KINDS]
    return {
        tenant_id: [
            ActionItem(kind, counts.get(tenant_id, Backlog()), kind.address(tenant_id)) for kind, counts in found
        ]
        for tenant_id in tenant_ids
    }
