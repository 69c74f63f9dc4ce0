"""What a compaction of a session would do now, and the input for drafting its text. Nothing is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from compaction.models import Compaction, Message, Session
from compaction.pipeline.opening import prompt_version_text
from compaction.pipeline.session_rows import messages_to_turns
from compaction.services.pipeline.planning import (
    ALL_PINNED,
    NOTHING_OUTSIDE_WINDOW,
    SPAN_TOO_SMALL,
    SUMMARIES_OFF,
    UNDER_TARGET,
    CompactionPlan,
    plan_compaction,
)
from compaction.services.pipeline.prompts import PROMPT
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope

WHY_NOTHING = {
    UNDER_TARGET: "The session is under its target.",
    SUMMARIES_OFF: "Nothing can be masked, and the policy makes no summaries.",
    NOTHING_OUTSIDE_WINDOW: "All messages lie within the window that is preserved.",
    ALL_PINNED: "All messages outside the preserved window are pinned.",
    SPAN_TOO_SMALL: "What lies outside the preserved window is too little to be worth a summary.",
}


@dataclass(frozen=True)
class SessionPlan:
    """A plan with what it rests on: the turns that the context shows, and the summary that leads them."""

    plan: CompactionPlan
    turns: tuple[SessionTurn, ...]
    current: Compaction | None
    summary_tokens: int

    @property
    def span(self) -> list[SessionTurn]:
        """The turns that leave, in order."""
        leaving = set(self.plan.span_ids)
        return [turn for turn in self.turns if turn.id in leaving]

    @property
    def span_tokens(self) -> int:
        """Tokens of the turns that leave as they were written; the plan counts long tool outputs among them masked."""
        return sum(turn.tokens for turn in self.span)

    @property
    def masked(self) -> list[SessionTurn]:
        """The tool outputs that a placeholder stands for afterwards; those that leave altogether are not among them."""
        masked = set(self.plan.mask_ids) - set(self.plan.span_ids)
        return [turn for turn in self.turns if turn.id in masked]


def plan_session(session: Session, policy: CompactionPolicy, *, is_forced: bool) -> SessionPlan:
    """What a compaction would do about the session as it stands.

    `is_forced`: where its policy would do nothing, since it is under its target, a summary is made all the same.
    """
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    turns = tuple(messages_to_turns(rows.shown().without_vectors(), model=session.model))
    summary_tokens = rows.of_compaction(session.current_id).tokens_shown() if session.current_id else 0
    make = partial(
        plan_compaction,
        turns,
        window=session.max_context_tokens,
        policy=policy,
        fixed_tokens=session.directive_tokens + summary_tokens,
        summary_tokens=summary_tokens,
    )
    plan = make(is_forced=False)
    if plan.is_empty and is_forced:
        plan = make(is_forced=True)
    return SessionPlan(plan, turns, session.current, summary_tokens)


def plan_or_conflict(session: Session, policy: CompactionPolicy, *, is_forced: bool) -> SessionPlan:
    """The plan of a compaction. Raises `Conflict` `nothing_to_compact` that says why where it would do nothing."""
    plan = plan_session(session, policy, is_forced=is_forced)
    if plan.plan.is_empty:
        raise Conflict("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
    return plan


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
