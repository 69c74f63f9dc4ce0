"""Whether two texts make the same statement (ADR-0095)."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from memories.services.hygiene.statements.articles import lacks_article
from memories.services.hygiene.statements.lists import is_list_reordered
from memories.services.hygiene.statements.reading import ParsedStatement, read_statement
from memories.services.hygiene.statements.vocabulary import (
    CONFUSABLE,
    ENGLISH,
    LIST_ANDS,
    NEUTRAL,
    SCOPE_WORDS,
    LanguageVocabulary,
)
from memories.services.hygiene.statements.words import Word

#: Maximum pairs in the cache, because contexts compare the same memories repeatedly: as many as the statements that
#: `read_statement` caches.
PAIRS_CACHED = 128
#: The maximum number of words of a phrase that may be moved to the other end of a sentence.
PHRASE_WORDS_MAX = 40
#: In texts of at most this many words, a comma may change who is meant: "Eat, grandma."
COMMA_WORDS_MAX = 5
#: The minimum number of letters of a word in which a typing error is recognised.
TYPO_LETTERS_MIN = 7
#: English words in which a doubled letter distinguishes the vowel before it, as in "scrapping" and "scraping".
_SHORT_SYLLABLE = re.compile(r"[^aeiou]*[aeiou]+([^aeiou])\1(?:ing|ed|ers?|est|y|ies|l[ey])")
#: Prefixes after which a hyphen distinguishes words, as in "re-sign" and "resign".
_SEPARATE_PREFIXES = frozenset(["re", "un", "in"])


def states_the_same(one: str, other: str) -> bool:
    """Whether two texts make the same statement; False if in doubt."""
    return one == other or are_equivalent(read_statement(one), read_statement(other))


@lru_cache(PAIRS_CACHED)
def are_equivalent(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether two statements are equivalent; False if in doubt."""
    if one.key != other.key or _has_case_clash(one, other):
        return False
    if one.unsure_text and other.unsure_text:
        neutral = (read_statement(each.unsure_text, NEUTRAL) for each in (one, other))
        return are_equivalent(*neutral)
    left, right, language = one.words, other.words, one.language
    if _is_sequence_equal(left, right, language) or _is_sequence_equal(right, left, language):
        return True
    if _differ_in_article(one, other) or _differ_in_article(other, one):
        return True
    return _differ_in_typo(one, other) or _is_reordered(one, other) or _is_reordered(other, one)


def _differ_in_article(shorter: ParsedStatement, longer: ParsedStatement) -> bool:
    language, x, y = longer.language, shorter.words, longer.words
    return language is shorter.language and lacks_article(x, y, language) and _is_sequence_equal(x, y[1:], language)


def _differ_in_typo(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether the texts are equal except for a typing error in one word."""
    x, y = one.words, other.words
    if len(x) != len(y) or one.language is not other.language:
        return False
    places = [place for place, pair in enumerate(zip(x, y, strict=True)) if not _agree(*pair)]
    if len(places) != 1 or not _is_typo(x[places[0]], y[places[0]], one.language):
        return False
    corrected = [*x[: places[0]], y[places[0]]._replace(break_before=x[places[0]].break_before), *x[places[0] + 1 :]]
    return _is_sequence_equal(corrected, y, one.language)


def _is_typo(one: Word, other: Word, language: LanguageVocabulary) -> bool:
    """Whether ordinary long words differ in one doubled letter or, in English, in two swapped letters."""
    x, y = sorted((one.text, other.text), key=len)
    if (
        {one.case, other.case} != {"l"}
        or one.is_value
        or not (x + y).isalpha()
        or len(x) < TYPO_LETTERS_MIN
        or x[0] != y[0]
    ):
        return False
    if any(text.startswith(CONFUSABLE) for text in (x, y)) or not language.unended.isdisjoint((x, y)):
        return False
    at = next(place for place, sign in enumerate(y) if x[place : place + 1] != sign)
    if len(x) == len(y):
        is_swapped = x[at : at + 2] == y[at : at + 2][::-1] and x[at + 2 :] == y[at + 2 :]
        return language is ENGLISH and len(x) > TYPO_LETTERS_MIN and is_swapped
    is_doubled = y[at - 1] == y[at] and x[at:] == y[at + 1 :] and y[at] in language.doubled
    return is_doubled and not _SHORT_SYLLABLE.fullmatch(y)


def _has_case_clash(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether a word is a name in one of the statements and never in the other."""
    names, common = (
        [{word.text for word in each.words if word.case and word.case in cases} for each in (one, other)]
        for cases in ("CN", "l")
    )
    return bool(names[0] & common[1] - names[1] or names[1] & common[0] - names[0])


def _agree(one: Word, other: Word) -> bool:
    if one.text == other.text:
        return True
    cases = {one.case, other.case}
    return one.stem == other.stem and not one.is_value and "C" not in cases and cases != {"S"}


def _is_sequence_equal(left: Sequence[Word], right: Sequence[Word], language: LanguageVocabulary) -> bool:
    i = j = 0
    while i < len(left) and j < len(right):
        count = _words_matched(left[i], right[j:])
        if not count or not _breaks_agree(left, i, right, j, language):
            return False
        i, j = i + 1, j + count
    return i == len(left) and j == len(right)


def _words_matched(one: Word, others: Sequence[Word]) -> int:
    """Return how many of `others`, at the beginning, are `one`; a hyphenated word may be joined or in two words."""
    parts = one.parts
    if bool(parts) == bool(others[0].parts):
        return int(_agree(one, others[0]))
    if not parts:
        return 0
    if tuple(word.text for word in others[: len(parts)]) == parts:
        return 0 if parts[-1].endswith("ing") else len(parts)
    is_joined = "".join(parts) == others[0].text.lower() or _agree(one, others[0])
    return int(parts[0] not in _SEPARATE_PREFIXES and is_joined)


def _breaks_agree(left: Sequence[Word], i: int, right: Sequence[Word], j: int, language: LanguageVocabulary) -> bool:
    one, other = left[i].break_before, right[j].break_before
    if i and j and (max(one, other) == 2) and not (one and other):
        return False
    is_short = max(len(left), len(right)) <= COMMA_WORDS_MAX and left[i].text not in language.conjunctions | LIST_ANDS
    before = language.negations | language.relatives
    after = language.reporting | language.relatives
    is_strict = i and (is_short or left[i - 1].text in before or left[i].text in after)
    return not (is_strict and bool(one) != bool(other))


def _is_reordered(fronted: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether the texts differ in the place of phrases that may stand first, in the middle or last."""
    x, y = fronted.words, other.words
    if len(x) != len(y) or not _have_equal_words(x, y) or fronted.language.reporting & {word.text for word in x}:
        return False
    left, right = _sentences(x), _sentences(y)
    if len(left) != len(right):
        return False
    language = fronted.language
    return all(
        _is_sequence_equal(one, two, language) or _is_moved(one, two, language, fronted if place == 0 else None)
        for place, (one, two) in enumerate(zip(left, right, strict=True))
    )


def _have_equal_words(x: Sequence[Word], y: Sequence[Word]) -> bool:
    if Counter(_texts(x)) != Counter(_texts(y)):
        return False
    return Counter(word.text for word in x) == Counter(word.text for word in y) or all(
        word.case in ("l", "") for word in (*x, *y) if word.text != word.stem
    )


def _sentences(words: Sequence[Word]) -> list[Sequence[Word]]:
    starts = [0, *(place for place, word in enumerate(words) if place and word.break_before == 2), len(words)]
    return [words[start:end] for start, end in pairwise(starts)]


def _texts(words: Sequence[Word]) -> list[str]:
    return [word.stem for word in words]


def _is_moved(
    one: Sequence[Word], two: Sequence[Word], language: LanguageVocabulary, statement: ParsedStatement | None
) -> bool:
    x, y = _texts(one), _texts(two)
    if statement is not None and statement.is_inverted and _may_be_verb(one[0], language) and _is_inversion(x, y):
        return True
    if statement is not None and statement.is_verb_last and _is_inversion(x[-1:] + x[:-1], y):
        return True
    return (
        _is_fronted(one, two, language) or _is_adverb_moved(one, two, language) or is_list_reordered(one, two, language)
    )


def _may_be_verb(word: Word, language: LanguageVocabulary) -> bool:
    """Whether the word may be a verb before its subject."""
    if language.auxiliaries is not None:
        return word.text in language.auxiliaries
    others = language.adverbials | language.adverbs | language.leading_articles | language.negations
    return word.case in ("l", "") and not word.is_value and word.text not in others


def _is_inversion(x: Sequence[str], y: Sequence[str]) -> bool:
    """Whether `x` is `y` with one word, its verb, at the beginning."""
    return any(
        y[at] == x[0] and x[1 : at + 1] == y[:at] and x[at + 1 :] == y[at + 1 :] for at in range(min(len(x), len(y)))
    )


def _is_fronted(one: Sequence[Word], two: Sequence[Word], language: LanguageVocabulary) -> bool:
    """Whether a phrase at the beginning of `one` is elsewhere in `two`."""
    x, y, first = _texts(one), _texts(two), one[0].text
    breaks = [place for place, word in enumerate(one) if place and word.break_before]
    others = [len(two) - place for place, word in enumerate(two) if place and word.break_before]
    is_phrase = first in language.conjunctions | language.adverbials | language.adverbs
    if not is_phrase or len(breaks) > 1 or len(others) > 1:
        return False
    for size in range(1 if first in language.adverbs else 2, min(len(x), PHRASE_WORDS_MAX)):
        if (breaks and breaks != [size]) or (others and others != [size]) or one[size - 1].text in language.unended:
            continue
        phrase, rest, is_inverted = x[:size], x[size:], _may_be_verb(one[size], language)
        if y[-size:] == phrase and (y[:-size] == rest or (is_inverted and _is_inversion(rest, y[:-size]))):
            return True
        if is_inverted and not others and _is_verb_second(phrase, rest, y, language):
            return True
    return False


def _is_adverb_moved(one: Sequence[Word], two: Sequence[Word], language: LanguageVocabulary) -> bool:
    """Whether `two` has the adverb at the beginning of `one` elsewhere, in a sentence where its place is irrelevant."""
    x, y = _texts(one), _texts(two)
    texts = {word.text for word in one}
    if one[0].text not in language.adverbs or texts & (SCOPE_WORDS | language.negations) or x[0] in x[1:]:
        return False
    return not any(word.break_before for word in (*one[1:], *two[1:])) and [text for text in y if text != x[0]] == x[1:]


def _is_verb_second(phrase: list[str], rest: list[str], y: list[str], language: LanguageVocabulary) -> bool:
    """Whether `y` has the verb, the first word of `rest`, after another phrase, and `phrase` next to it or last."""
    if rest[0] not in y[1:]:
        return False
    at = y.index(rest[0], 1)
    lead, tail, body = y[:at], y[at + 1 :], rest[1:]
    if tail and body[:1] == tail[:1] and tail[0] in language.subjects:
        body, tail = body[1:], tail[1:]
    is_next = tail[: len(phrase)] == phrase
    if not is_next and tail[len(tail) - len(phrase) :] != phrase:
        return False
    remaining = tail[len(phrase) :] if is_next else tail[: len(tail) - len(phrase)]
    is_marked = lead[0] in (language.adverbials if len(lead) > 1 else language.adverbs)
    return body == lead + remaining or (is_marked and is_next and body == remaining + lead)
