"""Messages into statements: runs of source sentences that a reader would keep and understand (ADR-0118)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.dates import resolve_dates
from compaction.services.pipeline.statements.judgement import Form, Judgement, judge_sentences, judge_text
from compaction.services.pipeline.statements.kinds import BINDING
from compaction.services.pipeline.statements.model import (
    PART_DISTANCE_MAX,
    ReplacedStatement,
    Statement,
    StatementKind,
    StatementMessage,
)
from compaction.services.pipeline.statements.reading import SPOKEN, ReadMessage, read_messages
from compaction.services.pipeline.statements.sentences import SourceSentence, run_text
from compaction.services.pipeline.statements.succession import Claim, Outdated, find_outdated
from compaction.services.sessions.drafts import ASSISTANT_ROLE, INSTRUCTING_ROLES

#: A sentence that is probably less worth than this is no statement.
WORTH_MIN = 0.12
#: How much more probably a run must be understood for each sentence that it takes along, and for another's remark.
CONTEXT_COST, REMARK_COST = 0.02, 0.1
#: A remark that is taken along is worth at least so much.
REMARK_WORTH_MIN = 0.25
#: Sentences of its own message that a run takes along, by the form that needs as many.
_BEFORE = {Form.ALONE: 0, Form.ONE_BEFORE: 1, Form.TWO_BEFORE: 2}
#: Sentences at the end of a message among which a reply finds what it answers.
ANSWERED_MAX = 3
#: Of a span without statements.
OPENING_CHARACTERS_MAX = 160
#: Spans whose statements are remembered.
EXTRACTIONS_KEPT = 4


def extract_statements(messages: Sequence[StatementMessage], earlier: Sequence[Statement] = ()) -> list[Statement]:
    """Return the earlier statements and those of the messages in order, without those that a later one replaced."""
    return list(_extract(tuple(messages), tuple(earlier)))


# Summary, journal and check of one compaction ask for the same messages.
@lru_cache(maxsize=EXTRACTIONS_KEPT)
def _extract(messages: Sequence[StatementMessage], earlier: Sequence[Statement]) -> Sequence[Statement]:
    return _Extraction(read_messages(messages), earlier).statements()


@dataclass(frozen=True)
class _Run:
    """A sentence in the form in which it is understood: its text, and the messages that it cites.

    `share` is the probability that it is understood, `context` the places of the sentences that it takes along.
    """

    text: str
    claim: str
    message_ids: tuple[str, ...]
    subject: str
    share: float
    context: Sequence[tuple[int, int]] = ()


class _Extraction:
    def __init__(self, reads: Sequence[ReadMessage], earlier: Sequence[Statement]) -> None:
        self._reads, self._earlier = reads, earlier
        self._judgements = judge_sentences(reads)
        self._places = [
            (number, place)
            for number, read in enumerate(reads)
            for place, sentence in enumerate(read.sentences)
            if sentence.role in SPOKEN
        ]

    def statements(self) -> list[Statement]:
        """Return the statements that hold at the end."""
        found = dict(enumerate(self._earlier, -len(self._earlier)))
        for index in range(len(self._places)):
            if (statement := self._statement(index)) is not None:
                found[index] = statement
        former: defaultdict[int, list[ReplacedStatement]] = defaultdict(list)
        for index, statement in found.items():
            by = self._outdated[index].by
            if by is not None and by in found and not statement.is_edited:
                former[by] += [*statement.replaces, ReplacedStatement(statement.text, statement.message_ids)]
        current = [
            replace(statement, replaces=(*statement.replaces, *former[index])) if index in former else statement
            for index, statement in found.items()
            if statement.is_edited or (self._outdated[index].by is None and statement.worth >= WORTH_MIN)
        ]
        return _without_parts(_once(current))

    @cached_property
    def _outdated(self) -> Mapping[int, Outdated]:
        """For each spoken sentence and earlier statement, below 0, which later one replaces it."""
        claims = [Claim(one.focus, one.subject, "", -1, *judge_text(one.focus)) for one in self._earlier]
        for number, place in self._places:
            read, sentence = self._reads[number], self._reads[number].sentences[place]
            message = read.message
            judged = self._judgements[number][place]
            claims.append(Claim(sentence.text, message.speaker, message.role, number, read.language, judged))
        before = len(self._earlier)
        return {
            number - before: one if one.by is None else replace(one, by=one.by - before)
            for number, one in enumerate(find_outdated(claims))
        }

    def _statement(self, index: int) -> Statement | None:
        number, place = self._places[index]
        read, judged = self._reads[number], self._judgements[number][place]
        sentence = read.sentences[place]
        if judged.worth < WORTH_MIN or not self._is_said(number, sentence):
            return None
        run = self._run(number, place)
        kind = self._kind(number, sentence, judged)
        if run is None or kind is None or run.share * judged.worth < WORTH_MIN:
            return None
        share = run.share * self._share_current(number, place, run)
        day = read.message.stated_on
        text, claim = (resolve_dates(one, day, read.language) for one in (run.text, run.claim))
        label = f"{run.subject}: " if run.subject else ""
        return Statement(
            f"{label}{text}",
            run.message_ids,
            kind,
            run.subject,
            day,
            claim=claim if claim != text else "",
            worth=judged.worth * share,
            lasting=judged.lasting * share,
        )

    def _share_current(self, number: int, place: int, run: _Run) -> float:
        """How probably neither the sentence nor its context, but for what it corrects itself, is outdated."""
        index = self._index[number, place]
        context = ((one, self._outdated[self._index[one]]) for one in run.context)
        others = [outdated for one, outdated in context if outdated.by != index or one[0] != number]
        return min(1.0 - outdated.probability for outdated in (self._outdated[index], *others))

    @cached_property
    def _index(self) -> Mapping[tuple[int, int], int]:
        return {place: index for index, place in enumerate(self._places)}

    def _is_said(self, number: int, sentence: SourceSentence) -> bool:
        """Whether it is more than an order in pasted text, or an option of the assistant that nobody took up."""
        read = self._reads[number]
        if sentence.paragraph in self._injected[number]:
            return False
        is_proposed = read.message.role == ASSISTANT_ROLE and filters.is_hedged(sentence.text, read.language)
        return not is_proposed or self._is_taken_up(number)

    def _is_taken_up(self, number: int) -> bool:
        """Whether the reply begins with a yes."""
        if number + 1 == len(self._reads):
            return False
        after = self._reads[number + 1]
        return filters.is_yes(after.message.content, after.language)

    @cached_property
    def _injected(self) -> Sequence[frozenset[int]]:
        """The paragraphs of each message that give orders to an assistant."""
        return [
            frozenset(one.paragraph for one in read.sentences if filters.is_injection(one.text, read.language))
            for read in self._reads
        ]

    def _kind(self, number: int, sentence: SourceSentence, judged: Judgement) -> StatementKind | None:
        """The kind of a sentence; None for a question that was answered, and for what systems say that binds nobody."""
        read = self._reads[number]
        if filters.is_question(sentence.text):
            return StatementKind.QUESTION if number + 1 == len(self._reads) else None
        kind = judged.kind
        if filters.is_left_open(sentence.text, read.language) and kind not in BINDING:
            kind = StatementKind.QUESTION
        if read.message.role in INSTRUCTING_ROLES and kind not in BINDING:
            return None
        return kind

    def _run(self, number: int, place: int) -> _Run | None:
        """The sentence with as many before it, and what it answers, as make it most probably understood."""
        forms = self._judgements[number][place].forms
        best: tuple[float, _Run] | None = None
        for is_reply, before in product((False, True), _BEFORE.values()):
            share = sum(forms[form] for form, needed in _BEFORE.items() if needed <= before)
            share += forms[Form.WITH_QUESTION] * is_reply
            own = self._own(number, place, before, share)
            run = self._pair(number, place, own) if own and is_reply else own
            if run is None:
                continue
            value = run.share * self._share_current(number, place, run) - self._cost(number, run)
            if best is None or value > best[0]:
                best = (value, run)
        return best[1] if best else None

    def _cost(self, number: int, run: _Run) -> float:
        """By how much more probably a run must be understood for what it takes along; remarks of others distract."""
        others = (self._reads[of].sentences[place].text for of, place in run.context if of != number)
        return CONTEXT_COST * len(run.context) + REMARK_COST * any(not filters.is_question(text) for text in others)

    def _own(self, number: int, place: int, before: int, share: float) -> _Run | None:
        """The sentence with so many before it."""
        read, first = self._reads[number], place - before
        claim = read.opened(read.sentences[place].text)
        if first < 0 or not claim or any(not self._is_context(number, one, place) for one in range(first, place)):
            return None
        start, end = read.sentences[first].start, read.sentences[place].end
        text = read.opened(run_text(read.message.content, start, end)) if before else claim
        if not text or filters.is_unfit(text):
            return None
        context = [(number, one) for one in range(first, place)]
        return _Run(text, claim, (read.message.id,), read.message.speaker, share, context)

    def _is_context(self, number: int, place: int, claim: int) -> bool:
        """Whether a sentence stands in the same text as the claim, and gives no orders."""
        sentence, claimed = (self._reads[number].sentences[one] for one in (place, claim))
        is_same = (sentence.paragraph, sentence.role) == (claimed.paragraph, claimed.role)
        return is_same and sentence.paragraph not in self._injected[number]

    def _pair(self, number: int, place: int, own: _Run) -> _Run | None:
        """A run with what another speaker said or asked just before it, word for word."""
        answered = self._answered(number)
        if answered is None:
            return None
        asked, read = self._reads[number - 1], self._reads[number]
        sentence = asked.sentences[answered]
        first = min([one for _, one in own.context], default=place)
        start, end = read.sentences[first].start, read.sentences[place].end
        reply = filters.strip_emoji(run_text(read.message.content, start, end))
        label = f"{read.message.speaker}: " if read.message.speaker else ""
        text = f'"{asked.opened(sentence.text) or sentence.text}" – {label}{reply}'
        if filters.is_unfit(text):
            return None
        ids, context = (asked.message.id, read.message.id), [(number - 1, answered), *own.context]
        return _Run(text, text, ids, asked.message.speaker, own.share, context)

    def _answered(self, number: int) -> int | None:
        """The place of the question, else of the last sentence, of another speaker's message before this one."""
        asked = self._reads[max(number - 1, 0)]
        if asked.message.speaker == self._reads[number].message.speaker or asked.message.role in INSTRUCTING_ROLES:
            return None
        last = len(asked.sentences) - 1
        near = range(last, max(last - ANSWERED_MAX, -1), -1)
        place = next((one for one in near if filters.is_question(asked.sentences[one].text)), last)
        sentence = asked.sentences[place]
        if sentence.role not in SPOKEN or sentence.paragraph in self._injected[number - 1]:
            return None
        is_idle = self._judgements[number - 1][place].worth < REMARK_WORTH_MIN
        if not filters.is_question(sentence.text) and (is_idle or not self._is_said(number - 1, sentence)):
            return None
        return place


def _once(statements: Sequence[Statement]) -> list[Statement]:
    """The statements without earlier ones of the same text."""
    last = {" ".join(statement.text.lower().split()): number for number, statement in enumerate(statements)}
    kept = set(last.values())
    return [statement for number, statement in enumerate(statements) if number in kept]


def _without_parts(statements: Sequence[Statement]) -> list[Statement]:
    """The statements without those that are a part of a run that is worth more."""
    parts = {
        number
        for number, part in enumerate(statements)
        for run in statements[number + 1 : number + 1 + PART_DISTANCE_MAX]
        if run.contains(part) and run.worth >= part.worth
    }
    return [statement for number, statement in enumerate(statements) if number not in parts]


def first_sentences(messages: Sequence[StatementMessage]) -> Iterator[Statement]:
    """Yield the first piece of each message, for a span without any statement; long ones end at a word."""
    for message in messages:
        text = shorten(" ".join(message.content.split()), OPENING_CHARACTERS_MAX)
        label = f"{message.speaker}: " if message.speaker else ""
        yield Statement(
            f"{label}{text}", (message.id,), StatementKind.FACT, message.speaker, message.stated_on, worth=WORTH_MIN
        )


def shorten(text: str, characters: int) -> str:
    """Return the first `characters` of a text, up to the last space among them."""
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0]
