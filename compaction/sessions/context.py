"""The orchestrator of a session's context: read -> compact in an emergency -> memories -> trim -> render -> count.

Called with no scope open. Searching and counting run outside of the short scopes of reading opened here.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from compaction.models import Message
from compaction.pipeline.orchestrator import compact_in_emergency
from compaction.services.pipeline.generations import generation_warning
from compaction.services.sessions.section_budgets import (
    MEMORIES_TOKENS_MIN,
    SESSION_MEMORIES_SECTION,
    SESSION_SECTION_ORDER,
    SESSION_SUMMARY_SECTION,
    default_budget,
    newest_unit_tokens,
    session_section_budgets,
)
from compaction.services.sessions.transcript import MARKER_TOKENS, ChatMessage, render_transcript
from compaction.sessions.conversations import SessionConversation, read_message_contents, read_session_conversation
from compaction.sessions.results import SESSION_SUMMARY, EmergencyCompaction, SessionContext, SessionContextRequest
from compaction.sessions.trimming import ContextTurn, trim_turns_to_budget
from context.assembly.orchestrator import KEY_ACTOR, StepTimer, assemble_context
from context.profiles.token_counters import budget_calculator
from context.receipts.results import Anchor, AssembledContext, Block, ContextBudget, ContextRequest, ContextWarning
from context.services.assembly.model_catalog import family_of
from context.services.assembly.section_budgets import SectionAllocation
from context.services.budget import BudgetCalculator
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput
from memory_platform.web.numerals import counted

logger = logging.getLogger(__name__)

#: A long message is searched by its end, which usually contains the question.
_QUERY_CHARACTERS_MAX = 2_000
#: Fields that session and memory context requests share.
MEMORY_FIELDS = (
    "budget_profile",
    "profile",
    "packer",
    "ordering",
    "render",
    "summary_style",
    "include_tenant_memo",
    "include_summaries_at",
    "include_memories_top_k",
    "explain",
    "preview",
)


@dataclass(frozen=True)
class _Caller:
    tenant_id: UUID
    reach: str
    actor: Actor
    now: datetime


def build_session_context(
    request: SessionContextRequest,
    *,
    tenant_id: UUID,
    reach: str,
    actor: Actor,
    now: datetime,
    compact: EmergencyCompaction = compact_in_emergency,
) -> SessionContext:
    """The context of a session within `reach`, in at most `max_tokens` of its model.

    Directive, memories for the newest message of the user, the current summary, then the newest messages that fit:
    pinned ones first, a tool call never without its results nor a result without its call. If the session is over its
    policy's emergency threshold, `compact` shrinks it before, unless this is a preview. Raises `NotFound`, or
    `InvalidInput` for an impossible request, such as a budget below the directive.
    """
    timer, caller = StepTimer(), _Caller(tenant_id, reach, actor, now)
    with timer.step("total"):
        with timer.step("read"):
            conversation = _read(request, caller)
        warnings: list[ContextWarning] = []
        if not request.preview and _is_emergency(conversation):
            with timer.step("compact"):
                warnings += _compact(conversation, compact, now)
                conversation = _read(request, caller)
        context = _build(request, conversation, caller, timer)
    return replace(context, warnings=[*warnings, *context.warnings], timings=timer.milliseconds)


def _read(request: SessionContextRequest, caller: _Caller) -> SessionConversation:
    return read_session_conversation(
        tenant_id=caller.tenant_id,
        session_id=request.session_id,
        reach=caller.reach,
        budget_profile=request.budget_profile,
        api_key_id=caller.actor.id if caller.actor.kind == KEY_ACTOR else None,
    )


def _is_emergency(conversation: SessionConversation) -> bool:
    policy = conversation.policy
    return policy.has_emergency and conversation.session.pressure >= policy.emergency_threshold


def _compact(
    conversation: SessionConversation, compact: EmergencyCompaction, now: datetime
) -> Sequence[ContextWarning]:
    session = conversation.session
    logger.warning("emergency compaction of session %s at pressure %.2f", session.pk, session.pressure)
    return compact(session, conversation.policy, now)


def _build(
    request: SessionContextRequest, conversation: SessionConversation, caller: _Caller, timer: StepTimer
) -> SessionContext:
    session, calculator = conversation.session, budget_calculator()
    budget = _budget(request, conversation, calculator)
    head = [_directive(conversation, budget.max_tokens, calculator)] if session.directive else []
    left = budget.max_tokens - sum(part.cost for part in head)
    settings = session_section_budgets(conversation.profile.sections, budget.max_tokens)
    allotment = SectionAllocation(left, SESSION_SECTION_ORDER, settings, shares_of=budget.max_tokens)
    newest = newest_unit_tokens(conversation.turns)
    kept_free = newest if newest <= left else 0
    summary = _summary(conversation, calculator)
    with timer.step("memories"):
        token_budget = min(allotment.room_for(SESSION_MEMORIES_SECTION), left - kept_free) - MARKER_TOKENS
        has_summary = summary is not None and summary.cost <= left - kept_free - max(token_budget, 0)
        memories = _memories(request, conversation, token_budget, budget, caller, has_summary=has_summary)
    if memories is not None and memories.text:
        part = ContextTurn(ChatMessage("system", memories.text), memories.budget.used, 0, memories.blocks)
        head.append(part)
        allotment.take(SESSION_MEMORIES_SECTION, part.cost)
    else:
        allotment.take(SESSION_MEMORIES_SECTION, 0)
    fits = summary is not None and summary.cost <= min(
        allotment.room_for(SESSION_SUMMARY_SECTION), allotment.left - kept_free
    )
    if summary is not None and fits:
        head.append(summary)
    allotment.take(SESSION_SUMMARY_SECTION, summary.cost if summary is not None and fits else 0)
    with timer.step("fit"):
        fitted = trim_turns_to_budget(
            head,
            conversation.turns,
            token_budget=allotment.room_for(SESSION_SECTION_ORDER[-1]),
            max_tokens=budget.max_tokens,
            model=session.model,
            read=lambda ids: read_message_contents(caller.tenant_id, ids),
        )
    lost = fitted.excluded_count + (1 if summary is not None and summary not in fitted.parts else 0)
    return SessionContext(
        session=session,
        messages=[part.message for part in fitted.parts],
        text=fitted.text,
        blocks=fitted.blocks,
        budget=replace(budget, used=fitted.tokens),
        warnings=_unique(
            [*_warnings(conversation, lost, fitted.incomplete_unit_count), *(memories.warnings if memories else [])]
        ),
        memories=memories,
        budget_profile={"name": conversation.profile.name, "version": conversation.profile.version},
        timings={},
    )


def _budget(
    request: SessionContextRequest, conversation: SessionConversation, calculator: BudgetCalculator
) -> ContextBudget:
    """Return the requested budget, else the window less the reserve for the answer and inexact counting."""
    session = conversation.session
    count = calculator.measure(session.directive, session.model)
    window = session.max_context_tokens
    tokens, reserved = default_budget(window, family_of(session.model).max_output_tokens, is_exact=count.exact)
    if request.max_tokens is not None:
        highest = max(window, calculator.context_window(session.model))
        if not 1 <= request.max_tokens <= highest:
            raise InvalidInput("out_of_range", f"The number must be between 1 and {highest:,}.", "max_tokens")
        tokens = request.max_tokens
    return ContextBudget(tokens, 0, reserved, count.tokenizer, count.exact)


def _directive(conversation: SessionConversation, max_tokens: int, calculator: BudgetCalculator) -> ContextTurn:
    session = conversation.session
    message = ChatMessage("system", session.directive)
    shown = max(calculator.count_tokens(render_transcript([message]), session.model), session.directive_tokens)
    if shown > max_tokens:
        detail = (
            f"The session's directive alone takes {counted(shown, 'token', 'tokens')}; the budget is {max_tokens:,}."
        )
        raise InvalidInput("directive_over_budget", detail, "max_tokens")
    return ContextTurn(message, session.directive_tokens, 2)


def _memories(
    request: SessionContextRequest,
    conversation: SessionConversation,
    token_budget: int,
    budget: ContextBudget,
    caller: _Caller,
    *,
    has_summary: bool,
) -> AssembledContext | None:
    """Return memo, partition summaries and memories in `token_budget` tokens; None if that is too little for any.

    `has_summary`: the current summary fits too, so memories that repeat it are left out.
    """
    session = conversation.session
    token_budget = min(token_budget, budget_calculator().context_window(session.model))
    if token_budget < MEMORIES_TOKENS_MIN:
        return None
    query = request.query or conversation.last_user_text[-_QUERY_CHARACTERS_MAX:]
    context_request = ContextRequest(
        query=query.strip(),
        partition=session.partition_path,
        max_tokens=token_budget,
        model=session.model,
        shares_of=budget.max_tokens,
        already_shown=[*_memories_of(conversation.summary), *(_journalled(conversation) if has_summary else ())],
        **{name: getattr(request, name) for name in MEMORY_FIELDS},
    )
    return assemble_context(
        context_request, tenant_id=caller.tenant_id, reach=caller.reach, actor=caller.actor, now=caller.now
    )


def _memories_of(summary: Message | None) -> list[UUID]:
    """Return the ids of the memories that contain the current summary."""
    return [UUID(memory_id) for memory_id in summary.metadata.get("memory_ids", ())] if summary else []


def _journalled(conversation: SessionConversation) -> list[UUID]:
    """Return the ids of journal memories whose text a statement of the current summary begins with."""
    current = conversation.session.current
    if current is None:
        return []
    told = [statement["text"] for statement in current.statements]
    held = [(entry["memory_id"], entry["text"]) for entry in current.journal if entry["memory_id"]]
    return [UUID(memory_id) for memory_id, text in held if any(one.startswith(text) for one in told)]


def _summary(conversation: SessionConversation, calculator: BudgetCalculator) -> ContextTurn | None:
    """Return the current summary, with a warning if it was condensed often."""
    row, current = conversation.summary, conversation.session.current
    if row is None or current is None:
        return None
    content = "\n".join(filter(None, (row.content, generation_warning(current.generation))))
    tokens = calculator.count_tokens(content, conversation.session.model)
    anchor = Anchor(SESSION_SUMMARY, str(row.pk), max(current.generation, 1))
    return ContextTurn(ChatMessage("system", content), tokens, 1, [Block(SESSION_SUMMARY, anchor, content, tokens)])


def _warnings(conversation: SessionConversation, lost: int, incomplete_units: int) -> list[ContextWarning]:
    session, policy = conversation.session, conversation.policy
    warnings = [ContextWarning("unknown_model", text) for text in budget_calculator().warnings_for(session.model)]
    if session.pressure >= policy.warning_threshold:
        detail = f"The session fills {session.pressure:.0%} of its window and is not being compacted enough."
        warnings.append(ContextWarning("pressure_high", detail))
    if session.current is not None and (text := generation_warning(session.current.generation)):
        warnings.append(ContextWarning("summary_degrades", text))
    if lost:
        left = counted(lost, "message did not fit and is", "messages did not fit and are")
        warnings.append(ContextWarning("trimmed", f"{left} left out."))
    if incomplete_units:
        left = counted(incomplete_units, "message is", "messages are")
        detail = f"{left} left out: calls that wait for results, or results without their call."
        warnings.append(ContextWarning("incomplete_calls", detail))
    return warnings


def _unique(warnings: Sequence[ContextWarning]) -> list[ContextWarning]:
    by_code: Mapping[str, ContextWarning] = {notice.code: notice for notice in reversed(warnings)}
    return [notice for notice in dict.fromkeys(warnings) if by_code[notice.code] is notice]
