"""Read the input of a draft: the session, its plan, the prompt, and what earlier generations kept."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from compaction.models import Compaction, Message, Run, Session
from compaction.pipeline.journal import journal_texts
from compaction.pipeline.plans import WHY_NOTHING, SessionPlan, plan_session
from compaction.pipeline.prompt_versions import prompt_version_text
from compaction.services.pipeline.prompts import PROMPT
from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.stored_statements import CitedStatement, recorded_facts
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.models import AuditEntry
from memories.services.store.content import CodedError
from memories.tenancy.scopes import tenant_scope

#: Triggers that compact a session even if it is under its target.
FORCED = (Compaction.Trigger.MANUAL, Compaction.Trigger.REGENERATE)
DraftingClock = Callable[[], datetime]


class DraftingError(CodedError):
    """There is no draft, and another attempt would fail the same way; `detail` quotes no message."""


@dataclass(frozen=True)
class DraftingInput:
    """The input of a draft, read in one scope; `cited` maps ids of messages that earlier statements cite to texts.

    `api_key_ids` are the keys that wrote the session, whose recalled text it may repeat. `kept_before`,
    `missing_before` and `journal_before` are the facts and the journal of all earlier generations. `is_emergency`: a
    summary with possible instructions is applied. `is_by_rules`: no model is called even if one is configured.
    """

    session: Session
    model: str
    prompt: str
    policy: CompactionPolicy
    plan: SessionPlan
    deadline: datetime | None
    api_key_ids: Collection[str] = ()
    earlier: Sequence[CitedStatement] = ()
    cited: Mapping[str, str] = field(default_factory=dict)
    kept_before: Sequence[RetainedFact] = ()
    missing_before: Sequence[RetainedFact] = ()
    journal_before: Sequence[str] = ()
    generation: int = 1
    attempt: int = 1
    can_wait: bool = False
    is_emergency: bool = False
    is_by_rules: bool = False


def session_key_ids(session: Session, plan: SessionPlan) -> set[str]:
    """Return the ids of the keys that opened the session or appended messages of the span."""
    entries = AuditEntry.objects.for_tenant(session.tenant_id).about_any("message", [turn.id for turn in plan.span])
    writers = entries.of_verbs(["append_messages"]).actor_ids(AuditEntry.ActorKind.KEY)
    return {*writers, *filter(None, [session.created_by_key_id])}


def read_drafting_input(run: Run, *, can_wait: bool, deadline: datetime | None) -> DraftingInput:
    """Read the input for the run's pending compaction from the current session. Raises `DraftingError`."""
    tenant_id = run.tenant_id
    with tenant_scope(tenant_id):
        rows = Compaction.objects.for_tenant(tenant_id)
        compaction: Compaction = rows.with_id(run.compaction_id).get()
        session: Session = Session.objects.for_tenant(tenant_id).with_id(compaction.session_id).with_current().get()
        if compaction.state != Compaction.State.PENDING:
            raise DraftingError("already_decided", "This compaction was already decided on.")
        if session.closed_at is not None:
            raise DraftingError("session_closed", "The session is closed.")
        policy = CompactionPolicy.of(compaction.policy)
        plan = plan_session(session, policy, is_forced=compaction.trigger in FORCED)
        if plan.plan.is_empty:
            raise DraftingError("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
        earlier = _earlier_statements(plan.current) if plan.current else []
        ids = {UUID(source) for statement in earlier for source in statement.message_ids}
        cited = Message.objects.for_tenant(tenant_id).with_ids(ids).names_and_contents()
        # Not kept as JSON: the facts of a long session take megabytes.
        retention = rows.with_id(session.current_id).retention_record() if plan.current else {}
        version = compaction.prompt_version
        return DraftingInput(
            session=session,
            model=compaction.model,
            prompt=prompt_version_text(tenant_id, version) if version else PROMPT,
            policy=policy,
            plan=plan,
            deadline=deadline,
            api_key_ids=session_key_ids(session, plan),
            earlier=earlier,
            cited={str(pk): f"{name} {content}" for pk, name, content in cited},
            kept_before=recorded_facts(retention, "kept"),
            missing_before=recorded_facts(retention, "missing"),
            journal_before=journal_texts(tenant_id, session.pk),
            generation=(plan.current.generation if plan.current else 0) + 1,
            attempt=run.attempts,
            can_wait=can_wait,
            is_emergency=compaction.trigger == Compaction.Trigger.EMERGENCY,
        )


def _earlier_statements(current: Compaction) -> list[CitedStatement]:
    """The statements of the current summary; possible instructions that a person approved are no longer marked."""
    statements = list(map(CitedStatement.of, current.statements))
    if not any(one.is_possible_instruction for one in statements):
        return statements
    approved = Compaction.objects.for_tenant(current.tenant_id).of_session(current.session_id).approved_instructions()
    return [replace(one, is_possible_instruction=False) if one.text in approved else one for one in statements]
