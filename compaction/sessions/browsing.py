"""Reading sessions as operators want them: filtered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from compaction.models import Session
from compaction.pipeline.backlog import sessions_over_warning
from compaction.pipeline.policies import TenantPolicies, pair_with_policies
from compaction.sessions.queries import SessionQuerySet
from context.services.profiles.compaction_policy import CompactionPolicy

_CLOSED, EVERY, OVER = "closed", "all", "over"


@dataclass(frozen=True)
class SessionFilter:
    """How the list is narrowed. `state` is open (""), over (its warning), closed or all; `least_pressure` a share."""

    partition: str = ""
    state: str = ""
    least_pressure: float = 0.0

    def apply(self, rows: SessionQuerySet) -> SessionQuerySet:
        rows = rows.within(self.partition).with_pressure().with_current()
        if self.state not in (EVERY, OVER):
            rows = rows.closed() if self.state == _CLOSED else rows.open()
        return rows.at_least(self.least_pressure) if self.least_pressure else rows

    @property
    def is_any(self) -> bool:
        """Whether anything is filtered."""
        return bool(self.partition or self.state or self.least_pressure)


def filtered_sessions(tenant_id: UUID, wanted: SessionFilter) -> SessionQuerySet:
    """The sessions that a list shows, each with its `fullness`, in no order yet; inside a scope."""
    rows = wanted.apply(Session.objects.for_tenant(tenant_id)).with_titles()
    if wanted.state != OVER:
        return rows
    over = sessions_over_warning([tenant_id])[0].get(tenant_id, [])
    return rows.with_ids([session.pk for session in over])


def with_policies(tenant_id: UUID, sessions: Iterable[Session]) -> Sequence[tuple[Session, CompactionPolicy]]:
    """Each with the policy that holds for it; inside a scope. Two queries."""
    return pair_with_policies(sessions, TenantPolicies(tenant_id))
