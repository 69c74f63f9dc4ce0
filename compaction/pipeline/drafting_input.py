"""What a compaction is to be drafted from, read in one scope."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from compaction.models import Compaction, Message
from compaction.pipeline.opening import WHY_NOTHING, prompt_version_text
from compaction.pipeline.plans import SessionPlan, plan_session
from compaction.services.pipeline.prompts import PROMPT
from compaction.services.pipeline.stored_statements import CitedStatement
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.tenancy.scopes import tenant_scope

#: Somebody asks for these although the session may be under its target.
FORCED = (Compaction.Trigger.MANUAL, Compaction.Trigger.REGENERATE)

DraftingClock = Callable[[], datetime]


class DraftingError(Exception):
    """No text came of it, for a reason that another attempt would meet again; `detail` quotes no message."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class DraftingInput:
    """What is to be drafted, read in one scope; `cited` are the texts of messages that earlier statements cite."""

    tenant_id: UUID
    partition_path: str
    session_model: str
    model: str
    prompt: str
    policy: CompactionPolicy
    plan: SessionPlan
    earlier: Sequence[CitedStatement]
    cited: Mapping[str, str]
    generation: int
    attempt: int
    may_wait: bool
    deadline: datetime | None


def read_drafting_input(
    tenant_id: UUID, compaction_id: UUID, *, attempt: int, may_wait: bool, deadline: datetime | None
) -> DraftingInput:
    """The assignment of a pending compaction as its session stands. Raises `DraftingError`."""
    with tenant_scope(tenant_id):
        compaction = Compaction.objects.for_tenant(tenant_id).with_id(compaction_id).with_sessions().get()
        session = compaction.session
        if compaction.state != Compaction.State.PENDING:
            raise DraftingError("already_decided", "This compaction was decided about already.")
        if session.closed_at is not None:
            raise DraftingError("session_closed", "The session is closed.")
        policy = CompactionPolicy.of(compaction.policy)
        plan = plan_session(session, policy, is_forced=compaction.trigger in FORCED)
        if plan.plan.is_empty:
            raise DraftingError("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
        earlier = [CitedStatement.of(record) for record in plan.current.statements] if plan.current else []
        version = compaction.prompt_version
        return DraftingInput(
            tenant_id=tenant_id,
            partition_path=session.partition_path,
            session_model=session.model,
            model=compaction.model,
            prompt=prompt_version_text(tenant_id, version) if version else PROMPT,
            policy=policy,
            plan=plan,
            earlier=earlier,
            cited=_cited(tenant_id, earlier),
            generation=(plan.current.generation if plan.current else 0) + 1,
            attempt=attempt,
            may_wait=may_wait,
            deadline=deadline,
        )


def _cited(tenant_id: UUID, earlier: Sequence[CitedStatement]) -> dict[str, str]:
    """What the messages say that the statements cite."""
    ids = {UUID(source) for told in earlier for source in told.message_ids}
    rows = Message.objects.for_tenant(tenant_id).with_ids(ids).said()
    return {str(pk): f"{name} {content}" for pk, name, content in rows}
