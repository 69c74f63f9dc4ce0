"""Conversations to show on pages: long enough to be compacted, with tool outputs and facts that can be lost."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from compaction.models import Compaction, Message, Session
from compaction.pipeline.actions import request_compaction
from compaction.pipeline.orchestrator import run_compaction
from compaction.services.sessions.drafts import NewMessage
from compaction.sessions.actions import append_messages, create_session
from context.profiles.actions.budget_profiles import save_budget_profile
from context.profiles.budget_profiles import current_budget_profile
from memories.models import Tenant
from memories.services.partitions.paths import parse_partition
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import TESTER

LOG = "\n".join(
    f"2026-03-{day:02} 09:12 frame FR-{1000 + day} torque 42 Nm ok, station 7, tester Ida" for day in range(1, 29)
)
_SUBJECTS = (
    "the frame FR-2210",
    "the invoice INV-7731",
    "the visit to Kiel",
    "the battery pack B-77",
    "the brake test",
    "the courier to Bremen",
    "the lamp L-40",
    "the paint for the trailer",
    "the rental contract",
    "the saddle bag",
)


def make_long_session(
    tenant: Tenant,
    *,
    turns: int = 30,
    window: int = 2_600,
    path: str = "user=alex",
    at: datetime | None = None,
    **fields: Any,
) -> Session:
    """A session of `turns` questions and answers, a minute apart; every tenth answer comes from a tool.

    It begins `at` a time, by default so that all of it is on one day.
    """
    if at is None:
        at, length = timezone.now() - timedelta(hours=3), timedelta(minutes=turns)
        if (at + length).date() > at.date():
            at -= length
    with tenant_scope(tenant.pk):
        session = create_session(
            tenant=tenant,
            partition=parse_partition(path),
            model="gpt-4o",
            max_context_tokens=window,
            by=TESTER,
            now=at,
            **fields,
        )
        if turns:
            append_messages(
                tenant_id=session.tenant_id,
                session_id=session.pk,
                rows=_rows(turns, at),
                by=TESTER,
                now=at + timedelta(hours=1),
            )
    return reread(session)


def _rows(turns: int, at: datetime) -> list[NewMessage]:
    rows = []
    for number in range(turns):
        when = at + timedelta(minutes=number)
        subject = _SUBJECTS[number % len(_SUBJECTS)]
        request = f"Ida Brodersen asks about {subject}: what was agreed on {1 + number % 28} March 2026?"
        rows.append(NewMessage("user", request, created_at=when))
        if number % 10 == 3:
            calls = [{"id": f"call-{number}", "function": {"name": "read_log", "arguments": '{"station": 7}'}}]
            rows.append(NewMessage("assistant", "", tool_calls=calls, created_at=when))
            rows.append(NewMessage("tool", LOG, name="read_log", tool_call_id=f"call-{number}", created_at=when))
        answer = (
            f"We agreed that {subject} costs {100 + number} EUR and is done by Jonas Petersen in week {1 + number}."
        )
        rows.append(NewMessage("assistant", answer, created_at=when))
    return rows


def reread(session: Session) -> Session:
    with tenant_scope(session.tenant_id):
        row: Session = Session.objects.for_tenant(session.tenant_id).with_current().get(pk=session.pk)
        return row


def messages_of(session: Session) -> list[Message]:
    with tenant_scope(session.tenant_id):
        return list(Message.objects.for_tenant(session.tenant_id).of_session(session.pk).originals())


def under_review(tenant: Tenant, **numbers: Any) -> None:
    """Let the default profile's policy require review of summaries."""
    _save_policy(tenant.pk, decision="review", **numbers)


def _save_policy(tenant_id: UUID, **numbers: Any) -> None:
    with tenant_scope(tenant_id):
        version = current_budget_profile(tenant_id).version
        changes = {"compaction": numbers}
        save_budget_profile(
            tenant_id=tenant_id, name="default", changes=changes, edited_from=version, by=TESTER, now=timezone.now()
        )


def compacted(session: Session) -> Compaction:
    """Compact the session immediately; the compaction is applied or proposed, depending on its policy."""
    with tenant_scope(session.tenant_id):
        run = request_compaction(session=session, is_enqueued=False, by=TESTER, now=timezone.now())
    run_compaction(session.tenant_id, run.pk, now=timezone.now())
    return _compaction(session.tenant_id, run.compaction_id)


def apply_whatever_is_retained(tenant_id: UUID) -> None:
    """Let the default profile's policy apply summaries regardless of the facts they retain."""
    _save_policy(tenant_id, decision="apply", retention_floor=0.0)


def applied_at_once(session: Session) -> Compaction:
    """Compact the session; the summary is applied regardless of the facts it retains."""
    apply_whatever_is_retained(session.tenant_id)
    compaction = compacted(session)
    assert compaction.state == Compaction.State.APPLIED
    return compaction


def as_decided(compaction: Compaction) -> Compaction:
    return _compaction(compaction.tenant_id, compaction.pk)


def _compaction(tenant_id: UUID, compaction_id: UUID | None) -> Compaction:
    with tenant_scope(tenant_id):
        row: Compaction = Compaction.objects.for_tenant(tenant_id).with_sessions().get(pk=compaction_id)
        return row
