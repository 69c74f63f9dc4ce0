"""Sentences into clauses: what opens them without saying anything goes, and each has one subject."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements.dates import GLUE
from compaction.services.pipeline.statements.lexicon import (
    ARTICLES,
    AUXILIARIES,
    CLAUSE_LINKS,
    DROPPED,
    INTERJECTIONS,
    LEAD_INS,
    NO_WORDS,
    POSSESSIVES,
    PREPOSITIONS,
    PURE_INTERJECTIONS,
    SUBJECT_PRONOUNS,
    SUBORDINATE_OPENERS,
    UNCERTAIN,
    YES_WORDS,
)
from compaction.services.pipeline.statements.phrases import (
    CLOSING_HEDGES,
    OPENING_HEDGES,
    SMALL_TALK,
    SMALL_TALK_ADVERBS,
)
from compaction.services.pipeline.statements.words import ends_clause, strip_punctuation

#: The verb of a noun phrase that opens a clause stands within so many tokens.
_VERB_REACH_TOKENS = 6
#: A lead-in before "I" has at most so many tokens.
_LEAD_IN_TOKENS = 8
#: Up to so many tokens without a verb are only half a subject: "my teammates" in "my teammates and I".
_HALF_SUBJECT_TOKENS = 3


@dataclass(frozen=True)
class Clause:
    """One clause of a sentence: the word that linked it to the one before, and its tokens."""

    link: str
    tokens: tuple[str, ...]


def without_opener(tokens: Sequence[str], names: Collection[str]) -> list[str]:
    """The tokens without interjections, greetings, hedges and names called at the start and the end."""
    start, end = 0, len(tokens)
    words = [strip_punctuation(token) for token in tokens]
    while start < end and (size := _opener_size(tokens, words, start, names)):
        start += size
    while start < end and (size := _closer_size(tokens, words, start, end, names)):
        end -= size
    return list(tokens[start:end])


def _opener_size(tokens: Sequence[str], words: Sequence[str], start: int, names: Collection[str]) -> int:
    if size := OPENING_HEDGES.size_at_start(words[start : start + OPENING_HEDGES.longest]):
        return size
    first, is_last = words[start], start + 1 == len(tokens)
    if not first or (is_last and first in ARTICLES):
        return 1
    if first in names and (is_last or ends_clause(tokens[start])):
        return 1
    if first not in INTERJECTIONS:
        return 0
    return int(is_last or ends_clause(tokens[start]) or not _begins_clause(first, words[start + 1], names))


def _begins_clause(first: str, after: str, names: Collection[str]) -> bool:
    """Whether an interjection begins a clause of its own, as in "so happy" or "great news"."""
    if first in PURE_INTERJECTIONS or after in names:
        return False
    return after not in SUBJECT_PRONOUNS and after not in INTERJECTIONS and after not in ("my", "our", "your")


def _closer_size(tokens: Sequence[str], words: Sequence[str], start: int, end: int, names: Collection[str]) -> int:
    if end - start < 2:
        return 0
    is_set_off = ends_clause(tokens[end - 2])
    if words[end - 1] in names and (is_set_off or words[end - 2] in INTERJECTIONS):
        return 1
    size = CLOSING_HEDGES.size_at_end(words[max(start + 1, end - CLOSING_HEDGES.longest) : end])
    return 0 if size == 1 and words[end - 1] == "right" and not is_set_off else size


def polarity(tokens: Sequence[str]) -> str:
    """Whether a sentence opens with "yes" or with "no", in whatever words; "" for neither."""
    first = strip_punctuation(tokens[0]) if tokens else ""
    if first in NO_WORDS:
        return "no"
    return "yes" if first in YES_WORDS and (len(tokens) == 1 or ends_clause(tokens[0])) else ""


def is_small_talk(tokens: Sequence[str]) -> bool:
    """Whether a clause only keeps the conversation going."""
    words = [
        word
        for token in tokens[: SMALL_TALK.longest + 2]
        if (word := strip_punctuation(token)) not in SMALL_TALK_ADVERBS
    ]
    return SMALL_TALK.size_at_start(words) > 0


def split_clauses(tokens: Sequence[str]) -> list[Clause]:
    """The clauses of a sentence; a new one begins where a link or a comma is followed by a subject and its verb."""
    clauses: list[Clause] = []
    start, link = 0, ""
    for index in range(1, len(tokens)):
        if index > start and (begin := _clause_start(tokens, index, start)) is not None:
            clauses.append(Clause(link, tuple(tokens[start:index])))
            link = strip_punctuation(tokens[index]) if begin > index else ""
            start = begin
    clauses.append(Clause(link, tuple(tokens[start:])))
    return [clause for clause in clauses if any(strip_punctuation(token) for token in clause.tokens)]


def _clause_start(tokens: Sequence[str], index: int, start: int) -> int | None:
    """Where the clause that is linked at `index` begins, or None when none does."""
    word, before = strip_punctuation(tokens[index]), tokens[index - 1]
    if not word and tokens[index].strip("-/;") == "":
        return None if _is_half_subject(tokens[start:index]) else index + 1
    if before.endswith((";", "...")) or (before.endswith("-") and strip_punctuation(before)):
        return index
    if word in CLAUSE_LINKS and _opens_clause(tokens, index + 1):
        return None if word == "and" and _is_half_subject(tokens[start:index]) else index + 1
    if before.endswith(",") and is_small_talk(tokens[index:]):
        return index
    if before.endswith((",", ":")) and _opens_clause(tokens, index) and not _is_lead_in(tokens, start):
        return index
    return None


def _is_half_subject(tokens: Sequence[str]) -> bool:
    return len(tokens) <= _HALF_SUBJECT_TOKENS and not any(
        strip_punctuation(token) in AUXILIARIES or strip_punctuation(token) in SUBJECT_PRONOUNS for token in tokens
    )


def _is_lead_in(tokens: Sequence[str], start: int) -> bool:
    """Whether what begins at `start` only leads in: "last week", "in my free time", "when I was ten"."""
    word = strip_punctuation(tokens[start])
    return word in SUBORDINATE_OPENERS or word in PREPOSITIONS or word in LEAD_INS or tokens[start].startswith("(")


def _opens_clause(tokens: Sequence[str], index: int) -> bool:
    """Whether a subject pronoun or a short noun phrase with its auxiliary stands at `index`."""
    while index < len(tokens) and strip_punctuation(tokens[index]) in DROPPED:
        index += 1
    if index + 1 >= len(tokens):
        return False
    word, after = strip_punctuation(tokens[index]), strip_punctuation(tokens[index + 1])
    if word in ("this", "that", "these", "those", "there"):
        return after in AUXILIARIES or after.endswith("s")
    if word in SUBJECT_PRONOUNS:
        return True
    if word in ARTICLES or word in POSSESSIVES:
        return any(strip_punctuation(token) in AUXILIARIES for token in tokens[index + 2 : index + _VERB_REACH_TOKENS])
    return False


def main_clause_first(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """ "When I was ten, I moved" as "I moved" and "when I was ten"; other clauses as they are."""
    if strip_punctuation(tokens[0]) in SUBORDINATE_OPENERS:
        for index in range(1, len(tokens) - 1):
            if tokens[index - 1].endswith(",") and _opens_clause(tokens, index):
                return list(tokens[index:]), list(tokens[:index])
    return list(tokens), []


def subject_first(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """ "Last week I went out" as "I went out" and "last week"; other clauses as they are."""
    if GLUE in tokens[0] and len(tokens) > 2 and strip_punctuation(tokens[1]) not in AUXILIARIES:
        return list(tokens[1:]), [tokens[0]]
    if strip_punctuation(tokens[0]) in UNCERTAIN and len(tokens) > 2:
        return list(tokens[1:]), [tokens[0]]
    if _is_lead_in(tokens, 0) and strip_punctuation(tokens[0]) not in SUBORDINATE_OPENERS - {
        "since",
        "after",
        "before",
        "once",
    }:
        for index in range(1, min(len(tokens) - 1, _LEAD_IN_TOKENS)):
            if strip_punctuation(tokens[index]) in ("i", "we"):
                return list(tokens[index:]), list(tokens[:index])
    return list(tokens), []
