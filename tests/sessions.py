"""Rows of sessions for tests of the tables themselves; all other tests use the actions."""

from typing import Any

from django.utils import timezone

from compaction.models import Compaction, Message, Session
from memories.models import Tenant
from memories.services.partitions.paths import parse_partition
from memories.store.live_rows import ensure_partitions


def new_session(tenant: Tenant, **columns: Any) -> Session:
    place = parse_partition("user=alex")
    partition = ensure_partitions(tenant.pk, [place])[place.path]
    session: Session = Session.objects.create(
        tenant=tenant,
        partition=partition,
        partition_path=place.path,
        **{"model": "gpt-4o", "max_context_tokens": 8000, "created_at": timezone.now()} | columns,
    )
    return session


def new_message(session: Session, **columns: Any) -> Message:
    now = timezone.now()
    filled = {"sequence": 0, "role": "user", "content": "Hello.", "tokens": 2, "shown_tokens": 2} | columns
    message: Message = Message.objects.create(
        tenant_id=session.tenant_id, session=session, created_at=now, recorded_at=now, **filled
    )
    return message


def new_compaction(session: Session, **columns: Any) -> Compaction:
    filled = {"trigger": "manual", "policy": {}, "created_at": timezone.now()} | columns
    compaction: Compaction = Compaction.objects.create(tenant_id=session.tenant_id, session=session, **filled)
    return compaction
