"""The part of a summary that is stored as a memory: what is not stored as a fact of its own (ADR-0104)."""

from collections.abc import Collection, Sequence

from compaction.services.pipeline.retention.matches import normalised_words
from compaction.services.pipeline.statements.model import Statement, StatementKind, render_statements
from compaction.services.pipeline.stored_statements import CitedStatement, shared_word_share
from memories.services.hygiene.statements import states_the_same

#: Only texts that share so many words of content are compared as statements.
COMPARED_SHARE_MIN = 0.8


def text_without_stored(summary: str, statements: Sequence[CitedStatement], stored: Collection[str]) -> str:
    """Return the summary without statements that repeat a stored text; "" if none remains."""
    left = without_stored(statements, stored)
    if len(left) == len(statements):
        return summary
    return render_statements(
        [Statement(one.text, one.message_ids, StatementKind.of(one.kind), one.subject, one.stated_on) for one in left]
    )


def without_stored(statements: Sequence[CitedStatement], stored: Collection[str]) -> list[CitedStatement]:
    """Return the statements that none of the stored texts says."""
    words = {normalised_words(text) for text in stored}

    def is_stored(statement: CitedStatement) -> bool:
        if normalised_words(statement.text) in words:
            return True
        near = (text for text in stored if shared_word_share(statement.text, text) >= COMPARED_SHARE_MIN)
        return any(states_the_same(statement.text, text) for text in near)

    return [statement for statement in statements if not is_stored(statement)]
