"""Plan a compaction of a session and read the input of its draft. Nothing is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from compaction.models import Compaction, Message, Run, Session
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
    SPAN_TOO_SMALL: "Too little lies outside the preserved window to be worth a summary.",
}


@dataclass(frozen=True)
class SessionPlan:
    """A plan with its input: the turns that the context shows, and the current summary."""

    plan: CompactionPlan
    turns: tuple[SessionTurn, ...]
    current: Compaction | None
    summary_tokens: int

    @property
    def span(self) -> list[SessionTurn]:
        """The turns to summarise, in order."""
        leaving = set(self.plan.span_ids)
        return [turn for turn in self.turns if turn.id in leaving]

    @property
    def span_tokens(self) -> int:
        """Tokens of the originals of the span; the plan counts its long tool outputs as masked."""
        return sum(turn.tokens for turn in self.span)

    @property
    def masked(self) -> list[SessionTurn]:
        """The tool outputs to mask, without those that are summarised."""
        masked = set(self.plan.mask_ids) - set(self.plan.span_ids)
        return [turn for turn in self.turns if turn.id in masked]


def plan_session(session: Session, policy: CompactionPolicy, *, is_forced: bool) -> SessionPlan:
    """Return what a compaction of the session would do now.

    `is_forced`: plan a summary even if the session is under its target.
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
    plan = make()
    if plan.is_empty and is_forced:
        plan = make(is_forced=True)
    return SessionPlan(plan, turns, session.current, summary_tokens)


def plan_or_conflict(session: Session, policy: CompactionPolicy, *, is_forced: bool) -> SessionPlan:
    """Return the plan of a compaction. Raises `Conflict` `nothing_to_compact` with the reason if it is empty."""
    plan = plan_session(session, policy, is_forced=is_forced)
    if plan.plan.is_empty:
        raise Conflict("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
    return plan


#: Triggers that compact even under the target.
FORCED = (Compaction.Trigger.MANUAL, Compaction.Trigger.REGENERATE)

DraftingClock = Callable[[], datetime]


class DraftingError(Exception):
    """There is no draft, and another attempt would fail the same way; `detail` quotes no message."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class DraftingInput:
    """The input of a draft, read in one scope; `cited` maps ids of messages that earlier statements cite to texts."""

    session: Session
    model: str
    prompt: str
    policy: CompactionPolicy
    plan: SessionPlan
    deadline: datetime | None
    earlier: Sequence[CitedStatement] = ()
    cited: Mapping[str, str] = field(default_factory=dict)
    generation: int = 1
    attempt: int = 1
    can_wait: bool = False


def read_drafting_input(run: Run, *, can_wait: bool, deadline: datetime | None) -> DraftingInput:
    """Read the input for the run's pending compaction from the session as it is now. Raises `DraftingError`."""
    tenant_id = run.tenant_id
    with tenant_scope(tenant_id):
        rows = Compaction.objects.for_tenant(tenant_id).with_id(run.compaction_id)
        compaction: Compaction = rows.with_sessions().get()
        session = compaction.session
        if compaction.state != Compaction.State.PENDING:
            raise DraftingError("already_decided", "This compaction was already decided on.")
        if session.closed_at is not None:
            raise DraftingError("session_closed", "The session is closed.")
        policy = CompactionPolicy.of(compaction.policy)
        plan = plan_session(session, policy, is_forced=compaction.trigger in FORCED)
        if plan.plan.is_empty:
            raise DraftingError("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
        earlier = [CitedStatement.of(record) for record in plan.current.statements] if plan.current else []
        ids = {UUID(source) for statement in earlier for source in statement.message_ids}
        cited = Message.objects.for_tenant(tenant_id).with_ids(ids).said()
        version = compaction.prompt_version
        return DraftingInput(
            session=session,
            model=compaction.model,
            prompt=prompt_version_text(tenant_id, version) if version else PROMPT,
            policy=policy,
            plan=plan,
            deadline=deadline,
            earlier=earlier,
            cited={str(pk): f"{name} {content}" for pk, name, content in cited},
            generation=(plan.current.generation if plan.current else 0) + 1,
            attempt=run.attempts,
            can_wait=can_wait,
        )
