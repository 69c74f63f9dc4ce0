"""What a session's policy says, and what a compaction of it would do now: read inside a scope, nothing written."""

from dataclasses import dataclass
from functools import partial

from compaction.models import Compaction, Message, Session
from compaction.pipeline.message_adapter import messages_to_turns
from compaction.services.pipeline.planning import CompactionPlan, plan_compaction
from compaction.services.sessions.turns import SessionTurn
from context.profiles.budget_profiles import budget_profile_for
from context.services.profiles.compaction_policy import CompactionPolicy


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


def session_policy(session: Session) -> CompactionPolicy:
    """The policy in force for a session: that of the key which opened it, else of its partition."""
    key_id = session.created_by_key_id
    profile = budget_profile_for(session.tenant_id, api_key_id=key_id, partition_path=session.partition_path)
    return profile.compaction_policy


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
