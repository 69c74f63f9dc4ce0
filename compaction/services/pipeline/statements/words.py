"""Words of a clause: tokens that keep their punctuation, and the bare words inside them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compaction.services.pipeline.statements.lexicon import PARTICIPLES_OF_HAS, STATEMENT_STOP_WORDS

#: Scripts without spaces count two characters as a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}|[^\W_]+(?:'[^\W_]+)*")
EDGE = " .,!?;:\"'()[]{}*_~-"
CLAUSE_ENDS = (",", ";", ":", ".", "!", "?")

CONTRACTIONS = {
    "i'm": "I am", "im": "I am", "i've": "I have", "ive": "I have", "i'll": "I will", "i'd": "I would",
    "we're": "we are", "we've": "we have", "we'll": "we will", "we'd": "we would",
    "you're": "you are", "you've": "you have", "you'll": "you will", "you'd": "you would",
    "they're": "they are", "they've": "they have", "they'll": "they will", "they'd": "they would",
    "he's": "he is", "he'll": "he will", "he'd": "he would", "she's": "she is", "she'll": "she will",
    "she'd": "she would",
    "it's": "it is", "it'll": "it will", "it'd": "it would", "that's": "that is", "that'll": "that will",
    "there's": "there is", "here's": "here is", "what's": "what is", "who's": "who is", "let's": "let us",
    "gonna": "going to", "wanna": "want to", "gotta": "have to", "&": "and",
}  # fmt: skip


def strip_punctuation(token: str) -> str:
    """The token in lower case without the punctuation around it."""
    return token.strip(EDGE).lower()


def trailing_punctuation(token: str) -> str:
    """The punctuation at the end of the token."""
    return token[len(token.rstrip(EDGE)) :]


def content_words(text: str) -> list[str]:
    """The words of `text` that carry content, in order and with repetitions."""
    return [word for word in _WORD.findall(text.lower()) if word not in STATEMENT_STOP_WORDS]


def has_content(tokens: Iterable[str]) -> bool:
    return any(strip_punctuation(token) not in STATEMENT_STOP_WORDS for token in tokens if strip_punctuation(token))


def sentence_tokens(sentence: str) -> list[str]:
    """The tokens of a sentence, contractions of pronouns written out."""
    said = [token for token in sentence.split(" ") if token]
    tokens: list[str] = []
    for index, token in enumerate(said):
        if full := CONTRACTIONS.get(token.lower().strip(EDGE)):
            after = strip_punctuation(said[index + 1]) if index + 1 < len(said) else ""
            tokens.extend(_with_had_or_has(full, after).split(" "))
            tokens[-1] += trailing_punctuation(token)
        else:
            tokens.append(token)
    return tokens


def _with_had_or_has(full: str, after: str) -> str:
    """ "I'd been" stands for "I had been", "it's made" for "it has made"."""
    if full.endswith(" would") and after in ("been", "better"):
        return full.replace("would", "had")
    if full.endswith(" is") and after in PARTICIPLES_OF_HAS:
        return full.replace(" is", " has")
    return full


def ends_clause(token: str) -> bool:
    return token.endswith(CLAUSE_ENDS)


def join_tokens(tokens: Iterable[str]) -> str:
    """The tokens as text, without punctuation left at the ends; a comma at the end stays, it links to what follows."""
    text = " ".join(tokens).strip(" .;:!?-")
    return text.rstrip(" ,") + "," if text.endswith(",") else text
