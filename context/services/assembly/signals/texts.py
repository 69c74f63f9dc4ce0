"""Readings of texts for the signals, cached for later queries that find the same text (ADR-0241)."""

import re
from functools import cached_property

from memories.services.text_cache import cached_texts

#: Maximum cached readings, at most 2 KB each; longer texts are not cached.
TEXTS_CACHED = 4_096

#: "Ann:" or "Ann Marie:" at the start of a message.
_SPEAKER = re.compile(r"([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}):\s+")
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SENTENCE = re.compile(r"[^.!?。！？؟]+[.!?。！？؟]*")
_QUESTION_MARKS = ("?", "？", "؟")


class TextReading:
    """A text without the name of its speaker (`body`), the speaker (in lower case, "" if unknown), and what it states.

    `answers` contains the results of `answer_type`, by the number of its rule.
    """

    def __init__(self, text: str, *, is_turn: bool) -> None:
        match = _SPEAKER.match(text) if is_turn else None
        self.speaker = match[1].lower() if match else ""
        self.body = text[match.end() if match else 0 :].strip()
        self.is_question = self.body.endswith(_QUESTION_MARKS)
        self.answers: dict[int, float] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """The words that begin with a capital letter."""
        return frozenset(word for word in WORD.findall(self.body) if word[0].isupper())

    @cached_property
    def stated_words(self) -> int:
        """The number of words outside questions; 0 for a question."""
        if self.is_question:
            return 0
        if "?" not in self.body:
            return len(self.body.split())
        return sum(len(part.split()) for part in _SENTENCE.findall(self.body) if not part.endswith(_QUESTION_MARKS))


@cached_texts(TEXTS_CACHED)
def read_text(text: str, is_turn: bool) -> TextReading:
    """Return the reading of a text; only a message (`is_turn`) has a speaker."""
    return TextReading(text, is_turn=is_turn)
