"""Questions complete the short answers to them: "Where did you go?" "Sweden" is "where did Ann go: Sweden"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements.fragments import drop_fillers
from compaction.services.pipeline.statements.lexicon import (
    AUXILIARIES,
    COPULAS,
    FAINT_WORDS,
    PRONOUNS,
    STATEMENT_STOP_WORDS,
    word_set,
)
from compaction.services.pipeline.statements.verbs import third_person_token
from compaction.services.pipeline.statements.words import sentence_tokens, strip_punctuation

#: Longer questions tell their answer nothing that it does not say itself.
MAX_QUESTION_TOKENS = 14
#: Longer answers speak for themselves.
MAX_ANSWER_TOKENS = 6
_ASKING = word_set("what where when who whom whose which why how")
#: An answer needs these even when the rest of the question is made of small words.
_TELLING = word_set("where when how why")
_VAGUE_WORDS = STATEMENT_STOP_WORDS | FAINT_WORDS
_ASKED_OF = word_set("you your we i it the")


@dataclass(frozen=True)
class OpenQuestion:
    """A question waiting for its answer: who asked it where, and its tokens."""

    message_id: str
    asker: str
    tokens: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        """Whether it asks for more than yes or no."""
        return strip_punctuation(self.tokens[0]) in _ASKING

    @property
    def offers(self) -> bool:
        """Whether it names what to choose from."""
        return "or" in self.tokens[1:-1]


def parse_question(sentence: str, message_id: str, asker: str) -> OpenQuestion | None:
    """The question in a sentence with a question mark, from its first asking word on."""
    tokens = sentence_tokens(sentence.rstrip("?! "))
    for index, token in enumerate(tokens):
        after = strip_punctuation(tokens[index + 1]) if index + 1 < len(tokens) else ""
        if strip_punctuation(token) in _ASKING or (strip_punctuation(token) in AUXILIARIES and after in _ASKED_OF):
            return OpenQuestion(message_id, asker, tuple(tokens[index:]))
    return None


def question_topic(question: OpenQuestion, answerer: str) -> list[str]:
    """The words of the question that its answer needs, as one would tell them of whoever answers; [] for none."""
    kept = _without_asking(question.tokens)
    is_vague = strip_punctuation(kept[0]) not in _TELLING if kept else True
    if len(question.tokens) > MAX_QUESTION_TOKENS or (
        is_vague and all(strip_punctuation(token) in _VAGUE_WORDS for token in kept)
    ):
        return []
    named = drop_fillers(_told(kept, question.asker, answerer))
    while named and strip_punctuation(named[0]) in PRONOUNS:
        named = named[1:]
    return named


def is_short_answer(tokens: Sequence[str]) -> bool:
    """Whether the tokens are a few words without a verb of their own."""
    return 0 < len(tokens) <= MAX_ANSWER_TOKENS and not any(
        strip_punctuation(token) in AUXILIARIES | {"i", "we", "you", "it"} for token in tokens
    )


def _without_asking(tokens: Sequence[str]) -> list[str]:
    """The tokens without the auxiliary of a closed question and its subject, or "what is" of an open one."""
    first, second = strip_punctuation(tokens[0]), strip_punctuation(tokens[1]) if len(tokens) > 1 else ""
    if first in _ASKING:
        has_is = first in ("what", "which", "who") and (second in COPULAS or second == "am")
        return list(tokens[(3 if strip_punctuation(tokens[2]) == "you" else 2) if has_is and len(tokens) > 2 else 0 :])
    return list(tokens[2:] if second in ("you", "it", "i", "we") else tokens[1:])


def _told(tokens: Sequence[str], asker: str, answerer: str) -> list[str]:
    """The words of the question: "your" goes, "you" and "me" become names, with which the auxiliary agrees."""
    told: list[str] = []
    for token in tokens:
        word = strip_punctuation(token)
        name = answerer if word in ("you", "yourself") else asker if word in ("i", "me") else ""
        if name and told and strip_punctuation(told[-1]) in AUXILIARIES:
            told[-1] = third_person_token(told[-1])
        if word != "your":
            told.append(name or (f"{asker}'s" if word == "my" and asker else token))
    return told
