"""Questions complete the short answers to them: "Where did you go?" "Sweden" is "where did Ann go: Sweden"."""

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements import lexicon
from compaction.services.pipeline.statements.clauses import drop_fillers
from compaction.services.pipeline.statements.words import bare_word, sentence_tokens, third_person_token, word_at

#: Longer questions tell their answer nothing that it does not say itself.
MAX_QUESTION_TOKENS = 14
#: Longer answers speak for themselves.
MAX_ANSWER_TOKENS = 6
_ASKING = lexicon.word_set("what where when who whom whose which why how")
#: An answer needs these even when the rest of the question is made of small words.
_TELLING = lexicon.word_set("where when how why")
_VAGUE_WORDS = lexicon.STATEMENT_STOP_WORDS | lexicon.FAINT_WORDS
_ASKED_OF = lexicon.word_set("you your we i it the")
_WORDS_OF_CLAUSES = lexicon.AUXILIARIES | {"i", "we", "you", "it"}


@dataclass(frozen=True)
class OpenQuestion:
    """A question waiting for its answer: who asked it where, and its tokens."""

    message_id: str
    asker: str
    tokens: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        """Whether it asks for more than yes or no."""
        return bare_word(self.tokens[0]) in _ASKING

    @property
    def offers(self) -> bool:
        """Whether it names what to choose from."""
        return "or" in self.tokens[1:-1]

    def topic(self, answerer: str) -> list[str]:
        """Return the words that the answer needs, as told of the answerer; [] for none."""
        kept = self._without_asking()
        is_vague = word_at(kept, 0) not in _TELLING and _VAGUE_WORDS.issuperset(map(bare_word, kept))
        if len(self.tokens) > MAX_QUESTION_TOKENS or is_vague:
            return []
        named = drop_fillers(self._told(kept, answerer))
        while word_at(named, 0) in lexicon.PRONOUNS:
            named = named[1:]
        return named

    def _without_asking(self) -> Sequence[str]:
        """The tokens without the auxiliary of a closed question and its subject, or "what is" of an open one."""
        tokens = self.tokens
        first, second = bare_word(tokens[0]), word_at(tokens, 1)
        if not self.is_open:
            return tokens[2:] if second in ("you", "it", "i", "we") else tokens[1:]
        if first not in ("what", "which", "who") or second not in lexicon.COPULAS | {"am"} or len(tokens) < 3:
            return tokens
        return tokens[3:] if bare_word(tokens[2]) == "you" else tokens[2:]

    def _told(self, tokens: Sequence[str], answerer: str) -> list[str]:
        """The words: "your" goes, "you" and "me" become names, with which the auxiliary agrees."""
        told: list[str] = []
        for token in tokens:
            word = bare_word(token)
            name = answerer if word in ("you", "yourself") else self.asker if word in ("i", "me") else ""
            if name and told and bare_word(told[-1]) in lexicon.AUXILIARIES:
                told[-1] = third_person_token(told[-1])
            if word != "your":
                told.append(name or (f"{self.asker}'s" if word == "my" and self.asker else token))
        return told


def parse_question(sentence: str, message_id: str, asker: str) -> OpenQuestion | None:
    """Return the question in a sentence with a question mark, from its first asking word on."""
    tokens = sentence_tokens(sentence.rstrip("?! "))
    for index, token in enumerate(tokens):
        word, after = bare_word(token), word_at(tokens, index + 1)
        if word in _ASKING or (word in lexicon.AUXILIARIES and after in _ASKED_OF):
            return OpenQuestion(message_id, asker, tuple(tokens[index:]))
    return None


def is_short_answer(tokens: Sequence[str]) -> bool:
    """Return whether the tokens are a few words without a verb of their own."""
    return 0 < len(tokens) <= MAX_ANSWER_TOKENS and _WORDS_OF_CLAUSES.isdisjoint(map(bare_word, tokens))
