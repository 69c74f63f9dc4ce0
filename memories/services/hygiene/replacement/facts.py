"""Read a statement as a fact: its topic, its values, and the signs that it changes or only repeats something."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from memories.services.hygiene.replacement.values import Value, read_value
from memories.services.hygiene.replacement.vocabulary import ATTRIBUTE_WORDS, AttributeWords
from memories.services.hygiene.statements import read_words
from memories.services.hygiene.statements.vocabulary import LANGUAGES, Language
from memories.services.hygiene.statements.words import Word

#: Characters and words of a statement that is read; a longer one replaces nothing.
CHARACTERS_MAX, WORDS_MAX = 600, 80
#: Facts that are remembered.
FACTS_CACHED = 4_096

#: "Ann:" or "[3 May] Ann Bell:" before a statement.
_SPEAKER = re.compile(r"\s*(?:[\[(][^\])]{1,40}[\])]\s*)?([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}):\s+(?=\S)")
#: "Wifi password: heron" names an attribute, not a speaker.
_QUOTE = re.compile(r"[\"“„«]\s*\S+(?:\s+\S+){2,}\s*[\"”“»]|(?:^|\s)['‘]\S+(?:\s+\S+){2,}['’]|^\s*>", re.MULTILINE)


class Token(NamedTuple):
    """A word with its class: value, verb, preposition, content, or other."""

    text: str
    key: str
    raw: str
    kind: str
    segment: int
    is_name: bool
    value: Value | None = None
    is_repeated: bool = False


@dataclass(frozen=True)
class Fact:
    """A statement as tokens; places are indexes of them, -1 for none."""

    speaker: str
    language: Language
    words: AttributeWords
    tokens: Sequence[Token]
    is_question: bool
    is_quote: bool

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens)

    def has(self, cue: str) -> bool:
        """Whether a cue of this class occurs."""
        return self.words.cues[cue].are_in(self.texts)

    def place_of(self, cue: str) -> int:
        cues = self.words.cues[cue]
        return next((place for place in range(len(self.texts)) if cues.size_at(self.texts, place)), -1)

    @cached_property
    def is_asserted(self) -> bool:
        """Whether the speaker states it as a fact."""
        return not (self.is_question or self.is_quote or self.has("hypothetical") or self.has("claims"))

    @cached_property
    def verb_at(self) -> int:
        """The first verb of an attribute, or the first form of "be"."""
        return next((place for place, token in enumerate(self.tokens) if token.kind in ("verb", "be")), -1)

    @cached_property
    def verb(self) -> str:
        """The class of the first verb that is not "be", else "be" or nothing."""
        kinds = [self.words.verbs[token.text] for token in self.tokens if token.kind == "verb"]
        return kinds[0] if kinds else ("be" if self.verb_at >= 0 else "")

    @cached_property
    def persons(self) -> frozenset[int]:
        names = ("first_person", "second_person", "third_person")
        return frozenset(number for number, name in enumerate(names, 1) if self.has(name))

    @cached_property
    def is_past(self) -> bool:
        """Whether it reports an event, which stays true."""
        return self.has("past") or any(self._is_past_verb(place) for place in range(len(self.tokens)))

    def _is_past_verb(self, place: int) -> bool:
        token = self.tokens[place]
        if token.kind not in ("content", "verb") or token.is_name or not token.text.endswith(self.words.past_endings):
            return False
        return not any(text in self.words.participle_verbs for text in self.texts[max(place - 3, 0) : place])

    @cached_property
    def is_change(self) -> bool:
        """Whether it says that something changed."""
        return any(self.has(cue) for cue in ("changes", "ends", "now", "corrections"))

    def is_value_at(self, place: int) -> bool:
        """Whether a value is said of the topic and does not name it, as in "room 12"."""
        before = self.tokens[place - 1].kind if place else ""
        return 0 <= self.verb_at < place or (place > 1 and before in ("preposition", "ignored"))

    @cached_property
    def change_at(self) -> int:
        return self.place_of("changes")


@lru_cache(FACTS_CACHED)
def read_fact(text: str) -> Fact | None:
    """Return the fact that a text states; None for a text that is too long or of an unknown language."""
    if len(text) > CHARACTERS_MAX:
        return None
    speaker, text = _split_speaker(text)
    words, language = read_words(text)
    name = next((name for name, each in LANGUAGES.items() if each is language), "")
    vocabulary = ATTRIBUTE_WORDS.get(name)
    if vocabulary is None or not 0 < len(words) <= WORDS_MAX:
        return None
    is_question = any(word.text == "?" for word in words)
    words = [word for word in words if word.text != "?"]
    return Fact(
        speaker, language, vocabulary, _tokens(words, language, vocabulary), is_question, bool(_QUOTE.search(text))
    )


def _split_speaker(text: str) -> tuple[str, str]:
    found = _SPEAKER.match(text)
    if found is None or not all(part[:1].isupper() for part in found[1].split()):
        return "", text
    return found[1].casefold(), text[found.end() :]


def _tokens(words: Sequence[Word], language: Language, vocabulary: AttributeWords) -> list[Token]:
    name = next(name for name, each in LANGUAGES.items() if each is language)
    found: list[Token] = []
    segment, place = 0, 0
    texts = [word.text for word in words]
    while place < len(words):
        word = words[place]
        segment += bool(word.break_before and place)
        value, count = read_value(words, place, language, vocabulary) or (None, 1)
        if value is not None:
            is_repeated = value.kind == "date" and _is_repeated(word, texts[place - 1] if place else "", vocabulary)
            key = f"={value.text}"
            found.append(Token(word.text, key, word.raw, "value", segment, False, value, is_repeated=is_repeated))
            place += count
            continue
        kind = _kind(word, vocabulary)
        found.append(Token(word.text, word.stem.casefold(), word.raw, kind, segment, _is_name(word, name)))
        place += 1
    return found


def _is_repeated(word: Word, before: str, vocabulary: AttributeWords) -> bool:
    """Whether a weekday stands for all of them."""
    return before in vocabulary.repeated or (
        word.text.endswith("s") and not before.isdigit() and "repeats_by_s" in vocabulary.cues
    )


def _is_name(word: Word, language: str) -> bool:
    return word.case == "C" if language != "de" else word.case == "C" and not word.raw.islower()


def _kind(word: Word, words: AttributeWords) -> str:
    text = word.text
    is_letter = word.raw.isupper() and len(word.raw) == 1 and word.case == "C"
    if is_letter:
        return "content"
    if text in words.be:
        return "be"
    if text in words.negations:
        return "negation"
    if text in words.changes or text in words.ends:
        return "change"
    if text in words.verbs:
        return "verb"
    if text in words.prepositions:
        return "preposition"
    if text in words.first_person or text in words.second_person or text in words.third_person:
        return "person"
    if text in words.ignored or text in words.light or text in words.corrections or text in words.now:
        return "ignored"
    return "content"
