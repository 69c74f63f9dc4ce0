"""Who a clause is about: first and second person become names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements.dates import GLUE
from compaction.services.pipeline.statements.lexicon import (
    ARTICLES,
    AUXILIARIES,
    BOUND_STATES,
    COPULAS,
    DEMONSTRATIVES,
    DROPPED,
    LEFT_OUT_I,
    MODALS,
    OTHER_SUBJECT_SIGNS,
    PREPOSITIONS,
    PRONOUNS,
    VERBS_AFTER_DEMONSTRATIVE,
    VERBS_AFTER_GERUND,
    word_set,
)
from compaction.services.pipeline.statements.verbs import is_past, third_person_clause, third_person_token, verb_places
from compaction.services.pipeline.statements.words import ends_clause, strip_punctuation, trailing_punctuation

#: How "we" is told of, when only one of them is known.
AND_OTHERS = "and others"
#: Whom a system message speaks to.
ASSISTANT_NAME = "Assistant"
_CONDITIONS = word_set("when if as than where what how that")
#: Behind these "you" is anybody, unless a past form follows.
_BEFORE_ANYBODY = _CONDITIONS | word_set("makes make lets let gives give helps help keeps keep")
_SELVES = word_set("myself yourself ourselves themselves himself herself")
_DEGREES = word_set("above below besides beneath")
#: A word in -ing is the subject when its verb comes within so many tokens.
_GERUND_REACH_TOKENS = 8


@dataclass(frozen=True)
class SpeakerTurn:
    """Who speaks in a message, and to whom ("" when to nobody or to several)."""

    speaker: str
    listener: str = ""


@dataclass(frozen=True)
class ClauseOpening:
    """How a clause opens once it stands alone: whom it is about, what it opens with, and what follows.

    `continues` says that its subject is a pronoun whose noun is in the clause before; `of_speaker` that its subject is
    whoever says it.
    """

    subject: str
    lead: str
    tokens: tuple[str, ...]
    continues: bool = False
    of_speaker: bool = False


def clause_opening(tokens: Sequence[str], talk: SpeakerTurn) -> ClauseOpening:
    """The opening of a clause."""
    rest = _without_adverbs(tokens)
    word = strip_punctuation(rest[0]) if rest else ""
    if talk.speaker and (own := _about_speaker(word, tokens, rest, talk.speaker)):
        return own
    if word in ("you", "your", "yours"):
        return _about_listener(word, rest, talk)
    if (
        rest
        and rest[0].startswith("(")
        and GLUE in rest[0]
        and len(rest) > 1
        and strip_punctuation(rest[1]) in AUXILIARIES
    ):
        return ClauseOpening("", "", tuple(rest[1:]), continues=True)
    if _points_back(word, rest):
        return ClauseOpening("", "", tuple(rest), continues=True)
    if (size := _size_of_empty_start(word, rest)) is not None:
        return _named(rest[size:], talk)
    if not rest or word in PRONOUNS or word in COPULAS or word in MODALS:
        return ClauseOpening("", "", tuple(rest), continues=True)
    return _named(rest, talk)


def _points_back(word: str, rest: Sequence[str]) -> bool:
    """Whether it opens with a pronoun that has no noun of its own: "above that Ida decides", not "in that case"."""
    if len(rest) < 3 or word not in PREPOSITIONS | _DEGREES or strip_punctuation(rest[1]) not in DEMONSTRATIVES:
        return False
    return not ends_clause(rest[1]) and rest[2][:1].isupper()


def _about_speaker(word: str, tokens: Sequence[str], rest: Sequence[str], name: str) -> ClauseOpening | None:
    if word == "i":
        return ClauseOpening(name, name, tuple(third_person_clause(rest[1:])), of_speaker=True)
    if word == "we":
        return ClauseOpening(name, f"{name} {AND_OTHERS}", tuple(rest[1:]), of_speaker=True)
    if word in ("my", "our"):
        return ClauseOpening(name, f"{name}'s", tuple(rest[1:]), of_speaker=True)
    if word == "let" and len(rest) > 2 and strip_punctuation(rest[1]) == "us":
        return ClauseOpening(name, f"{name} suggests", tuple(rest[2:]), of_speaker=True)
    if word in LEFT_OUT_I and _leaves_out_i(tokens, rest):
        verb = LEFT_OUT_I[word]
        return ClauseOpening(name, name, (verb, *rest) if verb else tuple(third_person_clause(rest)), of_speaker=True)
    return None


def _leaves_out_i(tokens: Sequence[str], rest: Sequence[str]) -> bool:
    """Not in "the feeling was unreal" and "trying seafood is a must", where the word is the subject itself."""
    if len(rest) < 2 or any(strip_punctuation(token) in ARTICLES for token in tokens[: len(tokens) - len(rest)]):
        return False
    word, after = strip_punctuation(rest[0]), strip_punctuation(rest[1])
    behind = strip_punctuation(rest[2]) if len(rest) > 2 and after in DROPPED else ""
    if word in BOUND_STATES:
        return after in PREPOSITIONS or after in ("that", "forward")
    if after in OTHER_SUBJECT_SIGNS:
        return False
    if after in COPULAS or behind in COPULAS or after == "and" or (word == "been" and after in ARTICLES):
        return False
    return not word.endswith("ing") or all(
        strip_punctuation(token) not in VERBS_AFTER_GERUND for token in rest[1:_GERUND_REACH_TOKENS]
    )


def _about_listener(word: str, rest: Sequence[str], talk: SpeakerTurn) -> ClauseOpening:
    if not talk.listener:
        return ClauseOpening("", "", tuple(rest), continues=True)
    lead = f"{talk.speaker}:" if talk.speaker else ""
    if word == "you":
        return ClauseOpening(talk.listener, lead, (talk.listener, *third_person_clause(rest[1:])))
    return ClauseOpening(talk.listener, lead, (f"{talk.listener}'s", *rest[1:]))


def _size_of_empty_start(word: str, rest: Sequence[str]) -> int | None:
    """Tokens of "there is" or of a "this" before its noun, which a clause can do without; None when there are none."""
    after = strip_punctuation(rest[1]) if len(rest) > 1 else ""
    if word == "there" and after in AUXILIARIES and len(rest) > 3:
        return 2
    if word in DEMONSTRATIVES and after not in VERBS_AFTER_DEMONSTRATIVE and not ends_clause(rest[0]) and len(rest) > 2:
        return 1
    return None


def _named(tokens: Sequence[str], talk: SpeakerTurn) -> ClauseOpening:
    rest = _without_adverbs(tokens)
    if not rest or strip_punctuation(rest[0]) in PRONOUNS:
        return ClauseOpening("", "", tuple(rest), continues=True)
    return ClauseOpening(talk.speaker, f"{talk.speaker}:" if talk.speaker else "", tuple(tokens))


def _without_adverbs(tokens: Sequence[str]) -> list[str]:
    rest = list(tokens)
    while len(rest) > 1 and (strip_punctuation(rest[0]) in DROPPED or not strip_punctuation(rest[0])):
        rest = rest[1:]
    return rest


def replace_pronouns(tokens: Sequence[str], talk: SpeakerTurn, *, of_speaker: bool = False) -> list[str]:
    """The tokens behind the opening: "me" and "you" become names, "my" is told of the speaker, "myself" is "self"."""
    result: list[str] = []
    verbs: set[int] = set()
    for index, token in enumerate(tokens):
        word = strip_punctuation(token)
        before = strip_punctuation(tokens[index - 1]) if index else ""
        after = strip_punctuation(tokens[index + 1]) if index + 1 < len(tokens) else ""
        replacement = _replacement(word, before, after, talk, of_speaker)
        if not replacement:
            result.append(third_person_token(token) if index in verbs else token)
            continue
        if word in ("i", "you") and before != "and":
            verbs.update(verb_places(tokens, index + 1, only_telling=word == "you" and before not in _CONDITIONS))
        result.append(replacement + trailing_punctuation(token))
    return result


def _replacement(word: str, before: str, after: str, talk: SpeakerTurn, of_speaker: bool) -> str:
    """What stands for `word`, "" for itself."""
    if word in ("my", "our"):
        return "their" if of_speaker or not talk.speaker else f"{talk.speaker}'s"
    if word in _SELVES:
        return "self"
    if word in ("mine", "ours"):
        return f"{talk.speaker}'s" if talk.speaker and before in COPULAS else "own"
    if word == "yours":
        return f"{talk.listener}'s" if talk.listener else ""
    if word in ("i", "me"):
        return talk.speaker
    if word in ("you", "your") and talk.listener:
        is_anybody = before in _BEFORE_ANYBODY and not is_past(after)
        name = "one" if is_anybody else talk.listener
        return name if word == "you" else f"{name}'s"
    return ""
