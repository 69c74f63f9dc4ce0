"""Find sessions to compact and abandoned runs, tenant by tenant (ADR-0071)."""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.core.cache import cache

from compaction.models import Compaction, Run, Session
from compaction.pipeline.plans import open_compaction, plan_or_conflict
from compaction.pipeline.policies import TenantPolicies
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.services.time_limits import while_in_time
from memories.tenancy.audit import Actor
from memories.tenancy.claims import TENANT_CLAIMS_MAX
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import sweep_lock, tenants_in_turn

logger = logging.getLogger(__name__)

SWEEPER = Actor.system("sweep of sessions")
#: Sessions per batch, and compactions that one sweep opens per tenant.
SESSIONS_BATCH = 50
#: Batches that one sweep reads per tenant; the next sweep continues after them.
BATCHES_MAX = 20
_SWEEP_LOCK = "compaction.sweep-sessions"
PLACE_KEPT_SECONDS = 3600
#: A younger run is probably still queued in the broker.
RUN_GRACE = timedelta(seconds=60)
_RUNS_BATCH = 50

#: Tenant and run.
Opened = tuple[UUID, UUID]


def open_idle_sessions(*, now: datetime) -> list[Opened]:
    """Open compactions of idle sessions over their policy's sleep threshold. One sweep runs at a time."""
    with sweep_lock(_SWEEP_LOCK) as lock:
        if lock is None:
            return []
        with maintenance_scope():
            tenant_ids = Session.objects.all().open().tenant_ids()
        turns = tenants_in_turn("open-sessions", tenant_ids)
        return [opened for pk in turns if lock.renew() for opened in _open_of_tenant(pk, now)]


def abandoned_compaction_runs(*, now: datetime) -> list[Run]:
    """Return runs without a lease: a worker was killed, the broker was unreachable or a provider delayed them."""
    with maintenance_scope():
        abandoned = Run.objects.abandoned(now).older_than(now - RUN_GRACE).first_of_each_tenant(TENANT_CLAIMS_MAX)
        return list(abandoned[:_RUNS_BATCH])


def _open_of_tenant(tenant_id: UUID, now: datetime) -> list[Opened]:
    """Open compactions batch by batch in the order of ids, starting where the last sweep stopped."""
    place_key = f"{_SWEEP_LOCK}.{tenant_id}"
    stored: str | None = cache.get(place_key)
    place = UUID(stored) if stored else None
    opened: list[Opened] = []
    for _ in while_in_time(range(BATCHES_MAX)):
        batch, batch_opened = _open_batch(tenant_id, place, now)
        opened += batch_opened
        place = batch[-1].pk if len(batch) == SESSIONS_BATCH else None
        if place is None or len(opened) >= SESSIONS_BATCH:
            break
    cache.set(place_key, str(place) if place else None, PLACE_KEPT_SECONDS)
    return opened


def _open_batch(tenant_id: UUID, place: UUID | None, now: datetime) -> tuple[list[Session], list[Opened]]:
    with tenant_scope(tenant_id):
        policies = TenantPolicies.of_tenants([tenant_id])[tenant_id]
        idle_since = now - timedelta(minutes=policies.minimum("idle_minutes"))
        rows = Session.objects.for_tenant(tenant_id).open().with_pressure()
        rows = rows.at_least(policies.minimum("sleep_threshold")).idle_since(idle_since)
        sessions = rows.with_current().behind(place, SESSIONS_BATCH)
        runs = [_open(session, policies.of(session), now) for session in sessions]
        return sessions, [(tenant_id, run.pk) for run in runs if run is not None]


def _open(session: Session, policy: CompactionPolicy, now: datetime) -> Run | None:
    idle_since = now - timedelta(minutes=policy.idle_minutes)
    is_idle = session.last_message_at is not None and session.last_message_at <= idle_since
    if not (policy.has_scheduled and is_idle and session.pressure >= policy.sleep_threshold):
        return None
    try:
        plan_or_conflict(session, policy, is_forced=False)
        return open_compaction(session, policy, trigger=Compaction.Trigger.SCHEDULED, by=SWEEPER, now=now)
    except Conflict as error:
        logger.debug("session %s is not compacted: %s", session.pk, error.code)
        return None
