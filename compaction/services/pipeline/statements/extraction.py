"""Messages into statements: source sentences that pass the filters, each with its kind (ADR-0102)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.classes import RANKS, has_value, kind_of
from compaction.services.pipeline.statements.dates import resolve_dates
from compaction.services.pipeline.statements.languages import Language, language_of, main_language
from compaction.services.pipeline.statements.model import Statement, StatementKind, StatementMessage
from compaction.services.pipeline.statements.sentences import SentenceRole, SourceSentence, split_sentences
from compaction.services.pipeline.statements.supersession import drop_replaced
from compaction.services.sessions.drafts import ASSISTANT_ROLE, INSTRUCTING_ROLES, TOOL_ROLE

#: Sentences of one message that may become statements; a document has more.
SENTENCES_PER_MESSAGE_MAX = 200
#: A question of fewer words of content takes the sentence before it along.
QUESTION_WORDS_MIN = 4
#: Of a span without statements.
OPENING_CHARACTERS_MAX = 160
#: A name and a colon before what was said.
_WRITTEN_SPEAKER = re.compile(r"([A-Z][\w'-]+(?: [A-Z][\w'-]+)?): +(?=\S)")
_SPOKEN = frozenset({SentenceRole.PROSE, SentenceRole.LIST_ITEM})
#: What systems say counts only when it binds the assistant.
_BINDING = frozenset({StatementKind.CONSTRAINT, StatementKind.INSTRUCTION, StatementKind.PREFERENCE})


@dataclass(frozen=True)
class _Read:
    """A message with its sentences and their language."""

    message: StatementMessage
    language: Language
    sentences: Sequence[SourceSentence]

    @property
    def spoken(self) -> Sequence[SourceSentence]:
        """The sentences in the speaker's own words."""
        return [sentence for sentence in self.sentences if sentence.role in _SPOKEN]


def extract_statements(messages: Sequence[StatementMessage]) -> list[Statement]:
    """Return all statements of the messages in the order of their sequence, without those that a later one replaced."""
    reads = _read(messages)
    statements: list[Statement] = []
    for number, read in enumerate(reads):
        before = reads[number - 1] if number else None
        after = reads[number + 1] if number + 1 < len(reads) else None
        statements += _of_message(read, before, after)
    return drop_replaced(_once(statements))


def _read(messages: Sequence[StatementMessage]) -> list[_Read]:
    """The messages with words of their own; tools and messages without sentences are left out."""
    ordered = _with_speakers(sorted(messages, key=lambda message: message.sequence))
    spoken = [message for message in ordered if message.role != TOOL_ROLE]
    default = main_language(message.content for message in spoken)
    reads = []
    for message in spoken:
        language = language_of(message.content, default)
        sentences = split_sentences(message.content, language)[:SENTENCES_PER_MESSAGE_MAX]
        read = _Read(message, language, sentences)
        if any(one.role in (*_SPOKEN, SentenceRole.QUOTE) for one in sentences):
            reads.append(read)
    return reads


def _with_speakers(messages: Sequence[StatementMessage]) -> list[StatementMessage]:
    """Speakers written into the text ("Caroline: I ran.") become names; with a role, if two messages have it."""
    written = [_WRITTEN_SPEAKER.match(message.content) if not message.name else None for message in messages]
    counts = Counter(match[1] for match in written if match)
    return [
        replace(message, name=match[1], content=message.content[match.end() :])
        if match and (not message.role or counts[match[1]] > 1)
        else message
        for message, match in zip(messages, written, strict=True)
    ]


def _of_message(read: _Read, before: _Read | None, after: _Read | None) -> Iterator[Statement]:
    answers = before is not None and before.message.speaker != read.message.speaker
    answered = _answer(before, read) if before is not None and answers else None
    if answered is not None:
        yield answered
    taken_up = after is not None and after.message.speaker != read.message.speaker and _takes_up(after)
    yield from _MessageReader(read, after, is_taken_up=taken_up).statements(skips_first=answered is not None)


def _takes_up(after: _Read) -> bool:
    spoken = after.spoken
    return bool(spoken) and filters.is_yes(spoken[0].text, after.language)


def _answer(asked: _Read, read: _Read) -> Statement | None:
    """A question and a reply that is not understood without it, both word for word; None for any other reply."""
    if not asked.spoken or not read.spoken or read.message.role in INSTRUCTING_ROLES:
        return None
    asking, reply = asked.spoken[-1], read.spoken[0].text
    if not filters.is_question(asking.text) or filters.is_question(reply):
        return None
    is_bare = filters.is_bare_reply(reply, read.language)
    if not is_bare and not filters.needs_question(reply, read.language):
        return None
    question = _complete_question(asked)
    text = f'{_label(asked.message)}"{question}" – {_label(read.message)}{filters.strip_emoji(reply)}'
    if not question or filters.is_unfit(text) or filters.is_injection(text, asked.language):
        return None
    ids = (asked.message.id, read.message.id)
    kind = StatementKind.DECISION if has_value(question) or has_value(reply) else StatementKind.FACT
    return Statement(text, ids, kind, asked.message.speaker, read.message.stated_on)


def _complete_question(asked: _Read) -> str:
    """The last question of a message, with the sentence before it where it is short or refers to it."""
    *others, last = asked.spoken
    text = filters.strip_opening(last.text, asked.language) or last.text
    words = len(filters.content_words(text))
    if words >= QUESTION_WORDS_MIN and not filters.refers_back(text, asked.language):
        return text
    if not others or others[-1].paragraph != last.paragraph:
        return text if words >= filters.CONTENT_WORDS_MIN and not filters.refers_back(text, asked.language) else ""
    former = filters.strip_opening(others[-1].text, asked.language)
    return f"{former} {last.text}"


class _MessageReader:
    """The statements of one message."""

    def __init__(self, read: _Read, after: _Read | None, *, is_taken_up: bool) -> None:
        self._read, self._after, self._is_taken_up = read, after, is_taken_up
        self._is_assistant = read.message.role == ASSISTANT_ROLE
        options = [one for one in read.spoken if one.role == SentenceRole.PROSE]
        self._offers = self._is_assistant and any(
            filters.is_hedged(one.text, read.language) or filters.is_question(one.text) for one in options
        )
        self._bad_paragraphs = {
            one.paragraph for one in read.sentences if filters.is_injection(one.text, read.language)
        }

    def statements(self, *, skips_first: bool) -> list[Statement]:
        """Return the statements in order; `skips_first`: the first sentence is in a pair already."""
        made: list[tuple[SourceSentence, Statement]] = []
        former: SourceSentence | None = None
        for number, sentence in enumerate(self._read.sentences):
            if sentence.paragraph in self._bad_paragraphs:
                former = None
                continue
            if sentence.role == SentenceRole.QUOTE:
                made += [(sentence, one) for one in self._quoted(sentence)]
            elif sentence.role in _SPOKEN and not (skips_first and number == 0):
                own = self._own(sentence, former)
                if own is not None:
                    statement, is_joined = own
                    if is_joined and made and made[-1][0] is former:
                        made.pop()
                    made.append((sentence, statement))
            former = sentence
        return [statement for _, statement in made]

    def _quoted(self, sentence: SourceSentence) -> list[Statement]:
        message = self._read.message
        if filters.is_unfit(sentence.text) or filters.is_scrap(sentence.text):
            return []
        mark = self._read.language.given.get("quoted", "quoted")
        text = f"{message.speaker} ({mark}): {sentence.text}".lstrip()
        return [Statement(text, (message.id,), StatementKind.QUOTED, f"{message.speaker} ({mark})", message.stated_on)]

    def _own(self, sentence: SourceSentence, former: SourceSentence | None) -> tuple[Statement, bool] | None:
        """The statement of a sentence, and whether it begins with the sentence before; None for no statement."""
        language, message = self._read.language, self._read.message
        text = filters.strip_opening(sentence.text, language)
        if not text or filters.is_unfit(text) or filters.is_small_talk(text, language):
            return None
        is_asked = filters.is_question(text)
        if is_asked and not self._is_open():
            return None
        is_hedged = filters.is_hedged(text, language)
        if self._is_assistant and not is_asked and (is_hedged or sentence.role == SentenceRole.LIST_ITEM):
            if not self._is_taken_up and (is_hedged or self._offers):
                return None
        is_joined = filters.refers_back(text, language)
        joined = text
        if is_joined:
            opening = self._joinable(former, sentence)
            joined = f"{opening} {sentence.text}" if opening else ""
            if not opening or filters.is_unfit(joined):
                return None
        kind = StatementKind.QUESTION if is_asked else self._kind(joined, is_hedged=is_hedged)
        if RANKS[kind] > RANKS[StatementKind.INSTRUCTION] and filters.is_scrap(joined):
            return None
        if message.role in INSTRUCTING_ROLES and kind not in _BINDING:
            return None
        body = resolve_dates(joined, message.stated_on, language)
        statement = Statement(f"{_label(message)}{body}", (message.id,), kind, message.speaker, message.stated_on)
        return statement, is_joined

    def _kind(self, text: str, *, is_hedged: bool) -> StatementKind:
        if not self._is_assistant and filters.is_left_open(text, self._read.language):
            return StatementKind.QUESTION
        return kind_of(text, self._read.language, role=self._read.message.role, is_hedged=is_hedged)

    def _joinable(self, former: SourceSentence | None, sentence: SourceSentence) -> str:
        """The sentence before as the beginning of a statement, "" where it cannot be."""
        language = self._read.language
        if former is None or former.paragraph != sentence.paragraph or former.role != sentence.role:
            return ""
        text = filters.strip_opening(former.text, language)
        if not text or filters.is_question(text) or filters.refers_back(text, language):
            return ""
        if self._is_assistant and filters.is_hedged(text, language):
            return ""
        return "" if filters.is_small_talk(text, language) else text

    def _is_open(self) -> bool:
        """Whether nobody answered a question of this message: nothing follows, or it is said to be open."""
        if self._after is None:
            return True
        return any(filters.is_left_open(one.text, self._after.language) for one in self._after.spoken)


def _label(message: StatementMessage) -> str:
    return f"{message.speaker}: " if message.speaker else ""


def _once(statements: Sequence[Statement]) -> list[Statement]:
    """The statements without earlier ones of the same text."""
    last = {" ".join(statement.text.lower().split()): number for number, statement in enumerate(statements)}
    kept = set(last.values())
    return [statement for number, statement in enumerate(statements) if number in kept]


def first_sentences(messages: Sequence[StatementMessage]) -> list[Statement]:
    """Return the first piece of each message, for a span without any statement; long ones end at a word."""
    statements = []
    for message in messages:
        text = shorten(" ".join(message.content.split()), OPENING_CHARACTERS_MAX)
        statements.append(
            Statement(f"{_label(message)}{text}", (message.id,), StatementKind.FACT, message.speaker, message.stated_on)
        )
    return statements


def shorten(text: str, characters: int) -> str:
    """Return the first `characters` of a text, up to the last space among them."""
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0]
