"""Quoted and capitalised names."""

import re
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

from compaction.services.pipeline.retention.matches import POSSESSIVE, TAKEN, FactMatch, normalised_words

QUOTED_CHARACTERS_MAX = 80
QUOTED_NAME_WORDS_MAX = 8

_QUOTED = re.compile(
    rf"\"([^\"\n{TAKEN}]{{1,{QUOTED_CHARACTERS_MAX}}})\""
    rf"|[“„]([^“”\n{TAKEN}]{{1,{QUOTED_CHARACTERS_MAX}}})[”“]"
    rf"|«([^«»\n{TAKEN}]{{1,{QUOTED_CHARACTERS_MAX}}})»"
    rf"|(?<![\w'’])['‘]([^'‘’\n{TAKEN}]{{2,{QUOTED_CHARACTERS_MAX}}})['’](?!\w)"
)
#: A full stop after one of these ends no sentence.
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St)\. $")
#: Letters, with marks and hyphens between them; digits may follow.
_WORD = re.compile(rf"(?<![\w{TAKEN}])[^\W\d_]\w*+(?:['’-][^\W\d_]\w*+)*+")
#: After one of these, a sentence continues.
_GOES_ON = set(",;)]&/'’\"”»%" + TAKEN)
#: Small words inside names, without "and" and "the": "Ann and Bob" are two names.
_JOINING = {"of", "de", "van", "von", "der", "den", "la", "le", "du", "da", "di", "del", "el", "al", "bin"}
NAME_WORDS_MAX = 6

#: Words that open sentences or are written with a capital, and are no names.
_COMMON_WORDS = frozenset(Path(__file__).with_name("rules").joinpath("common_words.txt").read_text("utf-8").split())


def find_quoted(text: str) -> Iterator[FactMatch]:
    """Yield text in quotation marks that is short enough for a name or a title."""
    for match in _QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None)
        normalised = normalised_words(inner).strip()
        if normalised and normalised.count(" ") < QUOTED_NAME_WORDS_MAX and inner == inner.strip():
            yield FactMatch(match.start(), match[0], normalised)


def find_capitalised(text: str) -> Iterator[tuple[FactMatch, bool]]:
    """Yield names, and with True single words that open a sentence: names where the conversation knows them."""
    for run, opens in _capitalised_runs(text):
        bare = list(dropwhile(_is_common, run))
        while bare and _is_common(bare[-1]):
            bare.pop()
        is_shouting = len(bare) > 1 and all(match[0].isupper() for match in bare)
        if bare and not is_shouting:
            written = text[bare[0].start() : bare[-1].end()]
            written = written[:-2] if written.endswith(POSSESSIVE) else written
            found = FactMatch(bare[0].start(), written, normalised_words(written).strip())
            yield found, opens and bare[0] is run[0] and len(bare) == 1


def _capitalised_runs(text: str) -> Iterator[tuple[list[re.Match[str]], bool]]:
    """Capitalised words that follow each other, with small ones inside names, and whether they open a sentence."""
    run: list[re.Match[str]] = []
    joining: list[re.Match[str]] = []
    opens = False
    before = 0
    for match in _WORD.finditer(text):
        word, follows, before = match[0], text[before : match.start()] == " ", match.end()
        goes_on = follows and (word[0].isupper() or (word in _JOINING and len(joining) < 2))
        if run and not goes_on:
            yield run, opens
            run, joining = [], []
        if word[0].isupper():
            opens = opens if run else _opens(text, match.start())
            run, joining = [*run, *joining, match], []
        elif run:
            joining.append(match)
        if run and not joining and (word.endswith(POSSESSIVE) or len(run) >= NAME_WORDS_MAX):
            yield run, opens
            run = []
    if run:
        yield run, opens


def _opens(text: str, place: int) -> bool:
    if _TITLE.search(text, max(place - 6, 0), place):
        return False
    before = text[max(place - 4, 0) : place].rstrip(" (*_#")
    return not before or not (before[-1].isalnum() or before[-1] in _GOES_ON)


def _is_common(match: re.Match[str]) -> bool:
    word = match[0]
    folded = word.casefold().replace("’", "'").removesuffix("'s")
    stem = folded.partition("'")[0]
    return len(word) == 1 or folded in _COMMON_WORDS or stem in _COMMON_WORDS or word[0].islower()
