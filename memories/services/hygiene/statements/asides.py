"""Remove asides, which comment on a statement without changing it, such as "please note that"."""

from collections.abc import Sequence
from itertools import pairwise

from memories.services.hygiene.statements.vocabulary import (
    ASIDE_FIRST_WORDS,
    ASIDE_SOFTENERS,
    ASIDE_WORDS,
    MARKED_ASIDES,
    UNMARKED_ASIDES,
    LanguageVocabulary,
)
from memories.services.hygiene.statements.words import Word

#: Words of an aside.
_ASIDE_WORDS_MAX = 10
#: Words that asides of any language may contain.
_COMMON = frozenset(["ok", "okay", "fyi", "info", "nb", "ps", "btw"])
#: Consecutive words of a request, or of a statement about oneself, which are not asides.
_REQUESTS = frozenset([("me", "know"), ("i", "know"), ("i", "need")])
_ASIDES = UNMARKED_ASIDES | MARKED_ASIDES
_ANDS = frozenset(["and", "und", "y", "et"])


def drop_asides(words: Sequence[Word], language: LanguageVocabulary) -> tuple[list[Word], bool, bool]:
    """Return the words without asides, whether an aside came first, and whether the rest follows "that"."""
    kept, is_first_dropped = _without_segments(words, language)
    if not any(word.text != "?" for word in kept):
        return list(words), False, False
    texts = [word.text for word in kept[: _ASIDE_WORDS_MAX + 1]]
    ends = [end for end, text in enumerate(texts) if text == language.that and 0 < end < len(kept) - 1]
    end = next((end for end in reversed(ends) if _is_aside(kept[:end], language)), None)
    if end is not None:
        kept = kept[end + 1 :]
    sizes = range(min(_ASIDE_WORDS_MAX, len(kept) - 2), 0, -1)
    if size := next((size for size in sizes if tuple(word.text for word in kept[:size]) in UNMARKED_ASIDES), 0):
        kept, is_first_dropped = kept[size:], True
    if is_first_dropped and len(kept) > 1 and kept[0].text in _ANDS:
        kept = kept[1:]
    is_after_that = is_first_dropped and len(kept) > 1 and kept[0].text == language.that
    if is_after_that:
        kept = kept[1:]
    return [kept[0]._replace(break_before=0), *kept[1:]], is_first_dropped, is_after_that or end is not None


def _without_segments(words: Sequence[Word], language: LanguageVocabulary) -> tuple[list[Word], bool]:
    """Return the words without asides between commas or stops, and whether one stood first."""
    segments: list[list[Word]] = []
    for word in words:
        if not segments or (word.break_before and word.text != "?"):
            segments.append([])
        segments[-1].append(word)
    kept: list[Word] = []
    is_first_dropped, pending = False, 0
    for place, segment in enumerate(segments):
        is_first = place == 0 or (is_first_dropped and not kept)
        pending = max(pending, segment[0].break_before)
        if len(segments) > 1 and _is_aside(segment, language, is_first=is_first):
            is_first_dropped |= not kept
            continue
        kept += [segment[0]._replace(break_before=pending), *segment[1:]]
        pending = 0
    return kept, is_first_dropped


def _is_aside(segment: Sequence[Word], language: LanguageVocabulary, *, is_first: bool = False) -> bool:
    texts = [part for word in segment if word.text != "?" for part in (word.parts or (word.text,))]
    start = next((place for place, text in enumerate(texts) if text not in ASIDE_SOFTENERS), 0)
    if tuple(texts) in _ASIDES or tuple(texts[start:]) in _ASIDES:
        return True
    if not 0 < len(texts) <= _ASIDE_WORDS_MAX or not _REQUESTS.isdisjoint(pairwise(texts)):
        return False
    if not all(text in language.comments or text in _COMMON for text in texts):
        return False
    return any(text in ASIDE_WORDS or (is_first and text in ASIDE_FIRST_WORDS) for text in texts)
