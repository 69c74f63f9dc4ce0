"""Draft a compaction: summary, journal and retention check, outside any transaction (ADR-0071, ADR-0072).

Only the breakers of providers are written here.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from compaction.models import Message
from compaction.pipeline import breakers
from compaction.pipeline.journal import JournalEntry, classify_entries, strip_recalled_text
from compaction.pipeline.plans import DraftingClock, DraftingError, DraftingInput, SessionPlan
from compaction.pipeline.session_rows import count_text_tokens, messages_to_turns
from compaction.pipeline.summarisers import (
    Summariser,
    SummariserError,
    SummaryResult,
    SummaryTask,
    configured_summariser,
    fallback_summariser,
)
from compaction.services.pipeline.generations import generation_warning
from compaction.services.pipeline.missing_facts import clauses_with_facts
from compaction.services.pipeline.retention.check import (
    RetainedFact,
    RetentionResult,
    check_retention,
    extract_facts,
    merge_facts,
)
from compaction.services.pipeline.stored_statements import CitedStatement, is_supported, retention_to_record
from compaction.services.sessions.turns import LIVE, SessionTurn
from context.receipts.results import ContextWarning
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

HEADING = "[CONTEXT SUMMARY]\n"
#: Budget of a journal: a share of the span's tokens, and a minimum.
JOURNAL_SHARE, JOURNAL_TOKENS_MIN = 0.15, 64
#: How often a run calls a provider that fails temporarily, before rules write the summary.
PROVIDER_ATTEMPTS_MAX = 3
BACKOFF_SECONDS, BACKOFF_SECONDS_MAX = 5.0, 300.0
#: Seconds of a time limit that are kept for the rules.
SECONDS_FOR_RULES = 3.0


class ProviderUnavailableError(Exception):
    """The provider fails temporarily: try again after `wait`."""

    def __init__(self, code: str, wait: timedelta) -> None:
        super().__init__(code)
        self.code = code
        self.wait = wait


@dataclass(frozen=True)
class CompactionDraft:
    """A summary, its journal and the facts they retain; empty where masking is enough."""

    summary: SummaryResult = field(default_factory=lambda: SummaryResult("", ()))
    summary_tokens: int = 0
    journal: Sequence[JournalEntry] = ()
    retention: RetentionResult = field(default_factory=lambda: RetentionResult((), (), 1.0))
    summariser: str = ""
    is_fallback: bool = False
    notices: Sequence[ContextWarning] = ()

    @property
    def retention_record(self) -> dict[str, Any]:
        """The result of the retention check as a compaction stores it."""
        return retention_to_record(self.retention)


def draft_summary(
    task: DraftingInput, *, clock: DraftingClock, on_step: Callable[[str], None] = lambda _: None
) -> CompactionDraft:
    """Summarise, write the journal, check retention. Raises `ProviderUnavailableError`, `DraftingError`."""
    if not task.plan.plan.is_summary_needed:
        return CompactionDraft()
    drafting = _Drafting(task, clock)
    summary = drafting.summary()
    on_step("summarised")
    own = drafting.without_recalled(masked_span_turns(task.plan))
    journal = drafting.journal(own) if task.policy.has_journal else []
    on_step("journaled")
    facts = merge_facts(task.kept_before, task.missing_before, extract_facts(own))
    if task.policy.has_journal:
        journal += drafting.lost_facts(drafting.retention(facts, summary.text, journal), journal, own)
    retention = drafting.retention(facts, summary.text, journal)
    on_step("checked")
    return CompactionDraft(
        summary=summary,
        summary_tokens=drafting.count(HEADING + summary.text),
        journal=journal,
        retention=retention,
        summariser=drafting.used,
        is_fallback=drafting.is_fallback,
        notices=drafting.notices,
    )


def masked_span_turns(plan: SessionPlan) -> list[SessionTurn]:
    """Return the live turns of the span without masked tool outputs, whose identifiers would fill the journal."""
    masked = set(plan.plan.mask_ids)
    return [turn for turn in plan.span if turn.state == LIVE and turn.id not in masked]


class _Drafting:
    def __init__(self, task: DraftingInput, clock: DraftingClock) -> None:
        self._task = task
        self._tenant_id = task.session.tenant_id
        self._clock = clock
        self._is_without_provider = False
        self.count = partial(count_text_tokens, model=task.session.model)
        self.notices: list[ContextWarning] = []
        self.used = ""
        self.is_fallback = False

    def summary(self) -> SummaryResult:
        """Return the summary by the model or, if that fails permanently, by rules."""
        task = self._task
        if warning := generation_warning(task.generation):
            self.notices.append(ContextWarning("accuracy_degrades", warning))
        summary_task = SummaryTask(
            messages=masked_span_turns(task.plan),
            earlier=self._supported_earlier(),
            budget_tokens=max(task.plan.plan.summary_budget_tokens - self.count(HEADING), 1),
            count_tokens=self.count,
            prompt=task.prompt,
            model=task.model,
        )

        def ask(summariser: Summariser, limit: float | None) -> SummaryResult:
            summary = summariser.summarise(replace(summary_task, time_limit_seconds=limit))
            return summary if summariser.is_local else _supported(summary, summary_task)

        summary, by = self._ask_with_fallback(ask, can_wait=task.can_wait)
        self.used, self.is_fallback = by.name, by.name != configured_summariser().name
        return summary

    def without_recalled(self, turns: Sequence[SessionTurn]) -> list[SessionTurn]:
        """Return the turns without the text that the session's keys received in contexts."""
        task = self._task
        own = strip_recalled_text(task.session, turns, api_key_ids=task.api_key_ids, now=self._clock())
        # A user's message that seems to be recalled text alone may be one that imitates a fence.
        left_out = sum(
            turn.role == Message.Role.USER and bool(turn.content.strip()) and not one.content.strip()
            for turn, one in zip(turns, own, strict=True)
        )
        if left_out:
            detail = (
                f"User messages that only repeat recalled text: {left_out}. Their facts are neither stored nor checked."
            )
            self.notices.append(ContextWarning("only_recalled_text", detail))
        return own

    def journal(self, own: Sequence[SessionTurn]) -> list[JournalEntry]:
        """Return the classified lasting facts, by the summariser of the summary."""
        summary_task = SummaryTask(
            messages=own,
            earlier=(),
            budget_tokens=max(int(self._task.plan.plan.span_tokens * JOURNAL_SHARE), JOURNAL_TOKENS_MIN),
            count_tokens=self.count,
            model=self._task.model,
        )

        def ask(summariser: Summariser, limit: float | None) -> list[CitedStatement]:
            return summariser.journal(replace(summary_task, time_limit_seconds=limit))

        return self._classified(self._ask_with_fallback(ask, can_wait=False)[0])

    def retention(
        self, facts: Sequence[RetainedFact], summary: str, journal: Sequence[JournalEntry]
    ) -> RetentionResult:
        """Return which facts the summary and the journals of all generations contain."""
        return check_retention(
            facts, [summary, *(entry.existing_text for entry in journal), *self._task.journal_before]
        )

    def lost_facts(
        self, retention: RetentionResult, journal: Sequence[JournalEntry], own: Sequence[SessionTurn]
    ) -> list[JournalEntry]:
        """Return entries with clauses for the facts lost now, until the policy's retention threshold is reached."""
        facts = len(retention.kept) + len(retention.missing)
        spoken, lost_before = {turn.id for turn in own}, {fact.key for fact in self._task.missing_before}
        lost = [one for one in retention.missing if one.key not in lost_before or spoken.intersection(one.message_ids)]
        needed = math.ceil(round((self._task.policy.retention_floor - retention.share) * facts, 6))
        statements: list[CitedStatement] = []
        for clause in clauses_with_facts(lost, self._turns_of(lost, own)) if needed > 0 else ():
            if needed <= 0:
                break
            statements.append(CitedStatement(clause.text, (clause.message_id,)))
            needed -= len(clause.facts)
        known = {entry.statement.text for entry in journal}
        added = self._classified(statements) if statements else []
        return [replace(entry, is_for_retention=True) for entry in added if entry.statement.text not in known]

    def _turns_of(self, facts: Sequence[RetainedFact], own: Sequence[SessionTurn]) -> dict[str, SessionTurn]:
        """Return the turns of the span, and those of earlier generations that contain the facts, by id."""
        turns = {str(turn.id): turn for turn in own}
        ids = {UUID(str(one)) for fact in facts for one in fact.message_ids if str(one) not in turns}
        with tenant_scope(self._tenant_id):
            rows = Message.objects.for_tenant(self._tenant_id).with_ids(ids).without_vectors()
            earlier = messages_to_turns(rows, model=self._task.session.model)
        return turns | {str(turn.id): turn for turn in self.without_recalled(earlier)}

    def _classified(self, statements: Sequence[CitedStatement]) -> list[JournalEntry]:
        task = self._task
        return classify_entries(task.session, statements, api_key_ids=task.api_key_ids, now=self._clock())

    def _ask_with_fallback(
        self, ask: Callable[[Summariser, float | None], _T], *, can_wait: bool
    ) -> tuple[_T, Summariser]:
        """Return the answer of the configured summariser, else of the local one. Raises as `draft_summary` does."""
        chosen = configured_summariser()
        if not chosen.is_local and not self._is_without_provider:
            deadline = self._task.deadline
            limit = None if deadline is None else (deadline - self._clock()).total_seconds() - SECONDS_FOR_RULES
            if limit is not None and limit <= 0:
                self._without("time_limit", "There was no time left for the model.")
            elif breakers.is_provider_off(self._tenant_id, chosen.name, now=self._clock()):
                self._without("provider_off", "The model failed repeatedly and is not called for a while.")
            else:
                try:
                    answer = ask(chosen, limit)
                except SummariserError as error:
                    self._after_failure(chosen, error, can_wait=can_wait)
                else:
                    breakers.note_success(self._tenant_id, chosen.name)
                    return answer, chosen
        local = fallback_summariser()
        try:
            return ask(local, None), local
        except SummariserError as error:
            raise DraftingError(error.code, error.detail) from error

    def _after_failure(self, chosen: Summariser, error: SummariserError, *, can_wait: bool) -> None:
        attempt = self._task.attempt
        is_off = not error.blames_task and breakers.note_failure(self._tenant_id, chosen.name, now=self._clock())
        logger.warning("The model failed (%s), attempt %d", error.code, attempt)
        if can_wait and not error.is_permanent and not is_off and attempt < PROVIDER_ATTEMPTS_MAX:
            # Doubled each time, at least the provider's own delay.
            seconds = max(BACKOFF_SECONDS * 2 ** (attempt - 1), error.retry_after_seconds)
            wait = timedelta(seconds=min(seconds, BACKOFF_SECONDS_MAX))
            raise ProviderUnavailableError(error.code, wait) from error
        self._without(error.code, f"{error.detail} The text was made without it.")

    def _without(self, code: str, detail: str) -> None:
        self._is_without_provider = True
        self.notices.append(ContextWarning("fallback", f"{detail} ({code})"))

    def _supported_earlier(self) -> list[CitedStatement]:
        """Return the earlier statements that their messages support, and all that a person edited."""
        earlier = self._task.earlier
        kept = [one for one in earlier if one.is_edited or _is_supported(one, self._task.cited)]
        if dropped := len(earlier) - len(kept):
            detail = f"{dropped} earlier statements were dropped: the messages that they cite do not support them."
            self.notices.append(ContextWarning("statements_dropped", detail))
        return kept


def _is_supported(statement: CitedStatement, texts: Mapping[str, str]) -> bool:
    return is_supported(statement.text, [texts[source] for source in statement.message_ids if source in texts])


def _supported(summary: SummaryResult, summary_task: SummaryTask) -> SummaryResult:
    texts = {str(turn.id): f"{turn.name} {turn.content} {turn.tool_calls or ''}" for turn in summary_task.messages}
    for one in summary_task.earlier:
        for source in one.message_ids:
            texts[source] = f"{texts.get(source, '')} {one.text}"
    kept = tuple(one for one in summary.statements if _is_supported(one, texts))
    if not kept:
        detail = "The messages support nothing of what the model wrote."
        raise SummariserError("unsupported", detail, is_permanent=False)
    if len(kept) == len(summary.statements):
        return summary
    return SummaryResult("\n".join(one.text for one in kept), kept)
