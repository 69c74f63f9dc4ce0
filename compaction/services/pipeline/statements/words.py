"""Tokens that keep their punctuation, the bare words inside them, and verbs that agree with a name."""

import re
from collections.abc import Iterable, Iterator, Sequence

from compaction.services.pipeline.statements import lexicon

#: Scripts without spaces count two characters as a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}|[^\W_]+(?:'[^\W_]+)*")
_EDGE = " .,!?;:\"'()[]{}*_~-"
_THIRD_PERSON = {
    "am": "is", "are": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "were": "was",
    "weren't": "wasn't", "aren't": "isn't", "ain't": "isn't",
}  # fmt: skip
#: The number of tokens behind the subject in which adverbs are skipped.
_VERB_REACH_TOKENS = 4


def bare_word(token: str) -> str:
    """Return the token in lower case without the punctuation around it."""
    return token.strip(_EDGE).lower()


def word_at(tokens: Sequence[str], index: int) -> str:
    """Return the bare word at `index`, "" outside the tokens."""
    return bare_word(tokens[index]) if 0 <= index < len(tokens) else ""


def trailing_punctuation(token: str) -> str:
    """Return the punctuation at the end of the token."""
    return token[len(token.rstrip(_EDGE)) :]


def ends_clause(token: str) -> bool:
    """Return whether punctuation behind the token ends a clause."""
    return token.endswith((",", ";", ":", ".", "!", "?"))


def all_words(text: str) -> list[str]:
    """Return every word of `text` in lower case."""
    return _WORD.findall(text.lower())


def content_words(text: str) -> list[str]:
    """Return the words of `text` that carry content, in order and with repetitions."""
    return [word for word in all_words(text) if word not in lexicon.STATEMENT_STOP_WORDS]


def has_content(tokens: Iterable[str]) -> bool:
    """Return whether any token carries content."""
    return any(word not in lexicon.STATEMENT_STOP_WORDS for word in map(bare_word, tokens) if word)


def sentence_tokens(sentence: str) -> list[str]:
    """Return the tokens of a sentence, contractions of pronouns written out."""
    said = [token for token in sentence.split(" ") if token]  # a resolved date contains other spaces
    tokens: list[str] = []
    for index, token in enumerate(said):
        if full := lexicon.CONTRACTIONS.get(token.lower().strip(_EDGE)):
            tokens += _with_had_or_has(full, word_at(said, index + 1)).split(" ")
            tokens[-1] += trailing_punctuation(token)
        else:
            tokens.append(token)
    return tokens


def _with_had_or_has(full: str, after: str) -> str:
    """ "I'd been" stands for "I had been", "it's made" for "it has made"."""
    if full.endswith(" would") and after in ("been", "better"):
        return full.replace("would", "had")
    if full.endswith(" is") and after in lexicon.PARTICIPLES_OF_HAS:
        return full.replace(" is", " has")
    return full


def join_tokens(tokens: Iterable[str]) -> str:
    """Return the tokens as text without punctuation at the ends, except a comma that links to what follows."""
    text = " ".join(tokens).strip(" .;:!?-")
    return text.rstrip(" ,") + "," if text.endswith(",") else text


def third_person(verb: str) -> str:
    """Return the form of `verb` that goes with a name; past forms and modals stay."""
    word = verb.lower()
    if word in _THIRD_PERSON:
        return _THIRD_PERSON[word]
    if not word.isalpha() or word in lexicon.AUXILIARIES or is_past(word) or word.endswith("ing"):
        return verb
    if word.endswith(("ss", "sh", "ch", "x", "o", "z")):
        return verb + "es"
    if word.endswith("s"):
        return verb
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def third_person_token(token: str) -> str:
    """Return `third_person` of a token that may carry punctuation."""
    verb = token.strip(_EDGE)
    return token.replace(verb, third_person(verb), 1) if verb else token


def third_person_clause(tokens: Sequence[str]) -> list[str]:
    """Return the tokens behind "I" with their first verb in the third person."""
    result = list(tokens)
    for place in verb_places(result, 0):
        result[place] = third_person_token(result[place])
    return result


def is_past(word: str) -> bool:
    """Return whether a verb in lower case is a past form or a modal, the same for every person."""
    return word.removeprefix("re") in lexicon.IRREGULAR_PAST or (word.endswith("ed") and not word.endswith("eed"))


def verb_places(tokens: Sequence[str], start: int, *, only_telling: bool = False) -> Iterator[int]:
    """Yield where the verb is at or soon behind `start`, if any; `only_telling`: only a form that shows its person."""
    for place in range(start, min(start + _VERB_REACH_TOKENS, len(tokens))):
        word = bare_word(tokens[place])
        is_adverb = word.endswith("ly") and word not in lexicon.VERBS_IN_LY and place + 1 < len(tokens)
        if is_adverb or word in lexicon.DROPPED or word in lexicon.FREQUENCY_ADVERBS:
            continue
        if not only_telling or word in _THIRD_PERSON:
            yield place
        return
