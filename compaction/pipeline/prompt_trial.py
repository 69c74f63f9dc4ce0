"""A prompt tried on a recorded session before it is saved: the summary that it would give, nothing is kept.

Called with no scope open, for a provider may be asked.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from compaction.models import Session
from compaction.pipeline.drafting import CompactionDraft, draft_summary
from compaction.pipeline.drafting_input import DraftingError, DraftingInput
from compaction.pipeline.opening import plan_or_conflict
from compaction.pipeline.orchestrator import WAITING_SPAN_TOKENS_MAX, clock_from, note_step
from compaction.pipeline.plans import session_policy
from compaction.pipeline.summarisers import has_model, summary_model
from context.receipts.results import ContextWarning
from memories.tenancy.exceptions import Conflict, NotFound
from memories.tenancy.scopes import tenant_scope

_TIME_LIMIT = timedelta(seconds=25)
SESSIONS_OFFERED_MAX = 30


@dataclass(frozen=True)
class PromptTrial:
    """What a prompt made of a session."""

    session: Session
    draft: CompactionDraft
    messages: int
    tokens: int


def trial_sessions(tenant_id: UUID) -> list[Session]:
    """The open sessions with the most messages; inside a scope."""
    return list(
        Session.objects.for_tenant(tenant_id).open().with_titles().page("-message_count", count=SESSIONS_OFFERED_MAX)
    )


def try_prompt(*, tenant_id: UUID, session_id: UUID, text: str, now: datetime) -> PromptTrial:
    """Summarise the session's span with that prompt.

    Raises `NotFound`, or `Conflict` where the session has nothing to compact or no summary came of it.
    """
    with tenant_scope(tenant_id):
        session = Session.objects.for_tenant(tenant_id).with_id(session_id).with_current().first()
        if session is None:
            raise NotFound("not_found", "There is no such session.")
        policy = session_policy(session)
        plan = plan_or_conflict(session, policy, is_forced=True)
    if plan.plan.span_tokens > WAITING_SPAN_TOKENS_MAX:
        raise Conflict("session_too_long", "This session is too long to try a prompt on while you wait.")
    task = DraftingInput(
        tenant_id=tenant_id,
        partition_path=session.partition_path,
        session_model=session.model,
        model=summary_model(session.model, policy.compaction_model),
        prompt=text,
        policy=policy,
        plan=plan,
        earlier=(),
        cited={},
        generation=1,
        attempt=1,
        may_wait=False,
        deadline=now + _TIME_LIMIT,
    )
    try:
        draft = draft_summary(task, clock=clock_from(now), reached=note_step)
    except DraftingError as error:
        raise Conflict(error.code, error.detail) from error
    if not has_model():
        notice = ContextWarning(
            "prompt_not_read", "No model is set up: rules made this summary, and they read no prompt."
        )
        draft = replace(draft, notices=[notice, *draft.notices])
    span = plan.span
    return PromptTrial(session, draft, len(span), sum(turn.context_tokens for turn in span))
