"""The orchestrator of a session's context: read -> compact in an emergency -> memories -> trim -> render -> count.

Called with no scope open. Searching and counting run outside of the short scopes of reading opened here.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID

from compaction.models import Message, Session
from compaction.pipeline.orchestrator import compact_in_emergency
from compaction.pipeline.session_rows import find_session, outlines_to_turns, pressure_parts, read_newest_turns
from compaction.services.pipeline.generations import generation_warning
from compaction.services.sessions import session_budget
from compaction.services.sessions.transcript import ChatMessage, render_transcript, shown_text
from compaction.services.sessions.turns import SessionTurn, UnreadTurns
from compaction.sessions.trimming import (
    SESSION_SUMMARY,
    ContextTurn,
    EmergencyCompaction,
    SessionContext,
    trim_turns_to_budget,
)
from context.assembly.orchestrator import StepTimer, assemble_context
from context.assembly.sources import ContextCaller
from context.models import BudgetProfile
from context.profiles.budget_profiles import budget_profile_for
from context.profiles.token_counters import budget_calculator
from context.receipts.results import Anchor, AssembledContext, Block, ContextBudget, ContextRequest, ContextWarning
from context.services.assembly.model_catalog import family_of
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.numerals import counted

logger = logging.getLogger(__name__)

#: A long message is searched by its end, which usually contains the question.
_QUERY_CHARACTERS_MAX = 2_000
#: Each statement sees rows committed since the previous one, so the read is repeated up to this often until it is
#: consistent.
READS_MAX = 5
#: The newest messages are read until they have this share of the budget plus this many tokens, so that the first
#: message that does not fit is among them. If it is not, because messages are too long for any budget, all messages are
#: read.
READ_SHARE, READ_TOKENS_MORE = 1.25, 2_000
#: Fields that change with every append, masking, compaction or roll-back.
FIELDS_TO_STAY = ("current_id", "message_count", "context_tokens", "model")


@dataclass(frozen=True)
class SessionConversation:
    """The input of a session's context; `profile` is the caller's, `policy` the session's; `turns` have no texts.

    In a long session `turns` lacks those of `unread`.
    """

    session: Session
    profile: BudgetProfile
    policy: CompactionPolicy
    summary: Message | None
    turns: Sequence[SessionTurn]
    unread: UnreadTurns
    last_user_text: str


def read_session_conversation(session_id: UUID, request: ContextRequest, caller: ContextCaller) -> SessionConversation:
    """Read the session in one scope, for a context of the requested size, by default the session's window.

    Raises `NotFound`, or `InvalidInput` for an unknown profile.
    """
    tenant_id = caller.tenant_id
    find = partial(find_session, tenant_id=tenant_id, session_id=session_id, reach=caller.reach)
    with tenant_scope(tenant_id):
        session = find()
        path, name = session.partition_path, request.budget_profile
        profile = budget_profile_for(tenant_id, api_key_id=caller.api_key_id, partition_path=path, name=name)
        policy = budget_profile_for(tenant_id, api_key_id=session.created_by_key_id, partition_path=path)
        messages = Message.objects.for_tenant(tenant_id).of_session(session.pk)
        for _ in range(READS_MAX):
            summary = messages.of_compaction(session.current_id).first() if session.current_id else None
            tokens = session.max_context_tokens if request.max_tokens is None else request.max_tokens
            turns, unread = read_newest_turns(session, int(tokens * READ_SHARE) + READ_TOKENS_MORE)
            last = messages.of_role(Message.Role.USER).newest_original()
            before, session = session, find()
            if all(getattr(session, name) == getattr(before, name) for name in FIELDS_TO_STAY):
                break
    text = last.content if last else ""
    return SessionConversation(session, profile, policy.compaction_policy, summary, turns, unread, text)


def build_session_context(
    request: ContextRequest,
    *,
    session_id: UUID,
    tenant_id: UUID,
    reach: str,
    actor: Actor,
    now: datetime,
    compact: EmergencyCompaction = compact_in_emergency,
) -> SessionContext:
    """Return the context of a session within `reach`, in at most `max_tokens` of its model.

    Directive, memories for the newest message of the user (or for `query`), the current summary, then the newest
    messages that fit: pinned ones first, a tool call never without its results nor a result without its call. If the
    session is over its policy's emergency threshold, `compact` shrinks it before, unless this is a preview. Raises
    `NotFound`, or `InvalidInput` for an impossible request, such as a budget below the directive.
    """
    timer, caller = StepTimer(), ContextCaller(tenant_id, actor, now, reach)
    with timer.step("total"):
        with timer.step("read"):
            conversation = read_session_conversation(session_id, request, caller)
        warnings: list[ContextWarning] = []
        session, policy = conversation.session, conversation.policy
        building = _Building(request, conversation, caller)  # refuses an impossible budget before it compacts
        if not request.preview and policy.has_emergency and session.pressure >= policy.emergency_threshold:
            with timer.step("compact"):
                logger.warning("emergency compaction of session %s at pressure %.2f", session.pk, session.pressure)
                warnings += compact(session, policy, now)
                building = _Building(request, read_session_conversation(session_id, request, caller), caller)
        context = building.build(timer)
    return replace(context, warnings=[*warnings, *context.warnings], timings=timer.milliseconds)


class _Building:
    def __init__(self, request: ContextRequest, conversation: SessionConversation, caller: ContextCaller) -> None:
        self._request, self._conversation, self._caller = request, conversation, caller
        self._session = conversation.session
        self._messages = Message.objects.for_tenant(caller.tenant_id)
        self._calculator = budget_calculator()
        self._budget = self._requested_budget()

    def build(self, timer: StepTimer) -> SessionContext:
        session, conversation, budget = self._session, self._conversation, self._budget
        marker = session_budget.head_marker_tokens(session.model)
        head = [self._directive()] if session.directive else []
        summary = self._summary()
        allocation = session_budget.SessionBudget(
            budget.max_tokens,
            conversation.profile.sections,
            conversation.turns,
            directive_cost=sum(part.tokens + marker for part in head),
            summary_cost=summary.tokens + marker if summary else 0,
            counted_for_memories=self._counted_for_memories(),
            unread_tokens=conversation.unread.tokens,
        )
        with timer.step("memories"):
            memories = self._memories(allocation.memory_tokens - marker, has_summary=allocation.has_summary())
        used = 0
        if memories is not None and memories.text:
            head.append(ContextTurn(ChatMessage("system", memories.text), memories.budget.used, 0, memories.blocks))
            used = head[-1].tokens + marker
        allocation.take_memories(used)
        if allocation.take_summary() and summary is not None:
            head.append(summary)
        with timer.step("fit"):
            fitted = trim_turns_to_budget(
                head,
                conversation.turns,
                token_budget=allocation.message_tokens(),
                max_tokens=budget.max_tokens,
                model=session.model,
                read=self._read_contents,
                unread=conversation.unread,
                read_all=self._read_all_turns,
            )
        lost = fitted.excluded_count + (summary is not None and summary not in fitted.parts)
        first_of_code: dict[str, ContextWarning] = {}
        for notice in (*self._warnings(lost, fitted.incomplete_unit_count), *(memories.warnings if memories else ())):
            first_of_code.setdefault(notice.code, notice)
        return SessionContext(
            session=session,
            messages=[part.message for part in fitted.parts],
            text=fitted.text,
            blocks=fitted.blocks,
            budget=replace(budget, used=fitted.tokens),
            warnings=list(first_of_code.values()),
            memories=memories,
            budget_profile={"name": conversation.profile.name, "version": conversation.profile.version},
            timings={},
        )

    def _read_contents(self, message_ids: Iterable[UUID]) -> dict[UUID, str]:
        """Return the contents of messages by id. Raises `NotFound` if one is gone, because erasures delete sessions."""
        ids = set(message_ids)
        with tenant_scope(self._caller.tenant_id):
            contents: dict[UUID, str] = self._messages.with_ids(ids).contents()
        if len(contents) < len(ids):
            raise NotFound("not_found", "There is no such session.")
        return contents

    def _read_all_turns(self) -> list[SessionTurn]:
        """Return all turns that a context may show, up to the newest one that was read."""
        last = self._conversation.turns[-1].sequence or 0
        with tenant_scope(self._caller.tenant_id):
            rows = self._messages.of_session(self._session.pk).shown().between(0, last)
            return outlines_to_turns(rows.outlines(), model=self._session.model)

    def _counted_for_memories(self) -> int | None:
        """Return the tokens that the pressure counts for memories, None in a smaller budget than the session's own."""
        needed = pressure_parts(self._session)
        is_smaller = self._budget.max_tokens < self._session.max_context_tokens - needed.reply
        return None if is_smaller else needed.memories

    def _requested_budget(self) -> ContextBudget:
        """Return the requested budget, else the window minus the reserve for the reply and for inexact counting."""
        session, requested = self._session, self._request.max_tokens
        count = self._calculator.measure(session.directive, session.model)
        window = session.max_context_tokens
        tokens, reserved = session_budget.default_budget(
            window, family_of(session.model).max_output_tokens, is_exact=count.exact
        )
        if requested is not None:
            highest = max(window, self._calculator.context_window(session.model))
            if not 1 <= requested <= highest:
                raise InvalidInput("out_of_range", f"The number must be between 1 and {highest:,}.", "max_tokens")
            tokens = requested
        return ContextBudget(tokens, 0, reserved, count.tokenizer, count.exact)

    def _directive(self) -> ContextTurn:
        session, max_tokens = self._session, self._budget.max_tokens
        message = ChatMessage("system", session.directive)
        rendered = self._calculator.count_tokens(render_transcript([message]), session.model)
        shown = max(rendered, session.directive_tokens)
        if shown > max_tokens:
            tokens = counted(shown, "token", "tokens")
            detail = f"The session's directive alone takes {tokens}; the budget is {max_tokens:,}."
            raise InvalidInput("directive_over_budget", detail, "max_tokens")
        return ContextTurn(message, session.directive_tokens, 2)

    def _memories(self, token_budget: int, *, has_summary: bool) -> AssembledContext | None:
        """Return memo, partition summaries and memories in `token_budget` tokens; None if that is too little for any.

        `has_summary`: the current summary also fits, so memories that repeat it are excluded.
        """
        session, conversation, caller = self._session, self._conversation, self._caller
        token_budget = min(token_budget, self._calculator.context_window(session.model))
        if token_budget < session_budget.MEMORIES_TOKENS_MIN:
            return None
        in_summary = conversation.summary.metadata.get("memory_ids", ()) if conversation.summary else ()
        query = self._request.query or conversation.last_user_text[-_QUERY_CHARACTERS_MAX:]
        context_request = replace(
            self._request,
            query=query.strip(),
            partition=session.partition_path,
            max_tokens=token_budget,
            model=session.model,
            shares_of=self._budget.max_tokens,
            session_id=session.pk,
            already_shown=[*map(UUID, in_summary), *(_journalled(session) if has_summary else ())],
        )
        return assemble_context(context_request, caller)

    def _summary(self) -> ContextTurn | None:
        row, current = self._conversation.summary, self._session.current
        if row is None or current is None:
            return None
        content = "\n".join(filter(None, (row.content, generation_warning(current.generation))))
        tokens = self._calculator.count_tokens(shown_text(content), self._session.model)
        anchor = Anchor(SESSION_SUMMARY, str(row.pk), max(current.generation, 1))
        return ContextTurn(ChatMessage("system", content), tokens, 1, [Block(SESSION_SUMMARY, anchor, content, tokens)])

    def _warnings(self, lost: int, incomplete_units: int) -> list[ContextWarning]:
        session = self._session
        warnings = [ContextWarning("unknown_model", text) for text in self._calculator.warnings_for(session.model)]
        if session.pressure >= self._conversation.policy.warning_threshold:
            detail = f"The context needs {session.pressure:.0%} of the session's window."
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


def _journalled(session: Session) -> list[UUID]:
    """Return the ids of journal memories whose text a statement of the current summary begins with."""
    statements = [one["text"] for one in session.current.statements] if session.current else []
    stored = [entry for entry in session.current.journal if entry["memory_id"]] if session.current else []
    return [UUID(entry["memory_id"]) for entry in stored if any(text.startswith(entry["text"]) for text in statements)]
