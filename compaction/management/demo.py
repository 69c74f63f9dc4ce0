"""The demo's sessions, replayed as they would have happened: spoken, and compacted where that happened."""

from collections.abc import Sequence

from compaction.actions import append_messages, create_session
from compaction.compactor import run_compaction
from compaction.models import Session
from compaction.opening import open_compaction
from compaction.plans import policy_of
from compaction.services.demo import DemoSession
from memories.audit import Actor
from memories.models import Tenant
from memories.scopes import tenant_scope
from memories.services.partitions import parse_partition


def replay_sessions(sessions: Sequence[DemoSession], tenant: Tenant, *, by: Actor) -> list[Session]:
    """Do all of it, each step at its moment; what its policy leaves to people waits for them."""
    return [_replay(session, tenant, by) for session in sessions]


def _replay(told: DemoSession, tenant: Tenant, by: Actor) -> Session:
    with tenant_scope(tenant.pk):
        session = create_session(
            tenant=tenant,
            partition=parse_partition(told.partition),
            model=told.model,
            max_context_tokens=told.max_context_tokens,
            directive=told.directive,
            metadata=told.metadata,
            by=by,
            now=told.at,
        )
        append_messages(session_id=session.pk, rows=told.messages, by=by, now=told.ended_at)
        if told.compacted_at is None:
            return session
        run = open_compaction(session, policy_of(session), trigger=told.trigger, by=by, now=told.compacted_at)
    run_compaction(tenant.pk, run.pk, now=told.compacted_at)
    return session
