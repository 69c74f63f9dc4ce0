"""The weight of a word: rare words, numbers and names weigh much, small talk little."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache

from compaction.services.pipeline.statements.lexicon import FAINT_WORDS, PREPOSITIONS
from compaction.services.pipeline.statements.words import bare_word, content_words
from memories.services.tokens import load_encoding

#: Its table lists frequent pieces of text first, so the place of a word tells how common it is.
RARITY_ENCODING = "cl100k_base"
#: A word of two tokens counts as this place in the table, every further token as so many places more.
RARE_PLACE, PLACES_PER_TOKEN, _MAX_TOKENS = 100_000, 20_000, 6
#: How much rarer words are worth more: weight grows with this power of the place.
RARITY_EXPONENT = 0.2
COMMON_PLACE = 300
#: Beyond this place a word is too rare to be sure that it is no name.
COMMON_WORD_PLACE = 32_000
NUMBER_WEIGHT = 12.0
NAME_FACTOR = 4.0
FAINT_FACTOR = 0.35
ADVERB_FACTOR = 0.5
#: For words behind a preposition or in a list.
OBJECT_FACTOR = 1.3
#: A word said n times is worth n to this power as much.
REPEATED_EXPONENT = 0.7


def word_weights(tokens: Sequence[str], counts: Counter[str], names: Collection[str]) -> dict[str, float]:
    """Return the weight of each content word of a part; names of the speakers have none."""
    weights: dict[str, float] = {}
    before = ""
    for index, token in enumerate(tokens):
        for word in content_words(token):
            if word.removesuffix("'s") in names:
                continue
            repeated = max(counts[word], 1) ** REPEATED_EXPONENT
            weights[word] = max(weights.get(word, 0.0), _weight(word, token, before, index) * repeated)
        before = bare_word(token)
    return weights


def _weight(word: str, token: str, before: str, index: int) -> float:
    if word.isdigit():
        return NUMBER_WEIGHT
    weight: float = ((_place(word) + COMMON_PLACE) / COMMON_PLACE) ** RARITY_EXPONENT
    if word in FAINT_WORDS:
        weight *= FAINT_FACTOR
    elif index and token.lstrip("\"'(")[:1].isupper():
        weight *= NAME_FACTOR
    if before in PREPOSITIONS or before in ("and", "or"):
        weight *= OBJECT_FACTOR
    if word.endswith("ly") or "'" in word:
        weight *= ADVERB_FACTOR
    return weight


def is_name(word: str) -> bool:
    """Return whether a capitalised first word is a name: it is written with a capital more often than without."""
    word = word.removesuffix("'s")
    return _place(word) < _place(word.lower())


def may_be_name(word: str) -> bool:
    """Return whether a capitalised word that opens a sentence may be a name: it is one, or no common word."""
    return is_name(word) or _place(word.removesuffix("'s").lower()) > COMMON_WORD_PLACE


@lru_cache(maxsize=50_000)
def _place(word: str) -> int:
    tokens = load_encoding(RARITY_ENCODING).encode_ordinary(f" {word}")
    if len(tokens) == 1:
        return tokens[0]
    return RARE_PLACE + PLACES_PER_TOKEN * (min(len(tokens), _MAX_TOKENS) - 2)
