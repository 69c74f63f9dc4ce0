"""Choose among stored memories for the summary of their partition: verbatim, each with its own day (ADR-0104)."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from compaction.services.pipeline.retention.matches import normalised_words
from compaction.services.pipeline.statements.languages import Language, language_of, main_language
from compaction.services.pipeline.statements.model import Statement, render_statements
from compaction.services.pipeline.statements.prediction import predict_text
from compaction.services.pipeline.statements.selection import choose_statements
from compaction.services.pipeline.statements.sentences import SentenceRole, split_sentences
from memories.services.time_limits import in_time

#: From a longer memory, single sentences are chosen.
WHOLE_CHARACTERS_MAX = 400
_NOT_STATED = (SentenceRole.CODE, SentenceRole.TABLE, SentenceRole.QUOTE)


@dataclass(frozen=True)
class StoredText:
    """A memory, or a person's text about a partition below; with `day` None, it has no heading."""

    id: str
    content: str
    day: date | None = None
    is_pinned: bool = False


def choose_texts(
    texts: Sequence[StoredText], *, token_budget: int, count_tokens: Callable[[str], int]
) -> list[Statement]:
    """Return what fits the budget in the given order: pinned texts first, then the best by rank, each once."""
    language = main_language(text.content for text in texts)
    seen: set[str] = set()
    pinned: list[Statement] = []
    others: list[Statement] = []
    for text in in_time(texts):
        for statement in _statements(text, language):
            key = normalised_words(statement.text)
            if key.strip() and key not in seen:
                seen.add(key)
                (pinned if text.is_pinned else others).append(statement)
    first = choose_statements(pinned, token_budget=token_budget, count_tokens=count_tokens)
    available = token_budget - count_tokens(f"{render_statements(first)}\n") if first else token_budget
    chosen = first + choose_statements(others, token_budget=max(available, 0), count_tokens=count_tokens)
    places = {text.id: place for place, text in enumerate(texts)}
    chosen.sort(key=lambda statement: places[statement.message_ids[0]])
    if count_tokens(render_statements(chosen)) <= token_budget:
        return chosen
    return chosen[
        : bisect_right(
            range(1, len(chosen)), token_budget, key=lambda end: count_tokens(render_statements(chosen[:end]))
        )
    ]


def _statements(text: StoredText, main: Language) -> list[Statement]:
    language = language_of(text.content, main)
    content = " ".join(text.content.split())
    if len(content) <= WHOLE_CHARACTERS_MAX:
        return [_statement(text, content)]
    # a quotation in a long memory stays with the sentence that names its author
    sentences = (one for one in split_sentences(text.content, language) if one.role not in _NOT_STATED)
    return [_statement(text, one.text) for one in sentences]


def _statement(text: StoredText, content: str) -> Statement:
    _, predicted = predict_text(content)
    return Statement(content, (text.id,), predicted.kind, stated_on=text.day, worth=predicted.worth)
