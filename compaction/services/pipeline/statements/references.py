"""What a run of sentences points at without naming it: pronouns, "there", "that day", "the second one" (ADR-0102)."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from compaction.services.pipeline.statements.languages import Language
from compaction.services.pipeline.statements.rarity import content_words, is_rare

#: Words of content within a sentence that "that" can stand for; of a sentence before, one is enough.
CLAUSE_WORDS_MIN = 2
#: Words between a determiner and its noun.
NOUN_DISTANCE_MAX = 3
#: A plural has at least so many letters.
_PLURAL_LETTERS_MIN = 4

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
_MENTION = re.compile(r"\d")


class Need(StrEnum):
    """What a pointing word stands for."""

    PERSON = "person"
    THING = "thing"
    ANY = "any"
    PLACE = "place"
    DAY = "day"
    CLAUSE = "clause"


#: What meets a need.
_MET_BY = {
    Need.PERSON: frozenset({Need.PERSON}),
    Need.THING: frozenset({Need.THING}),
    Need.ANY: frozenset({Need.PERSON, Need.THING}),
    Need.PLACE: frozenset({Need.PLACE}),
    Need.DAY: frozenset({Need.DAY}),
    Need.CLAUSE: frozenset({Need.CLAUSE}),
}
#: The fields of cues for phrases that point.
_POINTING = {
    "pointing_thing": Need.THING,
    "pointing_place": Need.PLACE,
    "pointing_day": Need.DAY,
    "pointing_clause": Need.CLAUSE,
}


@dataclass(frozen=True)
class Pointer:
    """A word or phrase that stands for something that the run does not name before it.

    `is_subject`: the sentence begins with it, so nothing in the sentence can be understood without it.
    """

    need: Need
    is_subject: bool


@dataclass(frozen=True)
class _Token:
    text: str
    lower: str
    start: int


def open_pointers(sentences: Sequence[str], language: Language, people: Collection[str] = ()) -> list[Pointer]:
    """Return the pointers that no word before them in the run can stand for.

    `people` are the first names of speakers in lower case: they are persons and no things.
    """
    named: set[Need] = set()
    found = []
    for sentence in sentences:
        tokens = [
            _Token(match[0], match[0].lower().replace("’", "'"), match.start()) for match in _TOKEN.finditer(sentence)
        ]
        pointers = list(_pointers(sentence, tokens, language))
        mentions = [*_mentions(tokens, language, people), *_clause_mentions(tokens, language)]
        for need, place, is_subject in pointers:
            before = named.union(one for one, at in mentions if at < place)
            if before.isdisjoint(_MET_BY[need]):
                found.append(Pointer(need, is_subject))
        named.update(one for one, _ in mentions)
        if content_words(sentence, language.words("stop_words") or None):
            named.add(Need.CLAUSE)
        days = language.days
        if _MENTION.search(sentence) or (days is not None and days.search(sentence.lower())):
            named.add(Need.DAY)
    return found


def _pointers(text: str, tokens: Sequence[_Token], language: Language) -> Iterator[tuple[Need, int, bool]]:
    """The pointers of a sentence with their places, and whether no word of content stands before them."""
    lower = text.lower().replace("’", "'")
    stops = language.words("stop_words")
    contents = [token.start for token in tokens if token.text[:1].isalnum() and token.lower not in stops]
    first = min(contents, default=len(text))
    expletive = language.pattern("expletives")
    skipped = [match.span() for match in expletive.finditer(lower)] if expletive else []
    for token, need in _pronouns(tokens, language):
        if not any(start <= token.start < end for start, end in skipped):
            yield need, token.start, token.start < first
    for field, need in _POINTING.items():
        pattern = language.pattern(field)
        for match in pattern.finditer(lower) if pattern else ():
            yield need, match.start(), match.start() == 0


def _pronouns(tokens: Sequence[_Token], language: Language) -> Iterator[tuple[_Token, Need]]:
    needs = {
        Need.PERSON: language.words("person_pronouns"),
        Need.THING: language.words("thing_pronouns"),
        Need.ANY: language.words("plural_pronouns"),
    }
    demonstratives, verbs = language.words("demonstratives"), language.words("after_demonstrative")
    for number, token in enumerate(tokens):
        following = tokens[number + 1].lower if number + 1 < len(tokens) else "."
        if number and language.given.get("has_polite_capitals") and token.text[:1].isupper():
            continue
        need = next((one for one, words in needs.items() if token.lower in words), None)
        if need is not None:
            yield token, need
        elif token.lower in demonstratives and (
            following in verbs or not following[:1].isalnum() or (number == 0 and following.endswith("ly"))
        ):
            yield token, Need.CLAUSE


def _mentions(tokens: Sequence[_Token], language: Language, people: Collection[str]) -> Iterator[tuple[Need, int]]:
    """What the words of a sentence name: persons, things and places, each with its place."""
    stops, determiners = language.words("stop_words"), language.words("determiners")
    prepositions, persons = language.words("prepositions"), language.words("person_nouns")
    verbs = language.words("after_demonstrative")
    expects = after_preposition = 0
    previous = ""
    for number, token in enumerate(tokens):
        word = token.lower
        following = tokens[number + 1].lower if number + 1 < len(tokens) else ""
        is_content = token.text[:1].isalnum() and (word not in stops or word in persons)
        if not token.text[:1].isalnum():
            expects = after_preposition = 0
        elif word in determiners or token.text.isdigit():
            expects = NOUN_DISTANCE_MAX
        elif word in prepositions:
            expects, after_preposition = 1, NOUN_DISTANCE_MAX
        if is_content and not token.text.isdigit():
            base = word.removesuffix("'s")
            is_name = token.text[0].isupper() and (number > 0 or is_rare(base)) and word not in stops
            if base in persons or base in people:
                yield Need.PERSON, token.start
            elif is_name or (language.given.get("has_noun_capitals") and token.text[0].isupper()):
                yield from ((need, token.start) for need in (Need.PERSON, Need.THING, Need.PLACE))
            elif expects or (number == 0 and following in verbs) or _is_plural(word, previous, language):
                yield Need.THING, token.start
                if after_preposition:
                    yield Need.PLACE, token.start
            expects, after_preposition = max(expects - 1, 0), max(after_preposition - 1, 0)
        previous = word


def _is_plural(word: str, previous: str, language: Language) -> bool:
    if len(word) < _PLURAL_LETTERS_MIN or not word.endswith("s") or word.endswith("ss"):
        return False
    return previous not in language.words("person_pronouns") and previous not in language.words("thing_pronouns")


def _clause_mentions(tokens: Sequence[_Token], language: Language) -> Iterator[tuple[Need, int]]:
    """Where a sentence has said enough that "that" can stand for it."""
    stops = language.words("stop_words")
    contents = [token.start for token in tokens if token.text[:1].isalnum() and token.lower not in stops]
    if len(contents) >= CLAUSE_WORDS_MIN:
        yield Need.CLAUSE, contents[CLAUSE_WORDS_MIN - 1]
