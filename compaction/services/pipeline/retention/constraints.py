"""Constraints and negations: sentences that must not get lost, and whether a text still states them (ADR-0104)."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compaction.services.pipeline.retention.languages import RuleCues, language_name, rule_cues
from compaction.services.pipeline.retention.matches import normalised_words
from compaction.services.pipeline.statements.languages import stop_words

#: Words are compared by this many first letters, so that inflections count.
CONSTRAINT_STEM_CHARACTERS = 5
#: Other words state a constraint if this share of its content words, and all its figures and names, are in one sentence
#: with the same polarity.
SAME_WORDS_SHARE = 0.65
#: A sentence without an end is read in pieces of about this length.
PIECE_CHARACTERS_MAX = 400
#: Maximum sentences compared for one content word; a word that more of them contain is not distinctive.
SENTENCES_COMPARED_MAX = 50

_END = re.compile(r"(?<=[.!?;。！？…])\s+|\n+|(?<=[。！？])")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
#: A capitalised word within a sentence: a name or a day; in German any noun, which is not distinctive.
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÄÖÜÁÉÍÓÚÑ]\w+")
#: A "no" at the beginning that answers the preceding message, also after a speaker's name.
_REPLY = re.compile(r"^(?:[\w ]{1,40}: )?\W*(?:no|nope|nah|nein)\s*[,.!:;–—-]\s*")
FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
#: The label of a speaker is not content.
_SPEAKING = frozenset({"user", "assistant", "said", "says"})


@dataclass(frozen=True)
class Constraint:
    """A sentence that limits what may be done, as content stems and figures; `is_negative`: it says what may not."""

    stems: frozenset[str]
    figures: frozenset[str]
    is_negative: bool


def find_constraints(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a text that state a constraint, and whether each is a negation."""
    language = language_name(text)
    for sentence in split_pieces(text):
        if (is_negation := constraint_polarity(sentence, language_name(sentence) or language)) is not None:
            yield sentence, is_negation


def constraint_polarity(sentence: str, language: str = "") -> bool | None:
    """Return True for a negation, False for another constraint, None for neither. No question is one."""
    if sentence.rstrip(" \"'”’»)").endswith(("?", "？")):
        return None
    cues = rule_cues(language)
    folded = _plain(sentence, cues)
    if cues.negation.search(folded):
        return True
    return False if cues.constraint.search(folded) else None


def is_negated(sentence: str, language: str = "") -> bool:
    """Return whether a sentence contains a word that negates, apart from idioms such as "no problem"."""
    cues = rule_cues(language or language_name(sentence))
    return cues.negatives.search(_plain(sentence, cues)) is not None


def _plain(sentence: str, cues: RuleCues) -> str:
    """The sentence without case, a "no" that only answers, and idioms that deny nothing."""
    return cues.idle_negatives.sub("…", _REPLY.sub("", sentence.casefold()))


def split_pieces(text: str) -> list[str]:
    """Return the sentences of a text, cut at white space if one has no end."""
    return [piece for sentence in _END.split(text) for piece in _cut(" ".join(sentence.split())) if piece]


def content_stems(text: str) -> frozenset[str]:
    """Return the first letters of the content words, without numbers and contractions."""
    words = (word for word in words_of_content(text) if "'" not in word and not word[0].isdigit())
    return frozenset(word[:CONSTRAINT_STEM_CHARACTERS] for word in words)


def words_of_content(text: str) -> Iterator[str]:
    """Yield the words and numbers of a text in folded case, without stop words and the labels of speakers."""
    words = (word.replace("’", "'").removesuffix("'s") for word in _WORD.findall(text.casefold()))
    return (word for word in words if word not in stop_words() and word not in _SPEAKING)


def figures(text: str) -> frozenset[str]:
    """Return the numbers of a text, in digits."""
    return frozenset(FIGURE.findall(text))


def constraint_lookup(texts: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that says whether the texts state a constraint; the texts are read once."""
    pieces = [piece for text in texts for piece in split_pieces(text)]
    words = normalised_words("\n".join(pieces))
    vocabulary = set(words.split())
    read = [Constraint(content_stems(piece), figures(piece), is_negated(piece)) for piece in pieces]
    by_stem: defaultdict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(read):
        for stem in one.stems:
            if len(by_stem[stem]) < SENTENCES_COMPARED_MAX:
                by_stem[stem].append(number)

    def is_stated(sentence: str) -> bool:
        stated = normalised_words(sentence)
        if vocabulary.issuperset(stated.split()) and stated in words:
            return True
        stems, numbers, is_negative = content_stems(sentence), figures(sentence), is_negated(sentence)
        has_nouns_as_names = language_name(sentence) == "de"
        names = frozenset() if has_nouns_as_names else content_stems(" ".join(_NAME.findall(sentence)))
        candidates = {number for stem in stems for number in by_stem.get(stem, ())}
        return any(
            read[number].is_negative == is_negative
            and numbers <= read[number].figures
            and names <= read[number].stems
            and len(stems & read[number].stems) >= SAME_WORDS_SHARE * len(stems)
            for number in candidates
        )

    return is_stated


def _cut(sentence: str) -> Iterator[str]:
    place = 0
    while len(sentence) - place > PIECE_CHARACTERS_MAX:
        end = sentence.rfind(" ", place + 1, place + PIECE_CHARACTERS_MAX)
        end = end if end > 0 else place + PIECE_CHARACTERS_MAX
        yield sentence[place:end].strip()
        place = end
    yield sentence[place:].strip()
