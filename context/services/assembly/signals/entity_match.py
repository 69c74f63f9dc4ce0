"""Person: somebody named in the question says this message, or the note is about them."""

from __future__ import annotations

import re

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.scorer import ScoreColumn

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s\b")


def entity_match(pool: CandidatePool) -> ScoreColumn:
    """1 for messages of a speaker whom the question names and for other texts that hold a name of the question, else 0.

    Speakers are known by "Name:" before their messages, so they are found however the question spells them. For texts
    that are no messages a name is a capitalised word inside the question.
    """
    text = _POSSESSIVE.sub("", pool.text)
    asked_words = [match[0] for match in _WORD.finditer(text)]
    asked_about = {word.lower() for word in asked_words}
    named = {speaker for speaker in set(pool.speakers) if speaker and asked_about & set(speaker.split())}
    names = {word for word in asked_words[1:] if word[0].isupper() and not word.isupper()}
    return np.array(
        [
            float(speaker in named if is_turn else _holds_any(body, names))
            for speaker, is_turn, body in zip(pool.speakers, pool.is_turn.tolist(), pool.bodies, strict=True)
        ]
    )


def _holds_any(body: str, names: set[str]) -> bool:
    return any(name in body for name in names) and bool(names & {match[0] for match in _WORD.finditer(body)})
