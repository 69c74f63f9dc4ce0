"""Signals of messages: words of the query, adjacent turns, people, and how much is stated."""

import re

import numpy as np

from context.services.assembly.signals.columns import CandidatePool, column_at
from context.services.assembly.signals.texts import WORD
from context.services.scorer import ScoreColumn
from memories.services.search.text_ranking import SHARE_AT
from memories.services.time_limits import in_time

#: ADR-0078. Shares of adjacent messages, of messages at distance two, and of a question directly before the message.
SHARE_NEXT, SHARE_FURTHER, SHARE_OF_QUESTION = 0.35, 0.22, 0.43
#: ADR-0078. Stated words beyond this number add nothing.
WORDS_IN_FULL = 50

_POSSESSIVE = re.compile(r"['’]s\b")


def lexical_overlap(pool: CandidatePool) -> ScoreColumn:
    """Return the weight of the query's lexemes that each memory or its adjacent messages contain, 0..1.

    The content of the preceding message is often the subject of this one ("And where was that?" - "In Lisbon").
    """
    contained = pool.holds
    for distance, share in SHARE_AT.items():
        contained = np.maximum(contained, share * column_at(pool.holds, pool.beside[distance]))
    return np.asarray(contained @ pool.lexeme_weights)


def adjacent_turns(pool: CandidatePool) -> ScoreColumn:
    """Return how relevant the messages next to each memory are to the query, 0..1; 0 if it is not a message."""
    beside = pool.beside
    next_to = (column_at(pool.similarity, beside[-1]) + column_at(pool.similarity, beside[1])) / 2.0
    further = (column_at(pool.similarity, beside[-2]) + column_at(pool.similarity, beside[2])) / 2.0
    question_before = column_at(np.where(pool.is_question, pool.strength, 0.0), beside[-1])
    return np.asarray(SHARE_NEXT * next_to + SHARE_FURTHER * further + SHARE_OF_QUESTION * question_before)


def entity_match(pool: CandidatePool) -> ScoreColumn:
    """Return 1 for messages of a speaker named in the query and other texts that contain a name of the query, else 0.

    Speakers are known by "Name:" before their messages, so any spelling in the query finds them. For texts that are not
    messages, a name is a capitalised word inside the query.
    """
    asked_words = WORD.findall(_POSSESSIVE.sub("", pool.question.text))
    asked_about = {word.lower() for word in asked_words}
    speakers = {text.speaker for text in pool.texts} - {""}
    named = {speaker for speaker in speakers if asked_about & set(speaker.split())}
    names = {word for word in asked_words[1:] if word[0].isupper() and not word.isupper()}
    return np.array(
        [
            text.speaker in named if is_turn else bool(names) and not names.isdisjoint(text.names)
            for text, is_turn in in_time(zip(pool.texts, pool.is_turn.tolist(), strict=True))
        ],
        dtype=np.float64,
    )


def informativeness(pool: CandidatePool) -> ScoreColumn:
    """Return how much each text states, 0..1, by the logarithm of its words outside questions; 0 for a question."""
    counts = np.array([text.stated_words for text in in_time(pool.texts)])
    return np.asarray(np.minimum(np.log1p(counts) / np.log1p(WORDS_IN_FULL), 1.0))
