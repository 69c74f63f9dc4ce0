"""Try a prompt on a recorded session before it is saved. Nothing is stored.

Called with no scope open, since a provider may be called.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from compaction.models import Session
from compaction.pipeline.drafting import CompactionDraft, draft_summary
from compaction.pipeline.drafting_input import DraftingError, DraftingInput, session_key_ids
from compaction.pipeline.orchestrator import WAITING_SPAN_TOKENS_MAX, clock_from
from compaction.pipeline.plans import plan_or_conflict
from compaction.pipeline.policies import session_policy
from compaction.pipeline.summarisers import has_model, summary_model
from context.receipts.results import ContextWarning
from memories.tenancy.exceptions import Conflict
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope

_TIME_LIMIT = timedelta(seconds=25)
SESSIONS_OFFERED_MAX = 30


@dataclass(frozen=True)
class PromptTrial:
    """The draft that a prompt produces for a session, with the number and tokens of the session's messages."""

    session: Session
    draft: CompactionDraft
    messages: int
    tokens: int


def trial_sessions(tenant_id: UUID) -> list[Session]:
    """Return the open sessions with the most messages; inside a scope."""
    rows = Session.objects.for_tenant(tenant_id).open().with_titles()
    return list(rows.page("-message_count", count=SESSIONS_OFFERED_MAX))


def try_prompt(*, tenant_id: UUID, session_id: UUID, text: str, now: datetime) -> PromptTrial:
    """Summarise the session's span with that prompt. Raises `NotFound`, or `Conflict` if there is no draft."""
    with tenant_scope(tenant_id):
        session = find_row(Session.objects.for_tenant(tenant_id).with_id(session_id).with_current(), Session)
        policy = session_policy(session)
        plan = plan_or_conflict(session, policy, is_forced=True)
        keys = session_key_ids(session, plan)
    if plan.plan.span_tokens > WAITING_SPAN_TOKENS_MAX:
        raise Conflict("session_too_long", "This session is too long for a prompt test.")
    model = summary_model(session.model, policy.compaction_model)
    task = DraftingInput(session, model, text, policy, plan, deadline=now + _TIME_LIMIT, api_key_ids=keys)
    try:
        draft = draft_summary(task, clock=clock_from(now))
    except DraftingError as error:
        raise Conflict(error.code, error.detail) from error
    if not has_model():
        notice = ContextWarning(
            "prompt_unused", "No model is configured. This summary was extracted by rules, without the prompt."
        )
        draft = replace(draft, notices=[notice, *draft.notices])
    return PromptTrial(session, draft, len(plan.span), sum(turn.context_tokens for turn in plan.span))
