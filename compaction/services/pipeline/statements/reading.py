"""Messages read in order, clause by clause, into drafts of statements."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements import clauses, lexicon, words
from compaction.services.pipeline.statements.dates import GLUE, resolve_dates
from compaction.services.pipeline.statements.model import StatementMessage
from compaction.services.pipeline.statements.people import ClauseOpening, SpeakerTurn, clause_opening, replace_pronouns
from compaction.services.pipeline.statements.questions import OpenQuestion, is_short_answer, parse_question
from compaction.services.pipeline.statements.sentences import prose_lines, split_long_text, split_sentences
from compaction.services.pipeline.statements.weighting import may_be_name

#: Parts that one statement takes at most, with the clauses that continue it.
MAX_PARTS = 10
#: Small talk beyond so many tokens may contain what the next pronoun stands for.
MAX_IDLE_TOKENS = 3
#: Text that stays as it is has parts of so many characters,
VERBATIM_PART_CHARACTERS = 80
#: and at most so many lines of one message.
MAX_VERBATIM_LINES = 60


@dataclass
class StatementDraft:
    """A statement in the making: its parts are still tokens."""

    opening: ClauseOpening
    parts: list[list[str]]
    message_ids: tuple[str, ...]
    message: StatementMessage
    talk: SpeakerTurn
    is_verbatim: bool = False


class StatementReader:
    """Reads messages in order and keeps what the next clause may need: the question asked, the statement before."""

    def __init__(self, names: Collection[str], calls: Collection[str]) -> None:
        """`names` are the speakers' in lower case, `calls` those and what they may be called."""
        self.drafts: list[StatementDraft] = []
        self._names = names
        self._calls = calls
        self._question: OpenQuestion | None = None
        self._asked: OpenQuestion | None = None
        self._base: StatementDraft | None = None
        self._message = StatementMessage("", "", "")
        self._talk = SpeakerTurn("")

    def read(self, message: StatementMessage, talk: SpeakerTurn) -> None:
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

    def _read_sentence(self, sentence: str) -> None:
        if sentence.endswith("?"):
            self._question = parse_question(sentence, self._message.id, self._talk.speaker) or self._question
            self._base = None
            return
        tokens = words.sentence_tokens(resolve_dates(sentence, self._message.stated_on))
        answer = clauses.polarity(tokens)
        tokens = clauses.without_opener(tokens, self._calls)
        if answer and (not tokens or is_short_answer(tokens)) and self._confirm(answer, tokens):
            return
        if is_short_answer(tokens) and self._answer(tokens):
            return
        for link, clause in clauses.split_clauses(tokens):
            self._read_clause(link, clause, answer)

    def _confirm(self, answer: str, tokens: Sequence[str]) -> bool:
        """A yes or no as what it confirms or denies, with the few words that go with it."""
        asked = self._asked
        if asked is None or asked.is_open or not (topic := asked.topic(self._talk.speaker)):
            return False
        lead = f"{self._talk.speaker} {'confirmed' if answer == 'yes' else 'denied'}:".strip()
        parts = [topic]
        if words.has_content(tokens):
            topic[-1] += ","
            parts.append(self._lowered(replace_pronouns(tokens, self._talk, of_speaker=True)))
        self._add_answer(asked, lead, parts)
        return True

    def _answer(self, tokens: Sequence[str]) -> bool:
        """A short answer behind what was asked; False when it is better alone."""
        asked = self._asked
        if (
            asked is None
            or not (asked.is_open or asked.offers)
            or clauses.is_small_talk(tokens)
            or not words.has_content(tokens)
        ):
            return False
        topic = asked.topic(self._talk.speaker)
        parts = clauses.split_into_parts(replace_pronouns(self._lowered(tokens), self._talk, of_speaker=True))
        if not topic or not parts:
            return False
        topic_words = {*map(words.bare_word, topic)} - lexicon.STATEMENT_STOP_WORDS
        if not asked.offers and not topic_words.isdisjoint(map(words.bare_word, parts[0])):
            return False  # an answer that repeats a word of the question needs no more of it
        *start, end = self._lowered(topic)
        parts[0] = [*start, f"{end.rstrip(',.:')}:", *parts[0]]
        self._add_answer(asked, self._talk.lead, parts)
        return True

    def _add_answer(self, asked: OpenQuestion, lead: str, parts: list[list[str]]) -> None:
        self._add(ClauseOpening(self._talk.speaker, lead, of_speaker=True), parts, asked.message_id)
        self._asked = None

    def _read_clause(self, link: str, tokens: Sequence[str], answer: str) -> None:
        tokens = clauses.without_opener(tokens, self._calls)
        if not tokens:
            return
        if clauses.is_small_talk(tokens):
            self._base = self._base if len(tokens) <= MAX_IDLE_TOKENS else None
            return
        main, subordinate = clauses.main_clause_first(tokens)
        main, lead_in = clauses.subject_first(main)
        opening = clause_opening(self._lowered(main), self._talk)
        if opening.continues and self._base is None:
            if self._answer(_without_it_is(opening.tokens)):
                return
            if answer:
                self._confirm(answer, ())
        of_speaker = self._base.opening.of_speaker if opening.continues and self._base else opening.of_speaker
        parts = clauses.split_into_parts(replace_pronouns(opening.tokens, self._talk, of_speaker=of_speaker))
        parts = self._led_in(parts, lead_in, subordinate)
        if not any(map(words.has_content, parts)):
            self._base = self._base if opening.continues else None
        elif opening.continues or (link in lexicon.SUBORDINATE_LINKS and not opening.of_speaker):
            self._continue(link, parts)
        else:
            self._asked = None
            self._add(opening, parts)

    def _led_in(self, parts: list[list[str]], *lead_ins: Sequence[str]) -> list[list[str]]:
        """Add what was before the subject: dates to the first part, the rest at the end; a condition stays bound."""
        for tokens in lead_ins:
            named = replace_pronouns(tokens, self._talk, of_speaker=True)
            is_clause = words.word_at(named, 0) in lexicon.SUBORDINATE_OPENERS
            dates = [token.rstrip(",") for token in named if GLUE in token and not is_clause]
            rest = [token for token in named if GLUE not in token or is_clause]
            if parts and dates:
                *start, end = parts[0]
                dates[-1] += "," if end.endswith(",") else ""
                parts[0] = [*start, end.rstrip(",;.!"), *dates]
            if parts and len(rest) == 1 and words.bare_word(rest[0]) in lexicon.UNCERTAIN:
                parts[0].insert(0, words.bare_word(rest[0]))
            elif words.has_content(rest):
                parts = [*parts, *clauses.split_into_parts(self._lowered(rest))]
                if words.bare_word(rest[0]) in lexicon.BOUND_OPENERS:
                    parts = [[token for part in parts for token in part]]
        return parts

    def _continue(self, link: str, parts: list[list[str]]) -> None:
        if self._base is None or len(self._base.parts) + len(parts) > MAX_PARTS:
            return
        last = self._base.parts[-1]
        if not last[-1].endswith(","):
            last[-1] = last[-1].rstrip(".!:;-") + ","
        links = [link] if link in lexicon.SUBORDINATE_LINKS | {"but", "so"} else []
        self._base.parts += [[*links, *parts[0]], *parts[1:]]

    def _add(self, opening: ClauseOpening, parts: list[list[str]], *message_ids: str) -> None:
        self._base = StatementDraft(opening, parts, (*message_ids, self._message.id), self._message, self._talk)
        self.drafts.append(self._base)

    def _lowered(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with the first word of a sentence in lower case, unless it may be a name."""
        if not tokens:
            return []
        first = tokens[0]
        word = first[: len(first) - len(words.trailing_punctuation(first))]
        is_sentence_case = word[:1].isupper() and (word[1:].islower() or word == "A") and GLUE not in word
        if is_sentence_case and word.lower() not in self._names and not may_be_name(word):
            first = first[0].lower() + first[1:]
        return [first, *tokens[1:]]

    def _keep(self, line: str) -> None:
        """Keep a line that is no English prose as it is, in quotation marks where it would open with a pronoun."""
        for sentence in split_sentences(line):
            first = words.bare_word(sentence.split(" ", 1)[0])
            is_quoted = first in lexicon.PRONOUNS | lexicon.YES_WORDS or not self._talk.speaker
            text = f'"{sentence}"' if is_quoted else sentence
            parts = [piece.split(" ") for piece in split_long_text(text, VERBATIM_PART_CHARACTERS)]
            self._add(ClauseOpening(self._talk.speaker, self._talk.lead), parts)
            self.drafts[-1].is_verbatim = True
        self._base = None


def _without_it_is(tokens: Sequence[str]) -> Sequence[str]:
    """An answer such as "it's a pendant" without "it is"; empty when its subject is somebody else."""
    if words.word_at(tokens, 0) not in ("it", "that", "this"):
        return ()
    return tokens[2:] if len(tokens) > 2 and words.bare_word(tokens[1]) in lexicon.COPULAS else tokens
