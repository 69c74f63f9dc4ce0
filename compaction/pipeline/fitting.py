"""Fit statements into a summary's token budget, including those whose facts it would lose (ADR-0104, ADR-0118)."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compaction.pipeline.summarisers import SummaryResult
from compaction.pipeline.summarisers.extractive import restore_statements
from compaction.services.pipeline.statements.model import Statement, render_statements
from compaction.services.pipeline.statements.selection import choose_statements
from compaction.services.pipeline.stored_statements import CitedStatement
from memories.services.time_limits import in_time

#: The minimum worth of a statement that is added for its facts, unless it binds.
ADDED_WORTH_MIN = 0.12
#: Tokens around a statement that is added: a heading of its day, separators.
ADDED_STATEMENT_TOKENS = 6
#: The largest share of the budget that lost statements may take from others while retention is below the floor.
EXCHANGED_SHARE_MAX = 0.25


@dataclass(frozen=True)
class LostStatement:
    """A statement that the summary lacks, the weight of its facts that are lost, and whether one of them binds."""

    statement: CitedStatement
    weight: float
    is_binding: bool


@dataclass(frozen=True)
class SummaryFitting:
    """A summary's budget in tokens of text, their counter, and the messages by whose order statements are sorted."""

    message_ids: Sequence[str]
    budget_tokens: int
    count_tokens: Callable[[str], int]

    def with_lost(self, summary: SummaryResult, lost: Sequence[LostStatement], weight_needed: float) -> SummaryResult:
        """Return the summary with the lost statements: binding ones, then those with the most weight that fit."""
        statements = list(summary.statements)
        if binding := [one for one in lost if one.is_binding]:
            weight_needed -= sum(one.weight for one in binding)
            statements = self._chosen(
                [*statements, *(replace(one.statement, worth=1.0) for one in binding)], self.budget_tokens
            )
        available = self.budget_tokens - self.count_tokens(self._text(statements))
        others = [one for one in lost if not one.is_binding and one.statement.worth >= ADDED_WORTH_MIN]
        statements += self._best_for_their_facts(others, available, weight_needed)
        return summary if statements == list(summary.statements) else self.fit(summary, statements)

    def exchanged(self, summary: SummaryResult, lost: Sequence[LostStatement], weight_needed: float) -> SummaryResult:
        """Return the summary with the best lost statements in place of those that rank lowest."""
        added = self._best_for_their_facts(lost, int(self.budget_tokens * EXCHANGED_SHARE_MAX), weight_needed)
        available = self.budget_tokens - sum(map(self._cost, added))
        return self.fit(summary, [*self._chosen(summary.statements, available), *added])

    def fit(self, summary: SummaryResult, statements: Sequence[CitedStatement]) -> SummaryResult:
        """Return the summary with these statements in the order of their messages, the first ones if not all fit."""
        places = {message_id: place for place, message_id in enumerate(self.message_ids)}

        def place(statement: CitedStatement) -> int:
            return min((places.get(one, -1) for one in statement.message_ids), default=-1)

        ordered = sorted(_without_contained(statements), key=place)
        text = self._text(ordered)
        if self.count_tokens(text) > self.budget_tokens:
            ordered = sorted(self._chosen(ordered, self.budget_tokens), key=place)
            text = self._text(ordered)
        texts = {one.text for one in ordered}
        candidates = tuple(one for one in summary.candidates if one.text not in texts)
        return replace(summary, text=text, statements=tuple(ordered), candidates=candidates)

    def available_beside(self, statements: Sequence[CitedStatement]) -> int:
        """Return the tokens that a statement in addition to these may have; less than 1 if none fits."""
        return self.budget_tokens - self.count_tokens(self._text(statements)) - ADDED_STATEMENT_TOKENS

    def _best_for_their_facts(
        self, lost: Sequence[LostStatement], available: int, weight_needed: float
    ) -> list[CitedStatement]:
        """Return the statements with the most weight of facts per token, until the weight is reached or none fits."""
        best = []
        for one in sorted(lost, key=lambda other: -other.weight / self._cost(other.statement)):
            cost = self._cost(one.statement)
            if weight_needed > 0 and cost <= available:
                best.append(one.statement)
                weight_needed, available = weight_needed - one.weight, available - cost
        return best

    def _cost(self, statement: CitedStatement) -> int:
        return self.count_tokens(statement.text) + ADDED_STATEMENT_TOKENS

    def _chosen(self, statements: Sequence[CitedStatement], budget_tokens: int) -> list[CitedStatement]:
        by_key = {(one.text, one.message_ids): one for one in statements}
        restored = restore_statements(list(by_key.values()))
        chosen = choose_statements(restored, token_budget=budget_tokens, count_tokens=self.count_tokens)
        return [by_key[one.text, one.message_ids] for one in chosen]

    def _text(self, statements: Sequence[CitedStatement]) -> str:
        return render_statements(restore_statements(statements))


def _without_contained(statements: Sequence[CitedStatement]) -> list[CitedStatement]:
    """Return the statements that are not part of a longer one."""
    runs = restore_statements(statements)
    of_messages: defaultdict[tuple[str, ...], list[Statement]] = defaultdict(list)
    for run in runs:
        of_messages[run.message_ids].append(run)
    return [
        one
        for one, part in zip(statements, in_time(runs), strict=True)
        if not any(run.contains(part) for run in of_messages[part.message_ids])
    ]
