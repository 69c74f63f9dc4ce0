"""The text of a summary after a swap, and which statements fit its budget."""

from collections.abc import Sequence
from functools import cached_property
from uuid import UUID

from compaction.models import Compaction, Message
from compaction.pipeline.drafting import HEADING
from compaction.pipeline.session_rows import count_text_tokens
from compaction.pipeline.summarisers.extractive import restore_statements
from compaction.services.pipeline.statements.model import render_statements
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.review.swapping import StatementOrder, statements_to_leave, swap_text

#: Maximum statements tried for each candidate.
SWAPS_TRIED_MAX = 3


class SummaryBudget:
    """The statements of a compaction's summary and its candidates, with exact token counts. Called inside a scope."""

    def __init__(self, compaction: Compaction) -> None:
        self._compaction = compaction
        self.statements = list(map(CitedStatement.of, compaction.statements))
        self.candidates = list(map(CitedStatement.of, compaction.candidates))

    def tokens_over_budget(self, text: str) -> int:
        """Return by how many tokens the text exceeds both the budget and the present summary; 0 if it fits."""
        budget = self._compaction.summary_budget_tokens or self._compaction.original_token_count
        return max(self._tokens(text) - max(budget, self._compaction.summary_token_count), 0)

    def tokens_added(self, candidate: CitedStatement) -> int:
        """Return the tokens that a candidate adds; it may share the day and the label of its neighbours."""
        text, _ = self.swapped(added=candidate)
        return self._tokens(text) - self._compaction.summary_token_count

    def place_to_swap(self, candidate: CitedStatement, lacking: int) -> int | None:
        """Return the index of a statement that the candidate can replace; None if there is none.

        `lacking` are the tokens over the budget while both are in the summary.
        """
        for index in statements_to_leave(self.statements, self._sizes, lacking)[:SWAPS_TRIED_MAX]:
            text, _ = self.swapped(removed=self.statements[index], added=candidate)
            if not self.tokens_over_budget(text):
                return index
        return None

    def swapped(
        self, *, removed: CitedStatement | None = None, added: CitedStatement | None = None
    ) -> tuple[str, list[CitedStatement]]:
        """Return the text and the statements without `removed` and with `added`."""
        statements = [one for one in self.statements if one is not removed]
        if added:
            statements = self._order.insert(statements, added)
        text = swap_text(
            self._compaction.summary_text,
            statements,
            removed=removed,
            added=added,
            render=lambda some: render_statements(restore_statements(some)),
            before=self.statements,
        )
        return text, statements

    def _tokens(self, text: str) -> int:
        return count_text_tokens(HEADING + text, self._compaction.session.model)

    @cached_property
    def _sizes(self) -> list[int]:
        return [count_text_tokens(one.text, self._compaction.session.model) for one in self.statements]

    @cached_property
    def _order(self) -> StatementOrder:
        cited: Sequence[CitedStatement] = [*self.statements, *self.candidates]
        ids = {UUID(one) for statement in cited for one in statement.message_ids}
        rows = Message.objects.for_tenant(self._compaction.tenant_id).with_ids(ids).without_vectors()
        known = [message for message in rows if message.sequence is not None]
        sequences = {str(message.pk): message.sequence for message in known}
        return StatementOrder(sequences, {str(message.pk): message.content for message in known})
