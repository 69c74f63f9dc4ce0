"""Compare lists whose order does not matter."""

from collections.abc import Sequence

from memories.services.hygiene.statements.vocabulary import (
    GERMAN,
    LIST_ANDS,
    LIST_PREPOSITIONS,
    LIST_VERBS,
    ORDER_WORDS,
    LanguageVocabulary,
)
from memories.services.hygiene.statements.words import Word

#: Words of one item of a list whose order has no meaning.
LIST_ITEM_WORDS_MAX = 4
_AUXILIARIES = frozenset(["has", "have", "hat", "haben"])
_COPULAS = frozenset(["are", "son", "sind"])


def is_list_reordered(one: Sequence[Word], two: Sequence[Word], language: LanguageVocabulary) -> bool:
    """Whether the texts begin or end with the same items, joined by "and", in another order."""
    x, y = ([word.stem for word in words] for words in (one, two))
    if len(x) != len(y) or ORDER_WORDS & set(x) or sum(text in LIST_ANDS for text in x) != 1:
        return False
    start = next((place for place, (left, right) in enumerate(zip(x, y, strict=True)) if left != right), len(x))
    tail = next((size for size, (left, right) in enumerate(zip(x[::-1], y[::-1], strict=True)) if left != right), 0)
    return _has_items(one, two, start, len(x), language) or _has_items(one, two, 0, len(x) - tail, language)


def _has_items(one: Sequence[Word], two: Sequence[Word], start: int, end: int, language: LanguageVocabulary) -> bool:
    """Whether the words between two places are the same names, or items after a verb such as "include"."""
    left, right = _items(one[start:end]), _items(two[start:end])
    outside = [*one[1 : start + 1], *one[end:], *two[1 : start + 1], *two[end:]]
    is_in_name = any(word.case == "C" or word.text == "'s" for word in (*one[start - 1 : start], *one[end : end + 1]))
    if left != right or len(left) < 2 or is_in_name or any(word.break_before for word in outside):
        return False
    names = {word.stem for word in (*one, *two) if word.case in ("C", "N")} - LIST_ANDS
    if all(text in names for item in left for text in item):
        return not any(word.is_value for word in one)
    is_listed = end == len(one) and start and _is_enumerated(one[:start], language)
    is_event = start and one[start - 1].stem in _AUXILIARIES and any(item[0].endswith("ed") for item in left)
    is_noun = language is not GERMAN or all(not names.isdisjoint(item) for item in left)
    if not is_listed or is_event or not is_noun:
        return False
    if len(left) == 2:
        is_next = one[start - 1].stem in LIST_VERBS - _COPULAS - _AUXILIARIES and one[start - 1].case != "S"
        return is_next and all(len(item) == 1 for item in left) and not any(word.is_value for word in one[start:])
    return all(len(item) <= LIST_ITEM_WORDS_MAX for item in left)


def _is_enumerated(before: Sequence[Word], language: LanguageVocabulary) -> bool:
    """Whether a list follows a verb that only enumerates, with no word between that may belong to its first item."""
    last = before[-1]
    is_subject = language is GERMAN and last.raw[:1].isupper()
    is_next = last.stem in LIST_VERBS or last.text in LIST_PREPOSITIONS or is_subject
    return is_next and any(word.stem in LIST_VERBS for word in before)


def _items(words: Sequence[Word]) -> list[list[str]]:
    """Return the items between commas and "and", sorted; none without "and"."""
    items: list[list[str]] = [[]]
    for place, word in enumerate(words):
        is_and = word.text in LIST_ANDS
        if is_and or (place and word.break_before and items[-1]):
            items.append([])
        if not is_and:
            items[-1].append(word.stem)
    return sorted(items) if any(word.text in LIST_ANDS for word in words) and all(items) else []
