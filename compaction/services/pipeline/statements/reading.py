"""Messages read in order, clause by clause, into drafts of statements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from compaction.services.pipeline.statements.clauses import (
    Clause,
    is_small_talk,
    main_clause_first,
    polarity,
    split_clauses,
    subject_first,
    without_opener,
)
from compaction.services.pipeline.statements.dates import GLUE, resolve_dates
from compaction.services.pipeline.statements.fragments import parts_of
from compaction.services.pipeline.statements.lexicon import (
    BOUND_OPENERS,
    COPULAS,
    PRONOUNS,
    STOP_WORDS,
    SUBORDINATE_LINKS,
    SUBORDINATE_OPENERS,
    UNCERTAIN,
    YES_WORDS,
)
from compaction.services.pipeline.statements.model import Message
from compaction.services.pipeline.statements.people import Opening, Talk, opening_of, with_names
from compaction.services.pipeline.statements.questions import Question, is_short_answer, question_of, topic_of
from compaction.services.pipeline.statements.sentences import pieces, prose_lines, split_sentences
from compaction.services.pipeline.statements.weighting import may_be_name
from compaction.services.pipeline.statements.words import bare, has_content, tail_of, tokens_of

#: Parts that one statement takes at most, with the clauses that continue it.
MAX_PARTS = 10
#: Small talk beyond so many tokens may hold what the next pronoun stands for.
MAX_IDLE_TOKENS = 3
#: What is kept as it is, is kept in parts of so many characters,
VERBATIM_PART_CHARACTERS = 80
#: and only so many lines of one message.
MAX_VERBATIM_LINES = 60


@dataclass
class Draft:
    """A statement in the making: its parts are still tokens."""

    opening: Opening
    parts: list[list[str]]
    message_ids: tuple[str, ...]
    said_on: date | None
    talk: Talk
    is_verbatim: bool = False


class Reader:
    """Reads messages in order and keeps what the next clause may need: the question asked, the statement before."""

    def __init__(self, names: Collection[str], calls: Collection[str]) -> None:
        """`names` are the speakers' in lower case, `calls` those and what they may be called."""
        self.drafts: list[Draft] = []
        self._names = names
        self._calls = calls
        self._question: Question | None = None
        self._asked: Question | None = None
        self._base: Draft | None = None
        self._message = Message("", "", "")
        self._talk = Talk("")

    def read(self, message: Message, talk: Talk) -> None:
        """Add the statements of one message."""
        self._message, self._talk, self._base = message, talk, None
        self._asked = self._question if self._question and self._question.asker != talk.speaker else None
        self._question = None
        before, verbatim_lines = len(self.drafts), 0
        for is_prose, line in prose_lines(message.content):
            if is_prose and message.role != "tool":
                for sentence in split_sentences(line):
                    self._read_sentence(sentence)
            elif (verbatim_lines := verbatim_lines + 1) <= MAX_VERBATIM_LINES:
                self._keep(line)
        if not talk.speaker and len(self.drafts) == before:
            for _, line in prose_lines(message.content):
                self._keep(line)

    @property
    def _said_on(self) -> date | None:
        return self._message.created_at.date() if self._message.created_at else None

    def _read_sentence(self, sentence: str) -> None:
        if sentence.endswith("?"):
            self._question = question_of(sentence, self._message.id, self._talk.speaker) or self._question
            self._base = None
            return
        tokens = tokens_of(resolve_dates(sentence, self._said_on))
        answer = polarity(tokens)
        tokens = without_opener(tokens, self._calls)
        if answer and (not tokens or is_short_answer(tokens)) and self._confirm(answer, tokens):
            return
        if is_short_answer(tokens) and self._answer(tokens):
            return
        for clause in split_clauses(tokens) if tokens else ():
            self._read_clause(clause, answer)

    def _confirm(self, answer: str, tokens: Sequence[str]) -> bool:
        """A yes or no as what it confirms or denies, with the few words that go with it."""
        asked = self._asked
        if asked is None or asked.is_open or not (topic := topic_of(asked, self._talk.speaker)):
            return False
        verb = "confirmed" if answer == "yes" else "denied"
        lead = f"{self._talk.speaker} {verb}:".strip()
        parts = [topic]
        if has_content(tokens):
            parts = [[*topic[:-1], f"{topic[-1]},"], self._lowered(with_names(tokens, self._talk, of_speaker=True))]
        self._add(Opening(self._talk.speaker, lead, (), of_speaker=True), parts, asked.message_id)
        self._asked = None
        return True

    def _answer(self, tokens: Sequence[str]) -> bool:
        """A short answer behind what was asked; False when it stands better alone."""
        asked = self._asked
        if asked is None or not (asked.is_open or asked.offers) or is_small_talk(tokens) or not has_content(tokens):
            return False
        topic = topic_of(asked, self._talk.speaker)
        parts = parts_of(with_names(self._lowered(tokens), self._talk, of_speaker=True))
        if not topic or not parts or (not asked.offers and _share_content(topic, parts[0])):
            return False
        *start, end = self._lowered(topic)
        parts[0] = [*start, f"{end.rstrip(',.:')}:", *parts[0]]
        lead = f"{self._talk.speaker}:" if self._talk.speaker else ""
        self._add(Opening(self._talk.speaker, lead, (), of_speaker=True), parts, asked.message_id)
        self._asked = None
        return True

    def _read_clause(self, clause: Clause, answer: str = "") -> None:
        tokens = without_opener(clause.tokens, self._calls)
        if not tokens:
            return
        if is_small_talk(tokens):
            self._base = self._base if len(tokens) <= MAX_IDLE_TOKENS else None
            return
        main, subordinate = main_clause_first(tokens)
        main, lead_in = subject_first(main)
        opening = opening_of(self._lowered(main), self._talk)
        if opening.continues and self._base is None and self._answer(_without_it_is(opening.tokens)):
            return
        if opening.continues and self._base is None and answer:
            self._confirm(answer, ())
        of_speaker = self._base.opening.of_speaker if opening.continues and self._base else opening.of_speaker
        parts = parts_of(with_names(opening.tokens, self._talk, of_speaker=of_speaker))
        parts = self._led_in(parts, lead_in, subordinate)
        if not any(has_content(part) for part in parts):
            self._base = self._base if opening.continues else None
        elif opening.continues or (clause.link in SUBORDINATE_LINKS and not opening.of_speaker):
            self._continue(clause.link, parts)
        else:
            self._asked = None
            self._add(opening, parts)

    def _led_in(self, parts: list[list[str]], *lead_ins: Sequence[str]) -> list[list[str]]:
        """The parts with what stood before the subject: a date goes into the first part, the rest behind the last.

        A condition is never left off: all is one part then.
        """
        for tokens in lead_ins:
            named = with_names(tokens, self._talk, of_speaker=True)
            is_clause = bool(named) and bare(named[0]) in SUBORDINATE_OPENERS
            dates = [token.rstrip(",") for token in named if GLUE in token and not is_clause]
            rest = [token for token in named if GLUE not in token or is_clause]
            if parts and dates:
                *start, end = parts[0]
                dates[-1] += "," if end.endswith(",") else ""
                parts[0] = [*start, end.rstrip(",;.!"), *dates]
            if parts and len(rest) == 1 and bare(rest[0]) in UNCERTAIN:
                parts[0].insert(0, bare(rest[0]))
            elif has_content(rest):
                parts = [*parts, *parts_of(self._lowered(rest))]
                if bare(rest[0]) in BOUND_OPENERS:
                    parts = [[token for part in parts for token in part]]
        return parts

    def _continue(self, link: str, parts: list[list[str]]) -> None:
        """Append to the statement before, which says what the pronoun stands for."""
        if self._base is None or len(self._base.parts) + len(parts) > MAX_PARTS:
            return
        *_, end = self._base.parts[-1]
        if not end.endswith(","):
            self._base.parts[-1][-1] = end.rstrip(".!:;-") + ","
        links = [link] if link in SUBORDINATE_LINKS or link in ("but", "so") else []
        self._base.parts.extend([[*links, *parts[0]], *parts[1:]])

    def _add(self, opening: Opening, parts: list[list[str]], *message_ids: str) -> None:
        self._base = Draft(opening, parts, (*message_ids, self._message.id), self._said_on, self._talk)
        self.drafts.append(self._base)

    def _lowered(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with the first word of a sentence in lower case, unless it may be a name."""
        if not tokens:
            return []
        first = tokens[0]
        word = first[: len(first) - len(tail_of(first))]
        if _is_sentence_case(word) and word.lower() not in self._names and not may_be_name(word):
            first = first[0].lower() + first[1:]
        return [first, *tokens[1:]]

    def _keep(self, line: str) -> None:
        """Keep a line that is no English prose as it is, in quotation marks where it would open with a pronoun."""
        for sentence in split_sentences(line):
            first = bare(sentence.split(" ", 1)[0])
            quoted = f'"{sentence}"' if first in PRONOUNS | YES_WORDS or not self._talk.speaker else sentence
            parts = [piece.split(" ") for piece in pieces(quoted, VERBATIM_PART_CHARACTERS)]
            opening = Opening(self._talk.speaker, f"{self._talk.speaker}:" if self._talk.speaker else "", ())
            self._add(opening, parts)
            self.drafts[-1].is_verbatim = True
        self._base = None


def _is_sentence_case(word: str) -> bool:
    return word[:1].isupper() and (word[1:].islower() or word == "A") and GLUE not in word


def _share_content(topic: Sequence[str], answer: Sequence[str]) -> bool:
    """Whether an answer repeats a word of the question, and so needs no more of it."""
    return bool(({bare(token) for token in topic} - STOP_WORDS) & {bare(token) for token in answer})


def _without_it_is(tokens: Sequence[str]) -> list[str]:
    """An answer such as "it's a pendant" without "it is"; [] when its subject is somebody else."""
    if not tokens or bare(tokens[0]) not in ("it", "that", "this"):
        return []
    return list(tokens[2:] if len(tokens) > 2 and bare(tokens[1]) in COPULAS else tokens)
