"""The features of a sentence in its conversation, as named numbers from which learned weights compute predictions."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from compaction.services.pipeline.retention.constraints import constraint_polarity
from compaction.services.pipeline.statements.parsing import ParsedMessage
from compaction.services.pipeline.statements.rarity import word_weights
from memories.services.time_limits import in_time

#: Each of these numbers of words is a feature of every longer sentence.
_LENGTHS = (2, 3, 5, 8, 12, 18, 26, 40)
#: All words of a sentence together have about the weight of this many one-word sentences.
_WORDS_WEIGHT = 1.6
#: The number of first letters that inflections of a word have in common.
_STEM_LETTERS = 5
#: Words of the neighbouring sentences and messages that count, from their beginning and end.
_NEAR_WORDS = 2
#: Characters at the end of a message in which a question mark counts as its question.
_ASKING_CHARACTERS = 60
#: Preceding messages in which the words of a sentence count as recently said.
_RECENT_MESSAGES = 2

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
_NUMBER = "#"

#: A feature's name, and its value of about 1.
Feature = tuple[str, float]


class Conversation:
    """The sentences of a conversation in order, and where their words of content occur.

    The words around a sentence show whether it can be understood alone; repeated words show what matters.
    """

    def __init__(self, parsed: Sequence[ParsedMessage]) -> None:
        self._parsed = parsed
        self.places = [(number, place) for number, read in enumerate(parsed) for place in range(len(read.sentences))]
        self.stems = [frozenset(word_weights(self._parsed[n].sentences[p].text)) for n, p in in_time(self.places)]

    def rows(self) -> list[list[Feature]]:
        """Return the features of every sentence in order."""
        return [[*self._sentence(*place), *self._words(index)] for index, place in enumerate(in_time(self.places))]

    def _sentence(self, number: int, place: int) -> Iterator[Feature]:
        """Yield the features of its text, speaker, position and neighbouring words."""
        parsed, read = self._parsed, self._parsed[number]
        sentence = read.sentences[place]
        yield from _own(sentence.text, read)
        yield f"role:{'people' if read.is_among_people else read.message.role}", 1.0
        yield f"language:{read.language.name}", 0.5
        yield f"part:{sentence.role}", 1.0
        if place == 0:
            yield "is_first", 1.0
        else:
            yield from _around("before", read.sentences[place - 1].text)
        if place == len(read.sentences) - 1:
            yield "is_last", 1.0
            yield "is_only", float(place == 0)
        else:
            yield from _around("after", read.sentences[place + 1].text)
        if number:
            yield from _answered(parsed[number - 1], is_first=place == 0)
        else:
            yield "opens", 1.0
        if number + 1 < len(parsed):
            yield from _around("reply", parsed[number + 1].sentences[0].text)
        yield "late", number / len(parsed)

    def _words(self, index: int) -> Iterator[Feature]:
        """Yield how often its content words occur before and after it, and how rare they are in the conversation."""
        stems = self.stems[index]
        count = max(len(stems), 1)
        yield "stems", min(len(stems), 10) / 5
        yield "seen", sum(self._first[stem] < index for stem in stems) / count
        yield "again", sum(self._last[stem] > index for stem in stems) / count
        yield "recent", len(stems & self._recent[self.places[index][0]]) / count
        yield "begun", min(sum(self._first[stem] == index < self._last[stem] for stem in stems), 4) / 2
        yield "frequent", min(max((self._counts[stem] for stem in stems), default=0), 10) / 5
        yield "rare", sum(math.log(len(self.places) / self._counts[stem]) for stem in stems) / 10

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(stem for stems in self.stems for stem in stems)

    @cached_property
    def _first(self) -> dict[str, int]:
        backwards = reversed(list(enumerate(self.stems)))
        return {stem: index for index, stems in backwards for stem in stems}

    @cached_property
    def _last(self) -> dict[str, int]:
        return {stem: index for index, stems in enumerate(self.stems) for stem in stems}

    @cached_property
    def _recent(self) -> list[frozenset[str]]:
        """For each message the stems of the messages just before it."""
        recent: list[frozenset[str]] = [frozenset() for _ in self._parsed]
        for (number, _), stems in zip(self.places, self.stems, strict=True):
            for later in range(number + 1, min(number + 1 + _RECENT_MESSAGES, len(recent))):
                recent[later] |= stems
        return recent


def _own(text: str, read: ParsedMessage) -> Iterator[Feature]:
    words = words_of(text)
    share = _WORDS_WEIGHT / max(len(words), 1) ** 0.25
    for word in dict.fromkeys(words):
        yield f"word:{word}", share
        if len(word) > _STEM_LETTERS:
            yield f"stem:{word[:_STEM_LETTERS]}", share / 2
    for word in words[:1]:
        yield f"first:{word}", 1.0
    for length in _LENGTHS:
        if len(words) > length:
            yield f"longer:{length}", 1.0
    yield "asks", float("?" in text[-4:])
    yield "exclaims", float("!" in text[-3:])
    yield "numbers", min(words.count(_NUMBER), 4) / 2
    yield "capitals", min(sum(token[:1].isupper() for token in _TOKEN.findall(text)[1:]), 5) / 3
    lower = text.lower().replace("’", "'")
    for name, pattern in read.language.cues.items():
        if pattern.search(lower):
            yield f"cue:{name}", 1.0
            yield f"cue:{name}:{read.message.role}", 1.0
    polarity = constraint_polarity(text, read.language.name)
    if polarity is not None:
        yield "binds", 1.0
        yield f"denies:{polarity}", 1.0


def _around(name: str, text: str) -> Iterator[Feature]:
    words = words_of(text)
    for word in (*words[:_NEAR_WORDS], *words[-_NEAR_WORDS:]):
        yield f"{name}:{word}", 0.4
    yield f"{name}:asks", float("?" in text[-4:])


def _answered(previous: ParsedMessage, *, is_first: bool) -> Iterator[Feature]:
    """The preceding message: who wrote it, and whether it is a question."""
    yield from _around("answers", previous.sentences[-1].text)
    yield f"answers:{previous.message.role}", 0.5
    if "?" in previous.message.content.rstrip()[-_ASKING_CHARACTERS:]:
        yield "is_asked", 1.0
        yield "is_asked:first", float(is_first)


def words_of(text: str) -> list[str]:
    """Return words and marks in lower case; whatever contains a digit is one word."""
    return [
        _NUMBER if any(map(str.isdigit, token)) else token.lower().replace("’", "'") for token in _TOKEN.findall(text)
    ]
