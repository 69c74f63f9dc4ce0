"""Who a clause is about: first and second person become names."""

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements import lexicon, words
from compaction.services.pipeline.statements.dates import GLUE

#: How "we" is told of, when only one of them is known.
AND_OTHERS = "and others"
#: Whom a system message speaks to.
ASSISTANT_NAME = "Assistant"
_CONDITIONS = lexicon.word_set("when if as than where what how that")
#: Behind these "you" is anybody, unless a past form follows.
_BEFORE_ANYBODY = _CONDITIONS | lexicon.word_set("makes make lets let gives give helps help keeps keep")
_SELVES = lexicon.word_set("myself yourself ourselves themselves himself herself")
_DEGREES = lexicon.word_set("above below besides beneath")
#: A word in -ing is the subject when its verb comes within so many tokens.
_GERUND_REACH_TOKENS = 8


@dataclass(frozen=True)
class SpeakerTurn:
    """Who speaks in a message, and to whom ("" when to nobody or to several)."""

    speaker: str
    listener: str = ""

    @property
    def lead(self) -> str:
        """What a clause opens with that is told in the speaker's words."""
        return f"{self.speaker}:" if self.speaker else ""


@dataclass(frozen=True)
class ClauseOpening:
    """How a clause opens once it stands alone: whom it is about, what it opens with, and what follows.

    `continues` says that its subject is a pronoun whose noun is in the clause before; `of_speaker` that its subject is
    whoever says it.
    """

    subject: str
    lead: str
    tokens: tuple[str, ...] = ()
    continues: bool = False
    of_speaker: bool = False


def clause_opening(tokens: Sequence[str], talk: SpeakerTurn) -> ClauseOpening:
    """Return the opening of a clause."""
    rest = _without_adverbs(tokens)
    word = words.word_at(rest, 0)
    if talk.speaker and (own := _about_speaker(word, tokens, rest, talk.speaker)):
        return own
    if word in ("you", "your", "yours"):
        if not talk.listener:
            return _continuing(rest)
        said = words.third_person_clause(rest[1:]) if word == "you" else rest[1:]
        return ClauseOpening(
            talk.listener, talk.lead, (talk.listener if word == "you" else f"{talk.listener}'s", *said)
        )
    if rest and rest[0].startswith("(") and GLUE in rest[0] and words.word_at(rest, 1) in lexicon.AUXILIARIES:
        return _continuing(rest[1:])
    if _points_back(word, rest):
        return _continuing(rest)
    size = _size_of_empty_start(word, rest)
    told = _without_adverbs(rest[size:])
    is_verb = not size and word in lexicon.COPULAS | lexicon.MODALS
    if not told or is_verb or words.bare_word(told[0]) in lexicon.PRONOUNS:
        return _continuing(told)
    return ClauseOpening(talk.speaker, talk.lead, tuple(rest[size:]))


def _continuing(tokens: Sequence[str]) -> ClauseOpening:
    return ClauseOpening("", "", tuple(tokens), continues=True)


def _points_back(word: str, rest: Sequence[str]) -> bool:
    """Whether it opens with a pronoun that has no noun of its own: "above that Ida decides", not "in that case"."""
    if (
        len(rest) < 3
        or word not in lexicon.PREPOSITIONS | _DEGREES
        or words.bare_word(rest[1]) not in lexicon.DEMONSTRATIVES
    ):
        return False
    return not words.ends_clause(rest[1]) and rest[2][:1].isupper()


def _about_speaker(word: str, tokens: Sequence[str], rest: Sequence[str], name: str) -> ClauseOpening | None:
    lead, told = name, list(rest[1:])
    if word == "i":
        told = words.third_person_clause(told)
    elif word == "we":
        lead = f"{name} {AND_OTHERS}"
    elif word in ("my", "our"):
        lead = f"{name}'s"
    elif word == "let" and len(rest) > 2 and words.bare_word(rest[1]) == "us":
        lead, told = f"{name} suggests", told[1:]
    elif word in lexicon.LEFT_OUT_I and _leaves_out_i(tokens, rest):
        verb = lexicon.LEFT_OUT_I[word]
        told = [verb, *rest] if verb else words.third_person_clause(rest)
    else:
        return None
    return ClauseOpening(name, lead, tuple(told), of_speaker=True)


def _leaves_out_i(tokens: Sequence[str], rest: Sequence[str]) -> bool:
    """Not in "the feeling was unreal" and "trying seafood is a must", where the word is the subject itself."""
    dropped = map(words.bare_word, tokens[: len(tokens) - len(rest)])
    if len(rest) < 2 or not lexicon.ARTICLES.isdisjoint(dropped):
        return False
    word, after = words.bare_word(rest[0]), words.bare_word(rest[1])
    behind = words.word_at(rest, 2) if after in lexicon.DROPPED else ""
    if word in lexicon.BOUND_STATES:
        return after in lexicon.PREPOSITIONS or after in ("that", "forward")
    if after in lexicon.OTHER_SUBJECT_SIGNS or not lexicon.COPULAS.isdisjoint((after, behind)) or after == "and":
        return False
    if word == "been":
        return after not in lexicon.ARTICLES
    reach = map(words.bare_word, rest[1:_GERUND_REACH_TOKENS])
    return not word.endswith("ing") or lexicon.VERBS_AFTER_GERUND.isdisjoint(reach)


def _size_of_empty_start(word: str, rest: Sequence[str]) -> int:
    after = words.word_at(rest, 1)
    if word == "there" and after in lexicon.AUXILIARIES and len(rest) > 3:
        return 2
    is_determiner = word in lexicon.DEMONSTRATIVES and after not in lexicon.VERBS_AFTER_DEMONSTRATIVE
    return int(is_determiner and len(rest) > 2 and not words.ends_clause(rest[0]))


def _without_adverbs(tokens: Sequence[str]) -> Sequence[str]:
    while len(tokens) > 1 and (words.bare_word(tokens[0]) in lexicon.DROPPED or not words.bare_word(tokens[0])):
        tokens = tokens[1:]
    return tokens


def replace_pronouns(tokens: Sequence[str], talk: SpeakerTurn, *, of_speaker: bool = False) -> list[str]:
    """Return the tokens with names for "me" and "you", and with verbs that agree with these names."""
    result: list[str] = []
    verbs: set[int] = set()
    for index, token in enumerate(tokens):
        word, before = words.bare_word(token), words.word_at(tokens, index - 1)
        replacement = _replacement(word, before, words.word_at(tokens, index + 1), talk, of_speaker)
        if not replacement:
            result.append(words.third_person_token(token) if index in verbs else token)
            continue
        if word in ("i", "you") and before != "and":
            verbs.update(words.verb_places(tokens, index + 1, only_telling=word == "you" and before not in _CONDITIONS))
        result.append(replacement + words.trailing_punctuation(token))
    return result


def _replacement(word: str, before: str, after: str, talk: SpeakerTurn, of_speaker: bool) -> str:
    if word in ("my", "our"):
        return "their" if of_speaker or not talk.speaker else f"{talk.speaker}'s"
    if word in _SELVES:
        return "self"
    if word in ("mine", "ours"):
        return f"{talk.speaker}'s" if talk.speaker and before in lexicon.COPULAS else "own"
    if word == "yours":
        return f"{talk.listener}'s" if talk.listener else ""
    if word in ("i", "me"):
        return talk.speaker
    if word in ("you", "your") and talk.listener:
        name = "one" if before in _BEFORE_ANYBODY and not words.is_past(after) else talk.listener
        return name if word == "you" else f"{name}'s"
    return ""
