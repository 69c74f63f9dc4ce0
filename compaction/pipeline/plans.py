"""Plan a compaction, as a dry run or to create it with its run."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from compaction.models import Compaction, Message, Run, Session
from compaction.pipeline.prompt_versions import current_prompt
from compaction.pipeline.session_rows import messages_to_turns
from compaction.pipeline.summarisers import has_model, summary_model
from compaction.services.pipeline import planning, states
from compaction.services.sessions.pressure import planning_reserve
from compaction.services.sessions.turns import SessionTurn
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict


def open_compaction(
    session: Session,
    policy: CompactionPolicy,
    *,
    trigger: str,
    model: str = "",
    prompt_version: int | None = None,
    replaces: Compaction | None = None,
    by: Actor,
    now: datetime,
) -> Run:
    """Create a pending compaction with a queued run. Raises `Conflict` while another one of the session is open."""
    require_no_proposal(session.tenant_id, session.pk, but=replaces.pk if replaces else None)
    shared = {"tenant_id": session.tenant_id, "session": session, "requested_by": by.stored_label, "created_at": now}
    try:
        with transaction.atomic():
            compaction = Compaction.objects.create(
                trigger=trigger,
                policy=policy.as_record(),
                model=(model or summary_model(session.model, policy.compaction_model)) if has_model() else "",
                prompt_version=(prompt_version or current_prompt(session.tenant_id)[0]) if has_model() else 0,
                replaces=replaces,
                **shared,
            )
            run: Run = Run.objects.create(kind=Run.Kind.COMPACTION, compaction=compaction, **shared)
    except IntegrityError as error:
        raise Conflict("already_running", "This session is already being compacted.") from error
    audit_rows("request_compaction", [compaction], by=by, now=now)
    return run


def proposed_compaction(session: Session) -> Compaction | None:
    """Return the session's proposal that waits for review, or None."""
    rows = Compaction.objects.for_tenant(session.tenant_id).of_session(session.pk)
    row: Compaction | None = rows.in_state(Compaction.State.PROPOSED).first()
    return row


def require_no_proposal(tenant_id: UUID, session_id: UUID, *, but: UUID | None = None) -> None:
    """Raise `Conflict` `waits_for_review` while a proposal of the session waits, unless it is `but`."""
    rows = (
        Compaction.objects.for_tenant(tenant_id)
        .of_session(session_id)
        .in_state(Compaction.State.PROPOSED)
        .without_texts()
    )
    if any(proposed.pk != but for proposed in rows):
        raise Conflict("waits_for_review", "A compaction of this session waits for review; decide on it first.")


def state_after(compaction: Compaction, action: str) -> str:
    """Return the state after `action`. Raises `Conflict`: `pending`, `failed` or `already_decided`."""
    try:
        return states.next_state(compaction.state, action)
    except states.TransitionError as error:
        code = compaction.state if compaction.state in states.UNDECIDED_STATES else "already_decided"
        raise Conflict(code, str(error)) from error


WHY_NOTHING = {
    planning.UNDER_TARGET: "The session is under its target.",
    planning.SUMMARIES_OFF: "Nothing can be masked, and the policy disables summaries.",
    planning.NOTHING_OUTSIDE_WINDOW: "All messages are inside the preserve window.",
    planning.ALL_PINNED: "All messages outside the preserve window are pinned.",
    planning.SPAN_TOO_SMALL: "The messages outside the preserve window are too short to summarise.",
}


@dataclass(frozen=True)
class SessionPlan:
    """A plan with its input: the turns that the context shows, and the current summary."""

    plan: planning.CompactionPlan
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
    """Return what a compaction would do now. `is_forced`: plan a summary even if the session is under its target."""
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    turns = tuple(messages_to_turns(rows.shown().without_vectors(), model=session.model))
    make = partial(
        planning.plan_compaction,
        turns,
        window=session.max_context_tokens,
        policy=policy,
        fixed_tokens=session.directive_tokens + session.summary_tokens,
        summary_tokens=session.summary_tokens,
        reserved_tokens=planning_reserve(session.max_context_tokens),
    )
    plan = make()
    if plan.is_empty and is_forced:
        plan = make(is_forced=True)
    return SessionPlan(plan, turns, session.current, session.summary_tokens)


def is_input_unchanged(plan: SessionPlan, session: Session) -> bool:
    """Return whether the locked session has the summary and the messages to summarise as the plan read them.

    A person can have edited the summary since, and an erasure can have redacted any of these texts.
    """
    if session.current != plan.current:
        return False
    if session.current and plan.current and _edited_texts(session.current) != _edited_texts(plan.current):
        return False
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    texts = {pk: (content, calls) for pk, content, calls in messages.contents_and_calls(turn.id for turn in plan.span)}
    return texts == {turn.id: (turn.content, list(turn.tool_calls)) for turn in plan.span}


def _edited_texts(compaction: Compaction) -> tuple[Any, ...]:
    return compaction.edit_version, compaction.summary_text, compaction.statements


def plan_or_conflict(session: Session, policy: CompactionPolicy, *, is_forced: bool) -> SessionPlan:
    """Return the plan of a compaction. Raises `Conflict` `nothing_to_compact` with the reason if it is empty."""
    plan = plan_session(session, policy, is_forced=is_forced)
    if plan.plan.is_empty:
        raise Conflict("nothing_to_compact", WHY_NOTHING[plan.plan.reason])
    return plan
