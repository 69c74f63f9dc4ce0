"""Questions complete the short answers to them: "What's your favourite book?" "Emma" is "favourite book: Emma"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.statements.lexicon import AUXILIARIES, FAINT_WORDS, PRONOUNS, STOP_WORDS, word_set
from compaction.services.statements.parts import compressed
from compaction.services.statements.words import bare, tokens_of

#: Longer questions tell their answer nothing that it does not say itself.
MAX_QUESTION_TOKENS = 14
#: Longer answers speak for themselves.
MAX_ANSWER_TOKENS = 6
_ASKING = word_set("what where when who whom whose which why how")
_ASKED_OF = word_set("you your we i it the")


@dataclass(frozen=True)
class Question:
    """A question waiting for its answer: who asked it where, and its tokens."""

    message_id: str
    asker: str
    tokens: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        """Whether it asks for more than yes or no."""
        return bare(self.tokens[0]) in _ASKING

    @property
    def offers(self) -> bool:
        """Whether it names what to choose from."""
        return "or" in self.tokens[1:-1]


def question_of(sentence: str, message_id: str, asker: str) -> Question | None:
    """The question in a sentence with a question mark, from its first asking word on."""
    tokens = tokens_of(sentence.rstrip("?! "))
    for index, token in enumerate(tokens):
        after = bare(tokens[index + 1]) if index + 1 < len(tokens) else ""
        if bare(token) in _ASKING or (bare(token) in AUXILIARIES and after in _ASKED_OF):
            return Question(message_id, asker, tuple(tokens[index:]))
    return None


def topic_of(question: Question, answerer: str) -> list[str]:
    """The words of the question that its answer needs, as one would tell them of whoever answers; [] for none."""
    kept = _without_asking(question.tokens)
    if len(question.tokens) > MAX_QUESTION_TOKENS or all(bare(token) in STOP_WORDS | FAINT_WORDS for token in kept):
        return []
    named = compressed([word for token in kept if (word := _named(token, question.asker, answerer))])
    while named and bare(named[0]) in PRONOUNS:
        named = named[1:]
    return named


def is_short_answer(tokens: Sequence[str]) -> bool:
    """Whether the tokens are a few words without a verb of their own."""
    return 0 < len(tokens) <= MAX_ANSWER_TOKENS and not any(
        bare(token) in AUXILIARIES | {"i", "we", "you", "it"} for token in tokens
    )


def _without_asking(tokens: Sequence[str]) -> list[str]:
    """The tokens without "what", the first auxiliary and the "you" behind it."""
    rest = list(tokens[1:] if bare(tokens[0]) in ("what", "which", "who") else tokens)
    for index, token in enumerate(rest):
        after = bare(rest[index + 1]) if index + 1 < len(rest) else ""
        if bare(token) in AUXILIARIES and (not index or after == "you"):
            return [*rest[:index], *rest[index + (2 if after in ("you", "it", "i") else 1) :]]
    return rest


def _named(token: str, asker: str, answerer: str) -> str:
    """A word of the question: "your" goes, "you" and "me" become names."""
    word = bare(token)
    if word == "your":
        return ""
    if word == "you":
        return answerer
    if word in ("i", "me"):
        return asker
    return f"{asker}'s" if word == "my" else token
