"""Reading sessions as operators want them: filtered; and what waits for somebody."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from compaction.models import Compaction, Run, Session
from compaction.policies import Policies, paired
from compaction.querysets import SessionQuerySet
from context.services.compaction_policy import CompactionPolicy

#: The fullest sessions that are looked at one by one; so many over their threshold are "as many or more".
FULLEST_READ_MAX = 200
CLOSED, EVERY, OVER = "closed", "all", "over"


@dataclass(frozen=True)
class SessionFilter:
    """How the list is narrowed. `state` is open (""), over (its warning), closed or all; `least_pressure` a share."""

    partition: str = ""
    state: str = ""
    least_pressure: float = 0.0

    def apply(self, rows: SessionQuerySet) -> SessionQuerySet:
        rows = rows.within(self.partition).with_pressure().with_current()
        if self.state not in (EVERY, OVER):
            rows = rows.closed() if self.state == CLOSED else rows.open()
        return rows.at_least(self.least_pressure) if self.least_pressure else rows

    @property
    def is_any(self) -> bool:
        """Whether anything is filtered."""
        return bool(self.partition or self.state or self.least_pressure)


@dataclass(frozen=True)
class Waiting:
    """What waits for somebody in a tenant."""

    sessions_over_warning: int
    is_more: bool
    reviews: int
    failed_runs: int
    sessions: int


def sessions_in(tenant_id: UUID, wanted: SessionFilter) -> SessionQuerySet:
    """The sessions that a list shows, each with its `fullness`, in no order yet; inside a scope."""
    rows = wanted.apply(Session.objects.for_tenant(tenant_id)).with_titles()
    return rows.with_ids(_over_warning(tenant_id, Policies(tenant_id))[0]) if wanted.state == OVER else rows


def with_policies(tenant_id: UUID, sessions: Iterable[Session]) -> Sequence[tuple[Session, CompactionPolicy]]:
    """Each with the policy that holds for it; inside a scope. Two queries."""
    return paired(sessions, Policies(tenant_id))


def what_waits(tenant_id: UUID) -> Waiting:
    """Sessions over their warning threshold, reviews, failed runs; inside a scope. Six queries."""
    policies = Policies(tenant_id)
    sessions = Session.objects.for_tenant(tenant_id)
    over, is_more = _over_warning(tenant_id, policies)
    return Waiting(
        sessions_over_warning=len(over),
        is_more=is_more,
        reviews=Compaction.objects.for_tenant(tenant_id).in_state(Compaction.State.PROPOSED).how_many(),
        failed_runs=Run.objects.for_tenant(tenant_id).in_state(Run.State.FAILED).how_many(),
        sessions=sessions.open().how_many(),
    )


def _over_warning(tenant_id: UUID, policies: Policies) -> tuple[list[UUID], bool]:
    """The open sessions over the warning threshold of their policy, and whether there may be more. One query."""
    rows = Session.objects.for_tenant(tenant_id).open().with_pressure().at_least(policies.least_warning())
    fullest = list(rows.page("-fullness", count=FULLEST_READ_MAX))
    over = [row.pk for row, policy in paired(fullest, policies) if row.pressure >= policy.warning_threshold]
    return over, len(fullest) == FULLEST_READ_MAX
