"""How rare the words of a text are, in any language."""

import re
from collections.abc import Mapping

from compaction.services.pipeline.statements.languages import stop_words
from memories.services.text_cache import cached_texts
from memories.services.tokens import load_encoding

#: Its table lists frequent pieces of text first, so the place of a word shows how common it is.
RARITY_ENCODING = "cl100k_base"
#: The place in the table at which a word of two tokens counts, and the places added for every further token.
RARE_PLACE, PLACES_PER_TOKEN, TOKENS_MAX = 100_000, 20_000, 6
#: The weight of a word grows with this power of its place in the table, so rarer words weigh more.
RARITY_EXPONENT = 0.3
COMMON_PLACE = 300
NUMBER_WEIGHT = 12.0
NAME_FACTOR = 4.0
#: Maximum words of one statement that count, so that a list of rare words is not preferred.
WORDS_COUNTED_MAX = 40
#: Words are compared by this many first letters, so that inflections count.
STEM_CHARACTERS = 5

#: A capitalised word within a sentence.
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")
_UNSPACED, _PAIR = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]"), re.compile(r"..?", re.DOTALL)
_WORD = re.compile(r"[^\W_]+(?:['’.:,/@_-]+[^\W_]+)*")


def content_words(text: str) -> list[str]:
    """Return the words of content in order, in lower case; numbers keep their points and colons.

    Scripts without spaces give pairs of characters.
    """
    stops = stop_words()
    found = (word.lower().replace("’", "'").removesuffix("'s") for word in _WORD.findall(text))
    return [
        word
        for run in found
        for word in (_PAIR.findall(run) if _UNSPACED.search(run) else (run,))
        if word not in stops and (len(word) > 1 or word.isdigit() or not word.isascii())
    ]


def stem(word: str) -> str:
    """Return what words of one root have in common: their first letters; a word with digits stays whole."""
    return word if any(map(str.isdigit, word)) else word[:STEM_CHARACTERS]


def word_weights(text: str) -> Mapping[str, float]:
    """Return the weight of each content word of a statement by its stem: rare words, names and numbers weigh most."""
    words = content_words(text)[:WORDS_COUNTED_MAX]
    names = {stem(name.lower()) for name in _NAME.findall(text)}
    return {stem(word): _weight(word) * (NAME_FACTOR if stem(word) in names else 1.0) for word in words}


def _weight(word: str) -> float:
    if any(map(str.isdigit, word)):
        return NUMBER_WEIGHT
    return float(((_place(word) + COMMON_PLACE) / COMMON_PLACE) ** RARITY_EXPONENT)


@cached_texts(20_000)
def _place(word: str) -> int:
    tokens = load_encoding(RARITY_ENCODING).encode_ordinary(f" {word[:64]}")
    if len(tokens) == 1:
        return tokens[0]
    return RARE_PLACE + PLACES_PER_TOKEN * (min(len(tokens), TOKENS_MAX) - 2)
