"""Messages into statements: source sentences that pass the filters, each with its kind (ADR-0102)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.classes import RANKS, has_date, has_value, kind_of
from compaction.services.pipeline.statements.dates import resolve_dates
from compaction.services.pipeline.statements.languages import Language, language_of, main_language
from compaction.services.pipeline.statements.model import Statement, StatementKind, StatementMessage
from compaction.services.pipeline.statements.sentences import SentenceRole, SourceSentence, run_text, split_sentences
from compaction.services.pipeline.statements.supersession import drop_replaced
from compaction.services.sessions.drafts import ASSISTANT_ROLE, INSTRUCTING_ROLES, TOOL_ROLE, USER

#: Sentences of one message that may become statements; a document has more.
SENTENCES_PER_MESSAGE_MAX = 200
#: Words of content that a statement has at least, by kind: a preference is short ("I like tea").
CONTENT_WORDS_MIN = 3
_CONTENT_WORDS_MIN = {
    StatementKind.PREFERENCE: 1,
    StatementKind.CONSTRAINT: 1,
    StatementKind.DECISION: 2,
    StatementKind.CORRECTION: 2,
    StatementKind.INSTRUCTION: 2,
}
#: Praise and feelings tell less than others.
PRAISE_WEIGHT = 0.7
#: Words of content of a sentence that another one hangs on.
OPENING_WORDS_MIN = 2
#: A question of fewer words of content takes the sentence before it along.
QUESTION_WORDS_MIN = 2
#: Of a span without statements.
OPENING_CHARACTERS_MAX = 160
#: A name and a colon before what was said.
_WRITTEN_SPEAKER = re.compile(r"([A-Z][\w'-]+(?: [A-Z][\w'-]+)?): +(?=\S)")
_SPOKEN = frozenset({SentenceRole.PROSE, SentenceRole.LIST_ITEM})
#: Kinds that a short answer may have.
_ANSWERED = frozenset({StatementKind.CONSTRAINT, StatementKind.IDENTITY, StatementKind.VALUE, StatementKind.PREFERENCE})
#: Kinds that praise does not have.
_SINCERE = frozenset(
    {StatementKind.DECISION, StatementKind.CORRECTION, StatementKind.COMMITMENT}
    | {StatementKind.INSTRUCTION, StatementKind.IDENTITY, StatementKind.STATE, StatementKind.PREFERENCE}
)
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


@dataclass(frozen=True)
class _Found:
    """A statement, the sentence it ends with, where its run begins in the message, and the run without dates.

    One that is not clear by itself only replaces others.
    """

    statement: Statement
    sentence: SourceSentence | None = None
    start: int = 0
    run: str = ""
    is_clear: bool = True
    is_joined: bool = False


def extract_statements(messages: Sequence[StatementMessage]) -> list[Statement]:
    """Return all statements of the messages in the order of their sequence, without those that a later one replaced."""
    reads = _read(messages)
    found: list[_Found] = []
    for number, read in enumerate(reads):
        before = reads[number - 1] if number else None
        after = reads[number + 1] if number + 1 < len(reads) else None
        for one in _of_message(read, before, after):
            while (
                found and len(one.statement.message_ids) > 1 and found[-1].run and found[-1].run in one.statement.text
            ):
                found.pop()
            found.append(one)
    unclear = {one.statement.text for one in found if not one.is_clear}
    held = drop_replaced(_once([one.statement for one in found]))
    return [statement for statement in held if statement.text not in unclear]


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
        if match and (not message.role or (message.role == USER and counts[match[1]] > 1))
        else message
        for message, match in zip(messages, written, strict=True)
    ]


def _of_message(read: _Read, before: _Read | None, after: _Read | None) -> Iterator[_Found]:
    answers = before is not None and before.message.speaker != read.message.speaker
    answered = _answer(before, read) if before is not None and answers else None
    if answered is not None:
        yield _Found(answered)
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
    if filters.is_deferred(reply, read.language) or filters.is_playful(reply, read.language):
        return None
    is_bare = filters.is_bare_reply(reply, read.language)
    if not is_bare and not filters.needs_question(reply, read.language):
        return None
    question = _complete_question(asked)
    text = f'{_label(asked.message)}"{question}" – {_label(read.message)}{filters.strip_emoji(reply)}'
    if not question or filters.is_unfit(text) or filters.is_injection(text, asked.language):
        return None
    ids = (asked.message.id, read.message.id)
    kind = _kind_of_answer(question, reply, read, is_bare=is_bare, asked=asked.language)
    return Statement(text, ids, kind, asked.message.speaker, read.message.stated_on)


def _kind_of_answer(question: str, reply: str, read: _Read, *, is_bare: bool, asked: Language) -> StatementKind:
    """The kind of a question with its answer: what was proposed or offered as a choice is decided by it."""
    if filters.is_proposal(question, asked) or filters.is_choice(question, asked):
        return StatementKind.DECISION
    if is_bare:
        return StatementKind.FACT
    kind = kind_of(reply, read.language, role=read.message.role)
    return kind if kind in _ANSWERED else StatementKind.FACT


def _complete_question(asked: _Read) -> str:
    """The last question of a message, with the sentence before it where it is short or refers to it; "" if unclear."""
    *others, last = asked.spoken
    text = filters.strip_opening(last.text, asked.language) or last.text
    if filters.has_content(text, QUESTION_WORDS_MIN, asked.language) and not filters.reference_of(text, asked.language):
        return text
    if not others or others[-1].paragraph != last.paragraph:
        return ""
    former = filters.strip_opening(others[-1].text, asked.language)
    is_clear = filters.has_content(former, QUESTION_WORDS_MIN, asked.language) and not filters.reference_of(
        former, asked.language
    )
    return f"{former} {last.text}" if is_clear else ""


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

    def statements(self, *, skips_first: bool) -> list[_Found]:
        """Return the statements in order; `skips_first`: the first sentence is in a pair already."""
        found: list[_Found] = []
        former: SourceSentence | None = None
        skipped = self._read.spoken[:1] if skips_first else ()
        for sentence in self._read.sentences:
            if sentence.paragraph in self._bad_paragraphs:
                former = None
                continue
            if sentence.role == SentenceRole.QUOTE:
                found += self._quoted(sentence)
            elif (
                sentence.role in _SPOKEN
                and sentence not in skipped
                and (own := self._own(sentence, former, last := self._ends_with(found, former)))
            ):
                if own.is_joined and last:
                    found.pop()
                found.append(own)
            former = sentence
        return found

    def _quoted(self, sentence: SourceSentence) -> list[_Found]:
        message = self._read.message
        if filters.is_unfit(sentence.text) or not filters.has_content(
            sentence.text, CONTENT_WORDS_MIN, self._read.language
        ):
            return []
        label = f"{message.speaker} ({self._read.language.given.get('quoted', 'quoted')})".strip()
        text = f"{label}: {sentence.text}"
        return [_Found(Statement(text, (message.id,), StatementKind.QUOTED, label, message.stated_on), sentence)]

    def _is_clear(self, text: str) -> bool:
        language = self._read.language
        return filters.has_content(text, CONTENT_WORDS_MIN, self._read.language) and not filters.reference_of(
            text, language
        )

    def _own(self, sentence: SourceSentence, former: SourceSentence | None, last: _Found | None) -> _Found | None:
        """The statement of a sentence, with the sentence before where it needs it; None for no statement."""
        language, message = self._read.language, self._read.message
        text = filters.strip_opening(sentence.text, language)
        if not text or filters.is_unfit(text) or filters.is_small_talk(text, language):
            return None
        is_asked = filters.is_question(text)
        is_hedged = filters.is_hedged(text, language)
        if (is_asked and not self._is_open()) or (not is_asked and self._is_option(sentence, is_hedged=is_hedged)):
            return None
        reference = filters.reference_of(text, language)
        start = self._start(former, sentence, last) if reference else sentence.start
        joined = filters.strip_opening(run_text(message.content, start, sentence.end), language)
        is_joined = start < sentence.start and not filters.is_unfit(joined)
        if is_joined:
            text = joined
        elif reference and self._is_clear(rest := filters.after_colon(text)):
            text, reference = rest, filters.Reference.NONE
        kind = StatementKind.QUESTION if is_asked else self._kind(text, is_hedged=is_hedged)
        is_weighty = RANKS[kind] <= RANKS[StatementKind.COMMITMENT]
        is_clear = not reference or is_joined
        if not is_clear and reference == filters.Reference.OBJECT and is_weighty:
            is_clear = filters.has_content(text, filters.CLEAR_WORDS_MIN, language)
        is_clear &= filters.has_content(text, _CONTENT_WORDS_MIN.get(kind, CONTENT_WORDS_MIN), language)
        if not is_clear and kind != StatementKind.CORRECTION:
            return None
        if message.role in INSTRUCTING_ROLES and kind not in _BINDING:
            return None
        body = resolve_dates(text, message.stated_on, language)
        weight = PRAISE_WEIGHT if filters.is_praise(text, language) else 1.0
        statement = Statement(
            f"{_label(message)}{body}", (message.id,), kind, message.speaker, message.stated_on, weight=weight
        )
        return _Found(statement, sentence, start if is_joined else sentence.start, text, is_clear, is_joined=is_joined)

    def _is_option(self, sentence: SourceSentence, *, is_hedged: bool) -> bool:
        """Whether an assistant only offers it: a hedge, or an item of a list of options; not once it is taken up."""
        if not self._is_assistant or self._is_taken_up:
            return False
        return is_hedged or (self._offers and sentence.role == SentenceRole.LIST_ITEM)

    def _kind(self, text: str, *, is_hedged: bool) -> StatementKind:
        language, role = self._read.language, self._read.message.role
        if not self._is_assistant and filters.is_left_open(text, language):
            return StatementKind.QUESTION
        kind = kind_of(text, language, role=role, is_hedged=is_hedged)
        is_light = filters.is_playful(text, language) or (kind in _SINCERE and filters.is_praise(text, language))
        return StatementKind.FACT if is_light and not has_date(text, language) and not has_value(text) else kind

    @staticmethod
    def _ends_with(found: Sequence[_Found], former: SourceSentence | None) -> _Found | None:
        """The last statement if it ends with the sentence before."""
        return found[-1] if found and former is not None and found[-1].sentence is former else None

    def _start(self, former: SourceSentence | None, sentence: SourceSentence, last: _Found | None) -> int:
        """Where a statement begins that takes along what comes before; its own start where that cannot be."""
        language = self._read.language
        if former is None or former.paragraph != sentence.paragraph or former.role != sentence.role:
            return sentence.start
        text = filters.strip_opening(former.text, language)
        if filters.is_unfit(text) or filters.is_question(text) or filters.is_small_talk(text, language):
            return sentence.start
        if self._is_assistant and filters.is_hedged(text, language):
            return sentence.start
        if not filters.has_content(text, OPENING_WORDS_MIN, language):
            return sentence.start
        if not filters.reference_of(text, language):
            return former.start
        return last.start if last and last.is_joined and last.is_clear else sentence.start

    def _is_open(self) -> bool:
        """Whether nobody answered a question of this message: nothing follows, or the reply leaves it open."""
        if self._after is None:
            return True
        return any(filters.is_deferred(one.text, self._after.language) for one in self._after.spoken[:1])


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
