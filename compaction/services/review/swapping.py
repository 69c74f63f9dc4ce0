"""Swap statements of a summary for candidates: find their position, build the new text, and choose one to remove."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.review.edited_statements import add_to_text, remove_from_text
from compaction.services.review.kinds import kind_priority

#: The number of first characters by which a statement is found in its message.
_OPENING_CHARACTERS = 24


@dataclass(frozen=True)
class StatementOrder:
    """The order of a conversation: sequence and text of each message by id."""

    sequences: Mapping[str, int]
    contents: Mapping[str, str]

    def insert(self, statements: Sequence[CitedStatement], added: CitedStatement) -> list[CitedStatement]:
        """Return the statements with `added` before the first one that was said later."""
        place = self._place(added)
        later = (index for index, one in enumerate(statements) if place and place < self._place(one))
        index = next(later, len(statements))
        return [*statements[:index], added, *statements[index:]]

    def _place(self, statement: CitedStatement) -> tuple[int, ...]:
        """Return sequence and position of the statement's text; () if it cites no known message."""
        known = [one for one in statement.message_ids if one in self.sequences]
        if not known:
            return ()
        last = max(known, key=self.sequences.__getitem__)
        opening = statement.text.removeprefix(f"{statement.subject}: ")[:_OPENING_CHARACTERS]
        return self.sequences[last], self.contents.get(last, "").find(opening)


def swap_text(
    text: str,
    statements: Sequence[CitedStatement],
    *,
    removed: CitedStatement | None,
    added: CitedStatement | None,
    render: Callable[[Sequence[CitedStatement]], str],
    before: Sequence[CitedStatement],
) -> str:
    """Return the text of `statements`, which were `before`; a person's wording and layout are kept."""
    if text == render(before):
        return render(statements)
    if removed:
        text = remove_from_text(text, removed)
    if added:
        place = [one is added for one in statements].index(True)
        text = add_to_text(text, added, after=statements[place - 1] if place else None)
    return text


def statements_to_leave(statements: Sequence[CitedStatement], tokens: Sequence[int], lacking: int) -> list[int]:
    """Return the indexes of the statements of at least `lacking` tokens, the least important and shortest first.

    Text of a person is kept.
    """
    large_enough = [
        index
        for index, (statement, size) in enumerate(zip(statements, tokens, strict=True))
        if size >= lacking and not statement.is_edited
    ]
    return sorted(large_enough, key=lambda index: (-kind_priority(statements[index].kind), tokens[index], -index))
