"""Action items of operators in one or several tenants: the backlogs of every app."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.utils import timezone

from compaction.pipeline.backlog import failed_run_backlogs, full_session_backlogs, review_backlogs
from context.evaluation.backlog import failed_evaluation_backlogs
from memories.embeddings.status import failed_embedding_backlogs
from memories.hygiene.findings import pair_backlogs
from memories.services.hygiene.rules import CONTRADICTION, NEAR_DUPLICATE_LIST
from memories.tenancy.queries.rows import Backlog
from memory_platform.web.navigation import tenant_page_url


@dataclass(frozen=True)
class ActionItem:
    """A kind of backlog: `read` counts it by tenant and `page` shows it. For one tenant, it contains the backlog."""

    name: str
    column: str
    nouns: tuple[str, str]
    advice: str
    read: Callable[[Collection[UUID]], Mapping[UUID, Backlog]]
    #: As `tenant_page_url` takes it.
    page: str
    icon: str
    is_failure: bool = False
    tenant_id: UUID | None = None
    backlog: Backlog = field(default_factory=Backlog)

    @property
    def address(self) -> str:
        """The URL of the page that shows the items."""
        return tenant_page_url(self.tenant_id, self.page)

    @property
    def text(self) -> str:
        """The name of the kind in singular or plural, by the number of items."""
        return self.nouns[self.backlog.count != 1]


ACTION_ITEM_KINDS: Sequence[ActionItem] = (
    ActionItem(
        "reviews",
        "Reviews",
        ("summary waits for review", "summaries wait for review"),
        "Approve a proposal to apply it. Mark an applied summary that lost a constraint as reviewed.",
        review_backlogs,
        "reviews",
        icon="checklist",
    ),
    ActionItem(
        "sessions",
        "Full sessions",
        ("session above its warning threshold", "sessions above their warning threshold"),
        "Compact it, or its next context may be truncated.",
        full_session_backlogs,
        "sessions?state=over&sort=-pressure",
        icon="stack-2",
    ),
    ActionItem(
        "contradictions",
        "Contradictions",
        ("pair of contradictory memories", "pairs of contradictory memories"),
        "Agents may receive the outdated one. Keep the one that is true.",
        lambda tenant_ids: pair_backlogs(tenant_ids, CONTRADICTION, now=timezone.now()),
        "hygiene-list/contradiction",
        icon="scale",
    ),
    ActionItem(
        "duplicates",
        "Near-duplicates",
        ("pair of near-duplicate memories", "pairs of near-duplicate memories"),
        "Both take up tokens. Merge them, or dismiss the pair.",
        lambda tenant_ids: pair_backlogs(tenant_ids, NEAR_DUPLICATE_LIST, now=timezone.now()),
        "hygiene-list/near_duplicate",
        icon="copy",
    ),
    ActionItem(
        "runs",
        "Failed jobs",
        ("compaction or roll-up failed", "compactions and roll-ups failed"),
        "Open it to see the reason and retry.",
        failed_run_backlogs,
        "jobs?kind=runs&state=failed",
        icon="alert-triangle",
        is_failure=True,
    ),
    ActionItem(
        "evaluations",
        "Failed evaluations",
        ("evaluation failed", "evaluations failed"),
        "Open it to see the reason and resume.",
        failed_evaluation_backlogs,
        "jobs?kind=evaluation&state=failed",
        icon="gauge",
        is_failure=True,
    ),
    ActionItem(
        "embeddings",
        "Failed embeddings",
        ("memory has no vector", "memories have no vector"),
        "The embedder rejected the text. Only lexical search finds the memory.",
        failed_embedding_backlogs,
        "memories?state=failed",
        icon="brain",
        is_failure=True,
    ),
)


def action_items(tenant_ids: Collection[UUID]) -> dict[UUID, list[ActionItem]]:
    """Return every kind of each tenant, in the order of `ACTION_ITEM_KINDS`. Nine queries, in a scope for them."""
    found = [(kind, kind.read(tenant_ids)) for kind in ACTION_ITEM_KINDS]
    return {
        each: [replace(kind, tenant_id=each, backlog=counts.get(each, kind.backlog)) for kind, counts in found]
        for each in tenant_ids
    }
