"""Filter the list of sessions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from compaction.models import Session
from compaction.pipeline.backlog import sessions_over_warning
from compaction.pipeline.policies import TenantPolicies
from compaction.sessions.queries import SessionQuerySet
from context.services.profiles.compaction_policy import CompactionPolicy

_CLOSED, EVERY, OVER = "closed", "all", "over"


@dataclass(frozen=True)
class SessionFilter:
    """The filter of the list. `state` is open (""), over (its warning), closed or all; `min_pressure` a share."""

    partition: str = ""
    state: str = ""
    min_pressure: float = 0.0

    def apply(self, rows: SessionQuerySet) -> SessionQuerySet:
        rows = rows.within(self.partition).with_pressure().with_current()
        if self.state not in (EVERY, OVER):
            rows = rows.closed() if self.state == _CLOSED else rows.open()
        return rows.at_least(self.min_pressure) if self.min_pressure else rows

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.partition or self.state or self.min_pressure)


def filtered_sessions(tenant_id: UUID, session_filter: SessionFilter) -> SessionQuerySet:
    """Return the matching sessions with their `fullness`, unordered; inside a scope."""
    rows = session_filter.apply(Session.objects.for_tenant(tenant_id)).with_titles()
    if session_filter.state != OVER:
        return rows
    over = sessions_over_warning([tenant_id])[0].get(tenant_id, [])
    return rows.with_ids([session.pk for session in over])


def with_policies(tenant_id: UUID, sessions: Iterable[Session]) -> Sequence[tuple[Session, CompactionPolicy]]:
    """Return each session with its policy; inside a scope. Two queries."""
    policies = TenantPolicies(tenant_id)
    return [(session, policies.of(session)) for session in sessions]
