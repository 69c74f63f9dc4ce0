"""Making a compaction's text: summary, journal and retention check, outside of any transaction (ADR-0071, ADR-0072).

Nothing is written here but the breakers of providers.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from compaction.pipeline import breakers
from compaction.pipeline.counting import count_text_tokens
from compaction.pipeline.drafting_input import DraftingClock, DraftingError, DraftingInput
from compaction.pipeline.journal import JournalEntry, classify_entries, strip_recalled_text
from compaction.pipeline.plans import SessionPlan
from compaction.pipeline.summarisers import (
    Summariser,
    SummariserError,
    SummaryResult,
    SummaryTask,
    configured_summariser,
    fallback_summariser,
)
from compaction.services.pipeline.citation_support import is_supported
from compaction.services.pipeline.generations import generation_warning
from compaction.services.pipeline.missing_facts import clauses_with_facts
from compaction.services.pipeline.retention import RetainedFact, RetentionResult, check_retention, extract_facts
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import LIVE, SessionTurn
from context.receipts.results import ContextWarning

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

HEADING = "[CONTEXT SUMMARY]\n"
#: What the journal of a span may take, of the span's tokens, and at least.
JOURNAL_SHARE, JOURNAL_TOKENS_MIN = 0.15, 64
#: How often a run asks a provider that fails for the moment; then it does without.
PROVIDER_ATTEMPTS_MAX = 3
BACKOFF_SECONDS, BACKOFF_SECONDS_MAX = 5.0, 300.0
#: Of a limited time, what is kept for the rules, should the provider take all the rest.
SECONDS_FOR_RULES = 3.0


class ProviderUnavailableError(Exception):
    """The provider fails for the moment: try again after `wait`."""

    def __init__(self, code: str, wait: timedelta) -> None:
        super().__init__(code)
        self.code = code
        self.wait = wait


@dataclass(frozen=True)
class CompactionDraft:
    """A compaction's text and how good it is; all empty where masking is enough."""

    summary: SummaryResult = field(default_factory=lambda: SummaryResult("", ()))
    summary_tokens: int = 0
    journal: Sequence[JournalEntry] = ()
    retention: RetentionResult = field(default_factory=lambda: RetentionResult((), (), 1.0))
    summariser: str = ""
    is_fallback: bool = False
    notices: Sequence[ContextWarning] = ()


def draft_summary(
    task: DraftingInput, *, clock: DraftingClock, reached: Callable[[str], None] = lambda _: None
) -> CompactionDraft:
    """Summarise the span, keep its journal, check what is lost. Called with no scope open.

    Raises `ProviderUnavailableError` where the provider should be asked again later,
    `DraftingError` where no text comes of it.
    """
    drafting = _Drafting(task, clock)
    if not task.plan.plan.is_summary_needed:
        return CompactionDraft(notices=drafting.notices)
    summary = drafting.summary()
    reached("summarised")
    own = strip_recalled_text(task.tenant_id, masked_span_turns(task.plan), now=clock())
    journal = drafting.journal(own) if task.policy.has_journal else []
    reached("journaled")
    facts = extract_facts(own)
    journal = _with_lost_facts(task, summary.text, journal, facts, own, clock()) if task.policy.has_journal else journal
    retention = _retention(facts, summary.text, journal)
    reached("checked")
    return CompactionDraft(
        summary=summary,
        summary_tokens=count_text_tokens(HEADING + summary.text, task.session_model),
        journal=journal,
        retention=retention,
        summariser=drafting.used,
        is_fallback=drafting.is_fallback,
        notices=drafting.notices,
    )


def masked_span_turns(plan: SessionPlan) -> list[SessionTurn]:
    """The span as the context shows it once masked: what a placeholder stands for is neither read nor looked for.

    Logs and tables hold more identifiers than a conversation; they would fill the journal.
    """
    masked = set(plan.plan.mask_ids)
    return [turn for turn in plan.span if turn.state == LIVE and turn.id not in masked]


class _Drafting:
    """One attempt: who was asked, and what is to be reported."""

    def __init__(self, task: DraftingInput, clock: DraftingClock) -> None:
        self._task = task
        self._clock = clock
        self._is_without_provider = False
        self.notices: list[ContextWarning] = []
        self.used = ""
        self.is_fallback = False

    def summary(self) -> SummaryResult:
        """The summary by the model or, where that fails for good, by rules."""
        task = self._task
        if warning := generation_warning(task.generation):
            self._report("accuracy_degrades", warning)
        budget = task.plan.plan.summary_budget_tokens - count_text_tokens(HEADING, task.session_model)
        wish = SummaryTask(
            messages=masked_span_turns(task.plan),
            earlier=self._checked(task.earlier),
            budget_tokens=max(budget, 1),
            count_tokens=lambda text: count_text_tokens(text, task.session_model),
            prompt=task.prompt,
            model=task.model,
        )
        summary, by = self._asked(lambda summariser, limit: _limited(summariser, wish, limit), may_wait=task.may_wait)
        self.used, self.is_fallback = by.name, by.name != configured_summariser().name
        return summary

    def journal(self, own: Sequence[SessionTurn]) -> list[JournalEntry]:
        """Lasting facts by whoever made the summary, sorted out."""
        task = self._task
        tokens = max(int(task.plan.plan.span_tokens * JOURNAL_SHARE), JOURNAL_TOKENS_MIN)
        wish = SummaryTask(
            messages=own,
            earlier=(),
            budget_tokens=tokens,
            count_tokens=lambda text: count_text_tokens(text, task.session_model),
            model=task.model,
        )

        def ask(summariser: Summariser, limit: float | None) -> list[CitedStatement]:
            return summariser.journal(replace(wish, time_limit_seconds=limit))

        told, _ = self._asked(ask, may_wait=False)
        return classify_entries(task.tenant_id, task.partition_path, told, now=self._clock())

    def _asked(self, ask: Callable[[Summariser, float | None], _T], *, may_wait: bool) -> tuple[_T, Summariser]:
        """What the chosen summariser answers, else the one that cannot be away. Raises as `draft_summary` does."""
        chosen = configured_summariser()
        if not chosen.is_local and not self._is_without_provider:
            limit = self._seconds_for_provider()
            if limit is not None and limit <= 0:
                self._without("time_limit", "There was no time left for the model.")
            elif breakers.is_provider_off(self._task.tenant_id, chosen.name, now=self._clock()):
                self._without("provider_off", "The model failed repeatedly and is left alone for a while.")
            else:
                try:
                    answer = ask(chosen, limit)
                except SummariserError as error:
                    self._after_failure(chosen, error, may_wait=may_wait)
                else:
                    breakers.note_success(self._task.tenant_id, chosen.name)
                    return answer, chosen
        local = fallback_summariser()
        try:
            return ask(local, None), local
        except SummariserError as error:
            raise DraftingError(error.code, error.detail) from error

    def _after_failure(self, chosen: Summariser, error: SummariserError, *, may_wait: bool) -> None:
        task = self._task
        is_off = not error.blames_task and breakers.note_failure(task.tenant_id, chosen.name, now=self._clock())
        logger.warning("The model failed (%s), attempt %d", error.code, task.attempt)
        if may_wait and not error.is_permanent and not is_off and task.attempt < PROVIDER_ATTEMPTS_MAX:
            raise ProviderUnavailableError(error.code, _wait(error, task.attempt)) from error
        self._without(error.code, f"{error.detail} The text was made without it.")

    def _without(self, code: str, detail: str) -> None:
        self._is_without_provider = True
        self._report("fallback", f"{detail} ({code})")

    def _seconds_for_provider(self) -> float | None:
        """None: as long as it takes by itself."""
        if self._task.deadline is None:
            return None
        return (self._task.deadline - self._clock()).total_seconds() - SECONDS_FOR_RULES

    def _checked(self, earlier: Sequence[CitedStatement]) -> list[CitedStatement]:
        """The earlier statements whose messages say so; what a person wrote stands."""
        cited = self._task.cited
        kept = [
            one
            for one in earlier
            if one.is_edited or is_supported(one.text, [cited[source] for source in one.message_ids if source in cited])
        ]
        if dropped := len(earlier) - len(kept):
            detail = f"{dropped} earlier statements were dropped: the messages that they cite do not say so."
            self._report("statements_dropped", detail)
        return kept

    def _report(self, code: str, detail: str) -> None:
        self.notices.append(ContextWarning(code, detail))


def _limited(summariser: Summariser, wish: SummaryTask, limit: float | None) -> SummaryResult:
    summary = summariser.summarise(replace(wish, time_limit_seconds=limit))
    if summariser.is_local:
        return summary
    return _supported(summary, wish)


def _supported(summary: SummaryResult, wish: SummaryTask) -> SummaryResult:
    """A model's statements whose messages say so: what it invented is left out."""
    texts = {str(turn.id): f"{turn.name} {turn.content} {turn.tool_calls or ''}" for turn in wish.messages}
    for one in wish.earlier:
        for source in one.message_ids:
            texts[source] = f"{texts.get(source, '')} {one.text}"
    kept = tuple(
        one
        for one in summary.statements
        if is_supported(one.text, [texts[source] for source in one.message_ids if source in texts])
    )
    if not kept:
        raise SummariserError("unsupported", "The messages say nothing of what the model wrote.", is_permanent=False)
    if len(kept) == len(summary.statements):
        return summary
    return SummaryResult("\n".join(one.text for one in kept), kept)


def _wait(error: SummariserError, attempt: int) -> timedelta:
    """Longer each time; at least what the provider asked for."""
    seconds = max(BACKOFF_SECONDS * 2 ** (attempt - 1), error.retry_after_seconds)
    return timedelta(seconds=min(seconds, BACKOFF_SECONDS_MAX))


def _retention(facts: Sequence[RetainedFact], summary: str, journal: Sequence[JournalEntry]) -> RetentionResult:
    return check_retention(facts, [summary, *(entry.held_text for entry in journal)])


def _with_lost_facts(
    task: DraftingInput,
    summary: str,
    journal: list[JournalEntry],
    facts: Sequence[RetainedFact],
    own: Sequence[SessionTurn],
    now: datetime,
) -> list[JournalEntry]:
    """The journal with the clauses that hold what summary and journal lost, until the policy's floor is reached."""
    retention = _retention(facts, summary, journal)
    wanted = math.ceil(round((task.policy.retention_floor - retention.share) * len(facts), 6))
    if wanted <= 0:
        return journal
    told: list[CitedStatement] = []
    for clause in clauses_with_facts(retention.missing, {str(turn.id): turn for turn in own}):
        if wanted <= 0:
            break
        told.append(CitedStatement(clause.text, (clause.message_id,)))
        wanted -= len(clause.facts)
    added = classify_entries(task.tenant_id, task.partition_path, told, now=now)
    known = {entry.told.text for entry in journal}
    return [*journal, *(replace(entry, is_for_retention=True) for entry in added if entry.told.text not in known)]


def retention_to_record(retention: RetentionResult) -> dict[str, Any]:
    """As a compaction keeps it."""
    return {
        "kept": [_fact_record(fact) for fact in retention.kept],
        "missing": [_fact_record(fact) for fact in retention.missing],
        "share": round(retention.share, 4),
    }


def _fact_record(fact: RetainedFact) -> dict[str, Any]:
    return {
        "class": fact.kind,
        "text": fact.text,
        "normalised": fact.normalised,
        "message_ids": [str(one) for one in fact.message_ids],
    }


def recorded_facts(record: Mapping[str, Any], name: str) -> list[RetainedFact]:
    """The facts that a compaction keeps as `kept` or as `missing`."""
    return [
        RetainedFact(one["class"], one["text"], one["normalised"], tuple(one["message_ids"]))
        for one in record.get(name, [])
    ]
