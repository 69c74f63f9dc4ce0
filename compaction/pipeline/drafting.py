"""Draft a compaction outside any transaction: summary, journal and retention check (ADR-0071, ADR-0072).

Only the circuit breakers of providers are written here.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from compaction.models import Message
from compaction.pipeline.drafting_input import DraftingClock, DraftingInput
from compaction.pipeline.fallback import SummariserWithFallback
from compaction.pipeline.fitting import LostStatement, SummaryFitting
from compaction.pipeline.journal import JournalEntry, classify_entries, strip_recalled_text
from compaction.pipeline.notices import left_out_warnings, possible_warnings
from compaction.pipeline.plans import SessionPlan
from compaction.pipeline.session_rows import count_text_tokens
from compaction.pipeline.summarisers import (
    Summariser,
    SummariserError,
    SummaryResult,
    SummaryTask,
    configured_summariser,
)
from compaction.pipeline.summarisers.extractive import cited_statement, restore_statements, speaking_messages
from compaction.services.pipeline.faithfulness import CheckedStatements, SupersededText, check_statements
from compaction.services.pipeline.generations import generation_warning
from compaction.services.pipeline.retention.check import (
    RetainedFact,
    RetentionResult,
    check_retention,
    extract_facts,
    merge_facts,
)
from compaction.services.pipeline.retention.languages import measured_share
from compaction.services.pipeline.retention.stated import WithdrawnText, stated_turns, without_withdrawn
from compaction.services.pipeline.retention.weights import statements_saying, weigh_facts
from compaction.services.pipeline.statements.extraction import extract_statements, forget_extractions
from compaction.services.pipeline.statements.model import Statement
from compaction.services.pipeline.statements.selection import choose_statements
from compaction.services.pipeline.stored_statements import (
    CitedStatement,
    is_supported_by,
    possible_instructions,
    retention_to_record,
    shared_stems,
    why_not_measured,
)
from compaction.services.sessions.turns import LIVE, SessionTurn
from context.receipts.results import ContextWarning
from memories.services.time_limits import in_time

HEADING = "[CONTEXT SUMMARY]\n"
#: Budget of a journal: a share of the span's tokens, and a minimum.
JOURNAL_SHARE, JOURNAL_TOKENS_MIN = 0.3, 64
#: Retention is measured if at least this share of the text is in languages with rules.
MEASURABLE_SHARE_MIN = 0.5
#: The text of the notice for each reason.
NOT_MEASURED = {
    "no_facts": "Retention was not measured: the messages state no facts that rules recognise.",
    "no_rules_for_language": "Retention was not measured: there are no rules for the language of the messages.",
}


@dataclass(frozen=True)
class CompactionDraft:
    """A summary, its journal and the facts they retain; empty where masking is enough."""

    summary: SummaryResult = field(default_factory=lambda: SummaryResult("", ()))
    summary_tokens: int = 0
    journal: Sequence[JournalEntry] = ()
    retention: RetentionResult = field(default_factory=RetentionResult)
    summariser: str = ""
    is_fallback: bool = False
    notices: Sequence[ContextWarning] = ()

    @property
    def retention_record(self) -> dict[str, Any]:
        """The result of the retention check as a compaction stores it."""
        return retention_to_record(self.retention)

    def needs_review(self, retention_floor: float, *, is_emergency: bool = False) -> bool:
        """Return whether a person has to approve the summary before it is applied; never without a summary.

        It retains too little, or its retention is not measured. Outside an emergency, also if it or a fact may instruct
        the assistant.
        """
        is_doubtful = self.possible_instructions > 0 and not is_emergency
        return bool(self.summary.text and (is_doubtful or self.retention.waits_for_review(retention_floor)))

    @property
    def possible_instructions(self) -> int:
        """The number of new texts in summary and journal that may instruct the assistant."""
        statements = [one.as_record() for one in self.summary.statements]
        return len(possible_instructions(statements, [entry.as_record() for entry in self.journal]))


def draft_summary(
    task: DraftingInput, *, clock: DraftingClock, on_step: Callable[[str], None] = lambda _: None
) -> CompactionDraft:
    """Summarise, write the journal, check retention. Raises `ProviderUnavailableError`, `DraftingError`."""
    if not task.plan.plan.is_summary_needed:
        return CompactionDraft()
    drafting = _Drafting(task, clock)
    try:
        summary = drafting.summary()
        on_step("summarised")
        journal = drafting.journal() if task.policy.has_journal else []
        on_step("journaled")
        summary, retention = drafting.with_lost_facts(summary, journal)
        left_out = left_out_warnings(drafting.turns)
        on_step("checked")
    finally:
        forget_extractions()
    draft = CompactionDraft(
        summary=summary,
        summary_tokens=drafting.count(HEADING + summary.text),
        journal=journal,
        retention=retention,
        summariser=drafting.used,
        is_fallback=drafting.is_fallback,
        notices=drafting.notices,
    )
    return replace(draft, notices=[*draft.notices, *left_out, *possible_warnings(draft.possible_instructions)])


def masked_span_turns(plan: SessionPlan) -> list[SessionTurn]:
    """Return the live turns of the span without masked tool outputs, whose identifiers would fill the journal."""
    masked = set(plan.plan.mask_ids)
    return [turn for turn in plan.span if turn.state == LIVE and turn.id not in masked]


class _Drafting:
    def __init__(self, task: DraftingInput, clock: DraftingClock) -> None:
        self._task = task
        self._clock = clock
        self._summariser = SummariserWithFallback(
            task.session.tenant_id,
            clock,
            deadline=task.deadline,
            attempt=task.attempt,
            is_by_rules=task.is_by_rules,
        )
        self._notices: list[ContextWarning] = []
        self.count = partial(count_text_tokens, model=task.session.model)
        self.used = ""
        self.is_fallback = False

    @property
    def notices(self) -> list[ContextWarning]:
        """Return the warnings about the draft."""
        return [*self._notices, *self._summariser.notices]

    @cached_property
    def turns(self) -> list[SessionTurn]:
        """The turns that the summary is about."""
        return masked_span_turns(self._task.plan)

    @cached_property
    def _own(self) -> list[SessionTurn]:
        """The turns without the text that the session's keys received in contexts."""
        session, keys = self._task.session, self._task.api_key_ids
        own = strip_recalled_text(session, self.turns, api_key_ids=keys, now=self._clock())
        # A user's message that seems to consist only of recalled text may imitate a fence.
        left_out = sum(
            turn.role == Message.Role.USER and bool(turn.content.strip()) and not one.content.strip()
            for turn, one in zip(self.turns, own, strict=True)
        )
        if left_out:
            detail = (
                f"User messages that only repeat recalled text: {left_out}. Their facts are neither stored nor checked."
            )
            self._notices.append(ContextWarning("only_recalled_text", detail))
        return own

    @cached_property
    def _extracted(self) -> list[Statement]:
        """The statements that the rules find, except those that later ones replaced."""
        return extract_statements(speaking_messages(self.turns))

    def summary(self) -> SummaryResult:
        """Return the summary by the model or, if that fails permanently, by rules."""
        task = self._task
        if warning := generation_warning(task.generation):
            self._notices.append(ContextWarning("accuracy_degrades", warning))
        self._fitting = self._fitting_into(task.plan.plan.summary_budget_tokens)
        summary_task = SummaryTask(
            messages=self.turns,
            earlier=self._supported_earlier(),
            budget_tokens=self._fitting.budget_tokens,
            longest_tokens=self._longest_tokens(),
            count_tokens=self.count,
            prompt=task.prompt,
            model=task.model,
        )

        def request(summariser: Summariser, limit: float | None) -> SummaryResult:
            summary = summariser.summarise(replace(summary_task, time_limit_seconds=limit))
            return summary if summariser.is_local else self._checked_summary(summary, summary_task)

        summary, by = self._summariser.call(request, can_wait=task.can_wait)
        self.used, self.is_fallback = by.name, by.name != configured_summariser().name
        if summary.dropped:
            self._note_dropped(summary.dropped, "summary")
            summary = self._filled_by_rules(summary)
        return summary

    def journal(self) -> list[JournalEntry]:
        """Return the classified lasting facts, by the summariser of the summary."""
        summary_task = SummaryTask(
            messages=self._own,
            earlier=(),
            budget_tokens=max(int(self._task.plan.plan.span_tokens * JOURNAL_SHARE), JOURNAL_TOKENS_MIN),
            count_tokens=self.count,
            model=self._task.model,
        )

        def request(summariser: Summariser, limit: float | None) -> CheckedStatements:
            entries = summariser.journal(replace(summary_task, time_limit_seconds=limit))
            return CheckedStatements(tuple(entries)) if summariser.is_local else self._checked(entries, ())

        checked = self._summariser.call(request)[0]
        if checked.flaws:
            self._note_dropped(len(checked.flaws), "journal")
        task = self._task
        return classify_entries(task.session, checked.kept, api_key_ids=task.api_key_ids, now=self._clock())

    def with_lost_facts(
        self, summary: SummaryResult, journal: Sequence[JournalEntry]
    ) -> tuple[SummaryResult, RetentionResult]:
        """Return the summary with statements for facts that it would lose, and the check.

        With them it may become longer than planned, up to what the plan allows (`summary_tokens_at_most`). Statements
        with a constraint replace others of lower rank; the rest use the remaining space, and replace others only if
        this raises a share below the minimum. Facts that an emergency does not store are not retained by the journal.
        """
        self._fitting = self._fitting_into(self._task.plan.plan.summary_tokens_at_most)
        facts = self._facts(summary)
        is_measurable = measured_share(turn.content for turn in self._own) >= MEASURABLE_SHARE_MIN
        stored = [entry.existing_text for entry in journal if not (self._task.is_emergency and entry.is_withheld)]
        texts = [*stored, *self._task.journal_before]

        def check(summary: SummaryResult) -> RetentionResult:
            return check_retention(facts, [summary.text, *texts], is_measurable=is_measurable)

        retention = check(summary)
        if lost := self._lost_statements(retention):
            summary = self._fitting.with_lost(summary, lost, self._weight_needed(retention))
            retention = check(summary)
        if self._weight_needed(retention) > 0 and (lost := self._lost_statements(retention)):
            exchanged = self._fitting.exchanged(summary, lost, self._weight_needed(retention))
            summary, retention = max(
                [(summary, retention), (exchanged, check(exchanged))], key=lambda pair: pair[1].share or 0.0
            )
        if reason := why_not_measured(retention):
            self._notices.append(ContextWarning("retention_not_measured", NOT_MEASURED[reason]))
        return summary, retention

    def _facts(self, summary: SummaryResult) -> list[RetainedFact]:
        """Return the facts that all messages so far state as true, without those that a later statement replaced."""
        own = weigh_facts(extract_facts(stated_turns(self._own)), self._extracted)
        facts = merge_facts(self._task.kept_before, self._task.missing_before, own)
        withdrawn = [
            WithdrawnText(old.text, old.message_ids) for statement in self._extracted for old in statement.replaces
        ]
        replaced = {text for statement in summary.statements for text in statement.replaces}
        withdrawn += [WithdrawnText(one.text, one.message_ids) for one in self._task.earlier if one.text in replaced]
        return without_withdrawn(facts, withdrawn)

    def _weight_needed(self, retention: RetentionResult) -> float:
        """Return the weight of facts by which the summary is below the policy's minimum."""
        if retention.share is None:
            return 0.0
        total = sum(fact.weight for fact in (*retention.kept, *retention.missing))
        return round((self._task.policy.retention_floor - retention.share) * total, 6)

    def _lost_statements(self, retention: RetentionResult) -> list[LostStatement]:
        """Return the statements with facts that are lost now or repeated; facts in no statement remain lost."""
        spoken, lost_before = {turn.id for turn in self._own}, {fact.key for fact in self._task.missing_before}
        lost = [one for one in retention.missing if one.key not in lost_before or spoken.intersection(one.message_ids)]
        earlier = self._task.earlier
        old = {(one.text, one.message_ids) for one in earlier}
        facts_of: defaultdict[Statement, list[RetainedFact]] = defaultdict(list)
        for fact, statement in zip(
            lost, statements_saying(lost, [*restore_statements(earlier), *self._extracted]), strict=True
        ):
            if statement is not None:
                facts_of[statement].append(fact)
        return [
            LostStatement(
                cited_statement(statement, old),
                sum(fact.weight for fact in facts),
                any(fact.is_binding for fact in facts),
            )
            for statement, facts in facts_of.items()
        ]

    def _filled_by_rules(self, summary: SummaryResult) -> SummaryResult:
        """Return the summary with the best statements by rules about messages that it does not cite."""
        cited = {message_id for statement in summary.statements for message_id in statement.message_ids}
        others = [one for one in self._extracted if cited.isdisjoint(one.message_ids)]
        available = self._fitting.available_beside(summary.statements)
        if available <= 0 or not others:
            return summary
        added = choose_statements(others, token_budget=available, count_tokens=self.count)
        return self._fitting.fit(summary, [*summary.statements, *(cited_statement(one, ()) for one in added)])

    def _longest_tokens(self) -> int:
        """Return the tokens allowed for a first summary; later ones need the space for earlier statements."""
        plan = self._task.plan.plan
        tokens = plan.summary_budget_tokens if self._task.earlier else plan.summary_tokens_at_most
        return self._fitting_into(tokens).budget_tokens

    def _fitting_into(self, summary_tokens: int) -> SummaryFitting:
        """Fit statements into a summary of this many tokens, less those of its heading."""
        budget_tokens = max(summary_tokens - self.count(HEADING), 1)
        return SummaryFitting([str(turn.id) for turn in self.turns], budget_tokens, self.count)

    def _checked_summary(self, summary: SummaryResult, summary_task: SummaryTask) -> SummaryResult:
        checked = self._checked(summary.statements, summary_task.earlier)
        if not checked.kept:
            detail = "The messages support none of the model's statements."
            raise SummariserError("unsupported", detail, is_permanent=False)
        if not checked.flaws:
            return summary
        text = "\n".join(one.text for one in checked.kept)
        return replace(summary, text=text, statements=checked.kept, dropped=summary.dropped + len(checked.flaws))

    def _checked(self, statements: Sequence[CitedStatement], earlier: Sequence[CitedStatement]) -> CheckedStatements:
        superseded = [
            SupersededText(old.text, old.message_ids, one.text, one.message_ids)
            for one in self._extracted
            for old in one.replaces
        ]
        return check_statements(statements, self.turns, earlier=earlier, superseded=superseded)

    def _note_dropped(self, count: int, where: str) -> None:
        what = "statement of the model was" if count == 1 else "statements of the model were"
        detail = f"{count} {what} left out of the {where}: the cited messages do not say so."
        self._notices.append(ContextWarning("unsupported_dropped", detail))

    def _supported_earlier(self) -> list[CitedStatement]:
        """Return the earlier statements that their messages support, and all that a person edited."""
        earlier = self._task.earlier
        stems = {message_id: shared_stems(text) for message_id, text in in_time(self._task.cited.items())}

        def is_supported(one: CitedStatement) -> bool:
            return is_supported_by(
                shared_stems(one.text), [stems[source] for source in one.message_ids if source in stems]
            )

        kept = [one for one in in_time(earlier) if one.is_edited or is_supported(one)]
        if dropped := len(earlier) - len(kept):
            detail = f"{dropped} earlier statements were dropped: the messages that they cite do not support them."
            self._notices.append(ContextWarning("statements_dropped", detail))
        return kept
