"""A clause cut into parts that may be left off from the end, each without the words that carry nothing."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.services.pipeline.statements.lexicon import (
    BOUND_OPENERS,
    BOUND_PREPOSITIONS,
    CLAUSE_LINKS,
    DROPPED,
    PART_OPENERS,
    PREPOSITIONS,
    STATEMENT_STOP_WORDS,
    word_set,
)
from compaction.services.pipeline.statements.phrases import FILLERS
from compaction.services.pipeline.statements.words import has_content, strip_punctuation

#: A part may end before a preposition only behind so many words of content,
MIN_WORDS_BEFORE_PREPOSITION = 3
#: and before "which", "because" and the like behind so many.
MIN_WORDS_BEFORE_CLAUSE = 2
#: Adverbs that are dropped, unless one of these follows ("so that", "even if", "rather than").
_ADVERBS_OF_LINKS = frozenset(("so", "even", "such", "rather", "just"))
_LINKS_OF_ADVERBS = word_set("that as many far if though much than like")


def split_into_parts(tokens: Sequence[str]) -> list[list[str]]:
    """The tokens in parts, the first of which says something by itself; tokens that carry nothing are gone."""
    parts: list[list[str]] = [[]]
    content = 0
    for index, token in enumerate(tokens):
        if content and _may_part(tokens, index, content):
            parts.append([])
            content = 0
        parts[-1].append(token)
        content += strip_punctuation(token) not in STATEMENT_STOP_WORDS
    if len(parts) > 1 and not has_content(parts[-1]):
        parts[-2:] = [parts[-2] + parts[-1]]
    while parts[-1] and strip_punctuation(parts[-1][-1]) in CLAUSE_LINKS:
        parts[-1].pop()
    return [short for part in parts if (short := drop_fillers(part))]


def _may_part(tokens: Sequence[str], index: int, content: int) -> bool:
    word, before = strip_punctuation(tokens[index]), tokens[index - 1]
    if word in BOUND_OPENERS or strip_punctuation(before) in BOUND_OPENERS | PREPOSITIONS | CLAUSE_LINKS:
        return False
    if before.endswith((",", ";", ".", "!", "-")):
        return True
    if word in PART_OPENERS:
        return content >= MIN_WORDS_BEFORE_CLAUSE
    return word in PREPOSITIONS and word not in BOUND_PREPOSITIONS and content >= MIN_WORDS_BEFORE_PREPOSITION


def drop_fillers(tokens: Sequence[str]) -> list[str]:
    """The tokens without intensifiers and fillers; a comma behind one goes to the word before it."""
    words = [strip_punctuation(token) for token in tokens]
    result: list[str] = []
    index = 0
    while index < len(tokens):
        size = _filler_size(tokens, words, index)
        if not size:
            result.append(tokens[index])
        elif result and tokens[index + size - 1].endswith(",") and not result[-1].endswith(","):
            result[-1] += ","
        index += size or 1
    return result


def _filler_size(tokens: Sequence[str], words: Sequence[str], index: int) -> int:
    size = FILLERS.size_at_start(words[index : index + FILLERS.longest])
    if size and words[index + size : index + size + 1] != ["as"]:
        return size
    word = words[index]
    if not word:
        return int(not any(character.isalnum() for character in tokens[index]))
    if word not in DROPPED or tokens[index].startswith(('"', "'")):
        return 0
    after = words[index + 1] if index + 1 < len(words) else ""
    return int(not (word in _ADVERBS_OF_LINKS and after in _LINKS_OF_ADVERBS))
