"""Sentences into clauses with one subject each, and clauses into parts, without what says nothing."""

from collections.abc import Collection, Sequence

from compaction.services.pipeline.statements import lexicon
from compaction.services.pipeline.statements.dates import GLUE
from compaction.services.pipeline.statements.words import bare_word, ends_clause, has_content, word_at

#: The verb of a noun phrase that opens a clause is within so many tokens.
_VERB_REACH_TOKENS = 6
#: A lead-in before "I" has at most so many tokens.
_LEAD_IN_TOKENS = 8
#: Up to so many tokens without a verb are only half a subject: "my teammates" in "my teammates and I".
_HALF_SUBJECT_TOKENS = 3
#: A part may end before a preposition only behind so many words of content,
MIN_WORDS_BEFORE_PREPOSITION = 3
#: and before "which", "because" and the like behind so many.
MIN_WORDS_BEFORE_CLAUSE = 2
#: Adverbs that are dropped, unless one of these follows ("so that", "even if", "rather than").
_ADVERBS_OF_LINKS = lexicon.word_set("so even such rather just")
_LINKS_OF_ADVERBS = lexicon.word_set("that as many far if though much than like")


def without_opener(tokens: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the tokens without interjections, greetings, hedges and called names at the start and the end."""
    start, end = 0, len(tokens)
    words = [bare_word(token) for token in tokens]
    while start < end and (size := _opener_size(tokens, words, start, names)):
        start += size
    while end - start > 1 and (size := _closer_size(tokens, words, start, end, names)):
        end -= size
    return list(tokens[start:end])


def _opener_size(tokens: Sequence[str], words: Sequence[str], start: int, names: Collection[str]) -> int:
    if size := lexicon.OPENING_HEDGES.size_at_start(words[start:]):
        return size
    first, is_last = words[start], start + 1 == len(tokens)
    if not first or (is_last and first in lexicon.ARTICLES):
        return 1
    is_set_off = is_last or ends_clause(tokens[start])
    if first in names and is_set_off:
        return 1
    return int(first in lexicon.INTERJECTIONS and (is_set_off or not _begins_clause(first, words[start + 1], names)))


def _begins_clause(first: str, after: str, names: Collection[str]) -> bool:
    """Whether an interjection begins a clause of its own, as in "so happy" or "great news"."""
    if first in lexicon.PURE_INTERJECTIONS or after in names:
        return False
    return after not in lexicon.SUBJECT_PRONOUNS | lexicon.INTERJECTIONS and after not in ("my", "our", "your")


def _closer_size(tokens: Sequence[str], words: Sequence[str], start: int, end: int, names: Collection[str]) -> int:
    is_set_off = ends_clause(tokens[end - 2])
    if words[end - 1] in names and (is_set_off or words[end - 2] in lexicon.INTERJECTIONS):
        return 1
    size = lexicon.CLOSING_HEDGES.size_at_end(words[start + 1 : end])
    return 0 if size == 1 and words[end - 1] == "right" and not is_set_off else size


def polarity(tokens: Sequence[str]) -> str:
    """Return "yes" or "no" for a sentence that opens with either, in whatever words; "" for neither."""
    first = word_at(tokens, 0)
    if first in lexicon.NO_WORDS:
        return "no"
    return "yes" if first in lexicon.YES_WORDS and (len(tokens) == 1 or ends_clause(tokens[0])) else ""


def is_small_talk(tokens: Sequence[str]) -> bool:
    """Return whether a clause only keeps the conversation going."""
    words = map(bare_word, tokens[: lexicon.SMALL_TALK.longest + 2])
    said = [word for word in words if word not in lexicon.SMALL_TALK_ADVERBS]
    return lexicon.SMALL_TALK.size_at_start(said) > 0


def split_clauses(tokens: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return the clauses, each with the word that links it; one begins at a link or comma before subject and verb."""
    clauses: list[tuple[str, Sequence[str]]] = []
    start, link = 0, ""
    for index in range(1, len(tokens)):
        if index > start and (begin := _clause_start(tokens, index, start)) is not None:
            clauses.append((link, tokens[start:index]))
            start, link = begin, bare_word(tokens[index]) if begin > index else ""
    clauses.append((link, tokens[start:]))
    return [(link, clause) for link, clause in clauses if any(map(bare_word, clause))]


def _clause_start(tokens: Sequence[str], index: int, start: int) -> int | None:
    """Where the clause that is linked at `index` begins, or None when none does."""
    word, before = bare_word(tokens[index]), tokens[index - 1]
    if not word and tokens[index].strip("-/;") == "":
        return None if _is_half_subject(tokens[start:index]) else index + 1
    if before.endswith((";", "...")) or (before.endswith("-") and bare_word(before)):
        return index
    if word in lexicon.CLAUSE_LINKS and _opens_clause(tokens, index + 1):
        return None if word == "and" and _is_half_subject(tokens[start:index]) else index + 1
    if before.endswith(",") and is_small_talk(tokens[index:]):
        return index
    if before.endswith((",", ":")) and _opens_clause(tokens, index) and not _is_lead_in(tokens[start]):
        return index
    return None


def _is_half_subject(tokens: Sequence[str]) -> bool:
    verbs_or_subjects = lexicon.AUXILIARIES | lexicon.SUBJECT_PRONOUNS
    return len(tokens) <= _HALF_SUBJECT_TOKENS and verbs_or_subjects.isdisjoint(map(bare_word, tokens))


def _is_lead_in(token: str) -> bool:
    """Whether what begins with it only leads in: "last week", "in my free time", "when I was ten"."""
    word = bare_word(token)
    openers = lexicon.SUBORDINATE_OPENERS | lexicon.PREPOSITIONS | lexicon.LEAD_INS
    return word in openers or token.startswith("(")


def _opens_clause(tokens: Sequence[str], index: int) -> bool:
    """Whether a subject pronoun or a short noun phrase with its auxiliary is at `index`."""
    while word_at(tokens, index) in lexicon.DROPPED:
        index += 1
    if index + 1 >= len(tokens):
        return False
    word, after = word_at(tokens, index), word_at(tokens, index + 1)
    if word in ("this", "that", "these", "those", "there"):
        return after in lexicon.AUXILIARIES or after.endswith("s")
    if word in lexicon.ARTICLES | lexicon.POSSESSIVES:
        return not lexicon.AUXILIARIES.isdisjoint(map(bare_word, tokens[index + 2 : index + _VERB_REACH_TOKENS]))
    return word in lexicon.SUBJECT_PRONOUNS


def main_clause_first(tokens: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return "When I was ten, I moved" as "I moved" and "when I was ten"; other clauses as they are."""
    if bare_word(tokens[0]) in lexicon.SUBORDINATE_OPENERS:
        for index in range(1, len(tokens) - 1):
            if tokens[index - 1].endswith(",") and _opens_clause(tokens, index):
                return tokens[index:], tokens[:index]
    return tokens, ()


def subject_first(tokens: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return "Last week I went out" as "I went out" and "last week"; other clauses as they are."""
    word = bare_word(tokens[0])
    is_date = GLUE in tokens[0] and word_at(tokens, 1) not in lexicon.AUXILIARIES
    if len(tokens) > 2 and (is_date or word in lexicon.UNCERTAIN):
        return tokens[1:], tokens[:1]
    if _is_lead_in(tokens[0]) and (
        word not in lexicon.SUBORDINATE_OPENERS or word in ("since", "after", "before", "once")
    ):
        for index in range(1, min(len(tokens) - 1, _LEAD_IN_TOKENS)):
            if bare_word(tokens[index]) in ("i", "we"):
                return tokens[index:], tokens[:index]
    return tokens, ()


def split_into_parts(tokens: Sequence[str]) -> list[list[str]]:
    """Return the tokens in parts that may be left off from the end; the first says something by itself."""
    parts: list[list[str]] = [[]]
    content = 0
    for index, token in enumerate(tokens):
        if content and _may_part(tokens, index, content):
            parts.append([])
            content = 0
        parts[-1].append(token)
        content += bare_word(token) not in lexicon.STATEMENT_STOP_WORDS
    if len(parts) > 1 and not has_content(parts[-1]):
        parts[-2:] = [parts[-2] + parts[-1]]
    while word_at(parts[-1], len(parts[-1]) - 1) in lexicon.CLAUSE_LINKS:
        parts[-1].pop()
    return [short for part in parts if (short := drop_fillers(part))]


def _may_part(tokens: Sequence[str], index: int, content: int) -> bool:
    word, before = bare_word(tokens[index]), tokens[index - 1]
    binding = lexicon.BOUND_OPENERS | lexicon.PREPOSITIONS | lexicon.CLAUSE_LINKS
    if word in lexicon.BOUND_OPENERS or bare_word(before) in binding:
        return False
    if before.endswith((",", ";", ".", "!", "-")):
        return True
    if word in lexicon.PART_OPENERS:
        return content >= MIN_WORDS_BEFORE_CLAUSE
    return word in lexicon.PREPOSITIONS - lexicon.BOUND_PREPOSITIONS and content >= MIN_WORDS_BEFORE_PREPOSITION


def drop_fillers(tokens: Sequence[str]) -> list[str]:
    """Return the tokens without intensifiers and fillers; a comma behind one goes to the word before it."""
    words = [bare_word(token) for token in tokens]
    result: list[str] = []
    index = 0
    while index < len(tokens):
        size = _filler_size(tokens[index], words[index:])
        if not size:
            result.append(tokens[index])
        elif result and tokens[index + size - 1].endswith(",") and not result[-1].endswith(","):
            result[-1] += ","
        index += size or 1
    return result


def _filler_size(token: str, words: Sequence[str]) -> int:
    size = lexicon.FILLERS.size_at_start(words)
    if size and words[size : size + 1] != ["as"]:
        return size
    if not words[0]:
        return int(not any(character.isalnum() for character in token))
    if words[0] not in lexicon.DROPPED or token.startswith(('"', "'")):
        return 0
    return int(words[0] not in _ADVERBS_OF_LINKS or len(words) < 2 or words[1] not in _LINKS_OF_ADVERBS)
