"""Messages into statements: runs of source sentences that pass the filters, each with its kind (ADR-0102)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.answers import label_of, read_answer
from compaction.services.pipeline.statements.classes import RANKS, has_date, has_value, kind_of
from compaction.services.pipeline.statements.dates import resolve_dates
from compaction.services.pipeline.statements.model import PART_DISTANCE_MAX, Statement, StatementKind, StatementMessage
from compaction.services.pipeline.statements.reading import SPOKEN, ReadMessage, read_messages
from compaction.services.pipeline.statements.runs import Run, find_run
from compaction.services.pipeline.statements.sentences import SentenceRole, SourceSentence
from compaction.services.pipeline.statements.supersession import drop_replaced, is_said_done
from compaction.services.pipeline.statements.worth import factual_kind, is_worth_keeping
from compaction.services.sessions.drafts import ASSISTANT_ROLE, INSTRUCTING_ROLES

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
#: Of a span without statements.
OPENING_CHARACTERS_MAX = 160
#: Kinds that praise does not have.
_SINCERE = frozenset(
    {StatementKind.DECISION, StatementKind.CORRECTION, StatementKind.COMMITMENT}
    | {StatementKind.INSTRUCTION, StatementKind.IDENTITY, StatementKind.STATE, StatementKind.PREFERENCE}
)
#: What systems say counts only when it binds the assistant.
_BINDING = frozenset({StatementKind.CONSTRAINT, StatementKind.INSTRUCTION, StatementKind.PREFERENCE})


@dataclass(frozen=True)
class _Found:
    """A statement; one that is not kept only replaces others."""

    statement: Statement
    is_kept: bool = True


def extract_statements(messages: Sequence[StatementMessage]) -> list[Statement]:
    """Return all statements of the messages in the order of their sequence, without those that a later one replaced."""
    reads = read_messages(messages)
    found: list[_Found] = []
    for number, read in enumerate(reads):
        before = reads[number - 1] if number else None
        after = reads[number + 1] if number + 1 < len(reads) else None
        for one in _of_message(read, before, after):
            while found and len(one.statement.message_ids) > 1 and _is_within(found[-1].statement, one.statement):
                found.pop()
            found.append(one)
    left_out = {one.statement.text for one in found if not one.is_kept}
    held = drop_replaced(_once([one.statement for one in found]))
    return _without_parts([statement for statement in held if statement.text not in left_out])


def _without_parts(statements: Sequence[Statement]) -> list[Statement]:
    """The statements without those that are a part of a run that ranks no lower."""
    parts = {
        number
        for number, part in enumerate(statements)
        for run in statements[number + 1 : number + 1 + PART_DISTANCE_MAX]
        if run.contains(part) and RANKS[run.kind] <= RANKS[part.kind]
    }
    return [statement for number, statement in enumerate(statements) if number not in parts]


def _is_within(former: Statement, pair: Statement) -> bool:
    """Whether a pair repeats the last statement of the message before it."""
    return former.message_ids[-1] in pair.message_ids[:1] and (former.claim or former.body) in pair.text


def _of_message(read: ReadMessage, before: ReadMessage | None, after: ReadMessage | None) -> Iterator[_Found]:
    answers = before is not None and before.message.speaker != read.message.speaker
    answered = read_answer(before, read) if before is not None and answers else None
    if answered is not None:
        yield _Found(answered.statement)
    taken_up = after is not None and after.message.speaker != read.message.speaker and _takes_up(after)
    yield from _MessageReader(read, after, is_taken_up=taken_up).statements(
        skipped=answered.sentence if answered else None
    )


def _takes_up(after: ReadMessage) -> bool:
    spoken = after.spoken
    return bool(spoken) and filters.is_yes(spoken[0].text, after.language)


class _MessageReader:
    """The statements of one message."""

    def __init__(self, read: ReadMessage, after: ReadMessage | None, *, is_taken_up: bool) -> None:
        self._read, self._after, self._is_taken_up = read, after, is_taken_up
        self._is_assistant = read.message.role == ASSISTANT_ROLE
        options = [one for one in read.spoken if one.role == SentenceRole.PROSE]
        self._offers = self._is_assistant and any(
            filters.is_hedged(one.text, read.language) or filters.is_question(one.text) for one in options
        )
        self._bad_paragraphs = {
            one.paragraph for one in read.sentences if filters.is_injection(one.text, read.language)
        }

    def statements(self, *, skipped: SourceSentence | None) -> Iterator[_Found]:
        """Yield the statements in order; the sentence `skipped` is in a pair already."""
        for place, sentence in enumerate(self._read.sentences):
            if sentence.paragraph in self._bad_paragraphs:
                continue
            if sentence.role == SentenceRole.QUOTE:
                yield from self._quoted(sentence)
            elif sentence.role in SPOKEN and sentence is not skipped and (own := self._own(place)):
                yield own

    def _quoted(self, sentence: SourceSentence) -> Iterator[_Found]:
        message, language = self._read.message, self._read.language
        if not filters.is_unfit(sentence.text) and filters.has_content(sentence.text, CONTENT_WORDS_MIN, language):
            label = f"{message.speaker} ({language.given.get('quoted', 'quoted')})".strip()
            text = f"{label}: {sentence.text}"
            yield _Found(Statement(text, (message.id,), StatementKind.QUOTED, label, message.stated_on))

    def _own(self, place: int) -> _Found | None:
        """The statement of a sentence, with the sentences before where it needs them; None for no statement."""
        read, message, sentence = self._read, self._read.message, self._read.sentences[place]
        text = read.opened(sentence.text)
        if not text or filters.is_unfit(text) or filters.is_small_talk(text, read.language):
            return None
        is_asked = filters.is_question(text)
        is_hedged = filters.is_hedged(text, read.language)
        if (is_asked and not self._is_open()) or (not is_asked and self._is_option(sentence, is_hedged=is_hedged)):
            return None
        run = find_run(read, place)
        kind = StatementKind.QUESTION if is_asked else self._kind(run.claim, is_hedged=is_hedged)
        is_kept = self._is_clear(run, kind) and is_worth_keeping(run.claim, kind, read)
        if not is_kept and not self._may_replace(run, kind):
            return None
        if message.role in INSTRUCTING_ROLES and kind not in _BINDING:
            return None
        body, claim = (resolve_dates(one, message.stated_on, read.language) for one in (run.text, run.claim))
        statement = Statement(
            f"{label_of(message)}{body}",
            (message.id,),
            kind,
            message.speaker,
            message.stated_on,
            weight=PRAISE_WEIGHT if filters.is_praise(text, read.language) else 1.0,
            claim=claim if claim != body else "",
            is_pointing=run.is_pointing,
        )
        return _Found(statement, is_kept)

    def _is_clear(self, run: Run, kind: StatementKind) -> bool:
        """Whether a reader understands it: nothing points outside, or an object of something that binds."""
        language = self._read.language
        if run.is_pointing and not (
            run.has_subject
            and RANKS[kind] <= RANKS[StatementKind.CONSTRAINT]
            and filters.has_content(run.text, filters.CLEAR_WORDS_MIN, language)
        ):
            return False
        return filters.has_content(run.text, _CONTENT_WORDS_MIN.get(kind, CONTENT_WORDS_MIN), language)

    def _may_replace(self, run: Run, kind: StatementKind) -> bool:
        """Whether a sentence that is no statement itself says that something earlier is over."""
        return kind == StatementKind.CORRECTION or (not self._is_assistant and is_said_done(run.claim))

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
        if is_light and not has_date(text, language) and not has_value(text):
            kind = StatementKind.FACT
        return factual_kind(text, self._read) if kind == StatementKind.FACT else kind

    def _is_open(self) -> bool:
        """Whether nobody answered a question of this message: nothing follows, or the reply leaves it open."""
        if self._after is None:
            return not self._read.is_among_people
        return any(filters.is_deferred(one.text, self._after.language) for one in self._after.spoken[:1])


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
            Statement(
                f"{label_of(message)}{text}", (message.id,), StatementKind.FACT, message.speaker, message.stated_on
            )
        )
    return statements


def shorten(text: str, characters: int) -> str:
    """Return the first `characters` of a text, up to the last space among them."""
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0]
