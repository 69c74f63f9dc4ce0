"""The words of a statement with their class: value, verb, preposition, content, and others."""

from collections.abc import Sequence
from typing import NamedTuple

from memories.services.hygiene.replacement.values import Value, read_value
from memories.services.hygiene.replacement.vocabulary import AttributeWords
from memories.services.hygiene.statements.vocabulary import GERMAN, LanguageVocabulary
from memories.services.hygiene.statements.words import Word


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
    is_compound: bool = False
    is_indefinite: bool = False
    #: The preposition of a direction before it, such as "from".
    direction: str = ""

    @property
    def parts(self) -> list[str]:
        """The parts of a hyphenated word."""
        return self.raw.casefold().split("-") if "-" in self.raw else []

    @property
    def is_exact(self) -> bool:
        """Whether the word is a name, which keeps every letter."""
        return self.is_name and not self.is_compound


def read_tokens(words: Sequence[Word], language: LanguageVocabulary, vocabulary: AttributeWords) -> list[Token]:
    found: list[Token] = []
    segment, place = 0, 0
    texts = [word.text for word in words]
    while place < len(words):
        word = words[place]
        is_reason = word.text in vocabulary.reasons or (word.text == "that" and place > 0 and texts[place - 1] == "now")
        segment += bool(place and (word.break_before or is_reason))
        size = max(vocabulary.cues[cue].size_at(texts, place) for cue in ("now", "corrections"))
        if size < 2 and any(vocabulary.cues[cue].size_at(texts, place) > 1 for cue in ("ends", "takeovers")):
            size = max(vocabulary.cues[cue].size_at(texts, place) for cue in ("ends", "takeovers"))
        if size > 1:
            found += [
                Token(each.text, each.text, each.raw, "cue", segment, False) for each in words[place : place + size]
            ]
            place += size
            continue
        value, count = read_value(words, place, language, vocabulary) or (None, 1)
        if value is not None and value.kind == "date" and place and texts[place - 1] in vocabulary.since:
            found.append(Token(word.text, word.text, word.raw, "ignored", segment, False))
            place += count
            continue
        if value is not None:
            is_repeated = value.kind == "date" and _is_repeated(word, texts[place - 1] if place else "", vocabulary)
            key = f"={value.text}"
            found.append(Token(word.text, key, word.raw, "value", segment, False, value, is_repeated=is_repeated))
            place += count
            if value.kind == "number" and place < len(words) and words[place].stem.rstrip("ns") == value.unit:
                word = words[place]
                found.append(Token(word.text, word.stem.casefold(), word.raw, "unit", segment, False))
                place += 1
            continue
        kind = _kind(word, vocabulary)
        is_compound = language is GERMAN
        key = _role(word.stem.casefold(), vocabulary)
        is_indefinite = place > 0 and texts[place - 1] in vocabulary.indefinite
        token = Token(word.text, key, word.raw, kind, segment, word.case == "C")
        direction = next((text for text in texts[max(place - 2, 0) : place] if text in vocabulary.directions), "")
        is_start = not place or words[place].break_before
        if kind in ("verb", "change") and (
            _is_noun(words, place, language, vocabulary) or (is_start and _begins_compound(words, place, vocabulary))
        ):
            token = token._replace(kind="content")
        found.append(token._replace(is_compound=is_compound, is_indefinite=is_indefinite, direction=direction))
        place += 1
    return found


def _is_noun(words: Sequence[Word], place: int, language: LanguageVocabulary, vocabulary: AttributeWords) -> bool:
    """Whether a word that may be a verb is a noun here: "the launch", "the bus stop"."""
    word, before = words[place], words[place - 1].text if place else ""
    if language is GERMAN:
        return bool(before) and word.raw[:1].isupper()
    if word.text in vocabulary.noun_verbs and place and not word.break_before:
        return _kind(words[place - 1], vocabulary) == "content" and not before.endswith("s")
    return before in vocabulary.articles or (before in vocabulary.prepositions and before not in vocabulary.targets)


def _role(text: str, vocabulary: AttributeWords) -> str:
    """Return the masculine form of a Spanish role: "jefe" for "jefa"."""
    forms = [text[:-1] + ending for ending in "oe"] if text.endswith("a") and text in vocabulary.roles else []
    return next((form for form in forms if form in vocabulary.roles), text)


def _begins_compound(words: Sequence[Word], place: int, vocabulary: AttributeWords) -> bool:
    """Whether a word that may be a verb begins a singular noun of several words: "book club", not "book tickets"."""
    after = words[place + 1 : place + 2]
    if not after or after[0].break_before or after[0].is_value or not vocabulary.participle_endings:
        return False
    return _kind(after[0], vocabulary) == "content" and after[0].case == "l" and not after[0].text.endswith("s")


def _is_repeated(word: Word, before: str, vocabulary: AttributeWords) -> bool:
    """Whether a weekday means every such day."""
    return before in vocabulary.repeated or (
        word.text.endswith("s") and not before.isdigit() and "repeats_by_s" in vocabulary.cues
    )


#: The classes of words by the names of their vocabularies; the first vocabulary that contains a word decides.
_KINDS = {
    "be": "be",
    "negations": "negation",
    "changes": "change",
    "ends": "change",
    "verbs": "verb",
    "prepositions": "preposition",
    **dict.fromkeys(("first_person", "second_person", "third_person"), "person"),
    **dict.fromkeys(("ignored", "light", "corrections", "now", "reasons"), "ignored"),
    "status_words": "status",
}


def _kind(word: Word, words: AttributeWords) -> str:
    is_letter = word.raw.isupper() and len(word.raw) == 1 and word.case == "C"
    kinds = (kind for name, kind in _KINDS.items() if word.text in getattr(words, name))
    return "content" if is_letter else next(kinds, "content")
