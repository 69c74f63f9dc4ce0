"""Extract statements from messages: runs of source sentences that a reader would keep and understand (ADR-0118)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.dates import resolve_dates
from compaction.services.pipeline.statements.instructions import (
    InstructionStrength,
    has_instructions,
    instruction_strengths,
)
from compaction.services.pipeline.statements.kinds import BINDING
from compaction.services.pipeline.statements.model import (
    PART_DISTANCE_MAX,
    ReplacedStatement,
    Statement,
    StatementKind,
    StatementMessage,
)
from compaction.services.pipeline.statements.parsing import SPOKEN, ParsedMessage, parse_messages
from compaction.services.pipeline.statements.prediction import Form, Prediction, predict_sentences, predict_text
from compaction.services.pipeline.statements.replies import answered_sentence
from compaction.services.pipeline.statements.sentences import SourceSentence, run_text
from compaction.services.pipeline.statements.succession import Claim, Outdated, find_outdated
from compaction.services.sessions.drafts import ASSISTANT_ROLE, INSTRUCTING_ROLES
from memories.services.time_limits import in_time

#: A sentence whose worth is below this is not a statement.
WORTH_MIN = 0.12
#: By how much the probability that a sentence is understood must be higher in a longer form than in a shorter one.
FORM_COSTS: Mapping[Form, float] = {Form.ALONE: 0.0, Form.ONE_BEFORE: 0.1, Form.TWO_BEFORE: 0.2}
#: The number of preceding sentences that each form includes.
_BEFORE = {Form.ALONE: 0, Form.ONE_BEFORE: 1, Form.TWO_BEFORE: 2}
#: For each form that a sentence needs, the forms in which it is understood.
_UNDERSTOOD: Mapping[Form, Sequence[Form]] = {
    Form.ALONE: (Form.ALONE,),
    Form.ONE_BEFORE: (Form.ALONE, Form.ONE_BEFORE),
    Form.TWO_BEFORE: (Form.ALONE, Form.ONE_BEFORE, Form.TWO_BEFORE),
    Form.WITH_QUESTION: (Form.ALONE, Form.WITH_QUESTION),
}
#: ADR-0335. Maximum words of a fragment, which completes the sentence before it ("We use no tabs. Spaces."), maximum
#: fragments of a sentence, and maximum words of a reply that is kept whole.
FRAGMENT_WORDS_MAX, FRAGMENTS_MAX, REPLY_WORDS_MAX = 4, 2, 30
#: A fragment is small talk ("haha nice") from this probability on.
SMALL_TALK_MIN = 0.5
#: Maximum characters of each message in a span without statements.
OPENING_CHARACTERS_MAX = 160
#: Maximum spans whose statements are cached.
EXTRACTIONS_KEPT = 4


def extract_statements(messages: Sequence[StatementMessage], earlier: Sequence[Statement] = ()) -> list[Statement]:
    """Return the earlier statements and those of the messages in order, without those that a later one replaced."""
    return list(_extract(tuple(messages), tuple(earlier)))


def forget_extractions() -> None:
    """Clear the cache of spans and their statements, which are needed only while a draft is made."""
    _extract.cache_clear()


# Summary, journal and check of one compaction read the same messages.
@lru_cache(maxsize=EXTRACTIONS_KEPT)
def _extract(messages: Sequence[StatementMessage], earlier: Sequence[Statement]) -> Sequence[Statement]:
    return _Extraction(parse_messages(messages), earlier).statements()


@dataclass(frozen=True)
class _Run:
    """A sentence in the form in which it is understood: its text, and the messages that it cites."""

    text: str
    claim: str
    message_ids: tuple[str, ...]
    subject: str
    share: float
    is_possible_instruction: bool = False


class _Extraction:
    def __init__(self, parsed: Sequence[ParsedMessage], earlier: Sequence[Statement]) -> None:
        self._parsed, self._earlier = parsed, earlier
        self._predictions = predict_sentences(parsed)
        self._places = [
            (number, place)
            for number, read in enumerate(parsed)
            for place, sentence in enumerate(read.sentences)
            if sentence.role in SPOKEN
        ]

    def statements(self) -> list[Statement]:
        """Return the statements that are still true at the end."""
        found = dict(enumerate(self._earlier, -len(self._earlier)))
        for index in in_time(range(len(self._places))):
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
        claims = [Claim(one.focus, one.subject, "", -1, *predict_text(one.focus)) for one in self._earlier]
        for number, place in self._places:
            read, sentence = self._parsed[number], self._parsed[number].sentences[place]
            message = read.message
            predicted = self._predictions[number][place]
            can_replace = self._strengths[number][place] == InstructionStrength.NONE
            claims.append(
                Claim(sentence.text, message.speaker, message.role, number, read.language, predicted, can_replace)
            )
        before = len(self._earlier)
        return {
            number - before: one if one.by is None else replace(one, by=one.by - before)
            for number, one in enumerate(find_outdated(claims))
        }

    def _statement(self, index: int) -> Statement | None:
        number, place = self._places[index]
        read, predicted = self._parsed[number], self._predictions[number][place]
        sentence = read.sentences[place]
        current = 1.0 - self._outdated[index].probability
        if predicted.worth < WORTH_MIN or not self._is_stated(number, place):
            return None
        run = self._run(number, place)
        kind = self._kind(number, sentence, predicted)
        if run is None or kind is None or run.share * predicted.worth < WORTH_MIN:
            return None
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
            worth=predicted.worth * run.share * current,
            lasting=predicted.lasting * run.share * current,
            is_possible_instruction=run.is_possible_instruction,
        )

    def _is_stated(self, number: int, place: int) -> bool:
        """Whether it is neither an instruction to the assistant nor an option of the assistant that nobody chose."""
        read, sentence = self._parsed[number], self._parsed[number].sentences[place]
        if self._strengths[number][place] == InstructionStrength.CERTAIN:
            return False
        is_proposed = read.message.role == ASSISTANT_ROLE and filters.is_hedged(sentence.text, read.language)
        return not is_proposed or self._is_taken_up(number)

    def _is_taken_up(self, number: int) -> bool:
        """Whether the reply begins with a yes."""
        if number + 1 == len(self._parsed):
            return False
        after = self._parsed[number + 1]
        return filters.is_yes(after.message.content, after.language)

    @cached_property
    def _strengths(self) -> Sequence[Sequence[InstructionStrength]]:
        """For each sentence of each message, how strong the evidence is that it instructs the assistant."""
        return [instruction_strengths(read.sentences, read.message.content, read.message.role) for read in self._parsed]

    def _is_possible(self, number: int, place: int) -> bool:
        return self._strengths[number][place] == InstructionStrength.POSSIBLE

    def _kind(self, number: int, sentence: SourceSentence, predicted: Prediction) -> StatementKind | None:
        """Return the kind of a sentence; None for an answered question, and for system text that is not binding."""
        read = self._parsed[number]
        if filters.is_question(sentence.text):
            return StatementKind.QUESTION if number + 1 == len(self._parsed) else None
        kind = predicted.kind
        if filters.is_left_open(sentence.text, read.language) and kind not in BINDING:
            kind = StatementKind.QUESTION
        if read.message.role in INSTRUCTING_ROLES and kind not in BINDING:
            return None
        return kind

    def _run(self, number: int, place: int) -> _Run | None:
        """The sentence in the form that is most probably understood for its length."""
        predicted = self._predictions[number][place]
        answered = answered_sentence(self._parsed[number - 1], self._parsed[number], place) if number else None
        costs = FORM_COSTS if answered is None else {**FORM_COSTS, Form.WITH_QUESTION: answered.cost}
        best: tuple[float, _Run] | None = None
        for form, cost in costs.items():
            share = sum(predicted.forms[one] for one in _UNDERSTOOD[form])
            if best is not None and share - cost <= best[0]:
                continue
            if answered is not None and form == Form.WITH_QUESTION:
                run = self._pair(number, place, answered.place, share)
            else:
                run = self._own(number, place, form, share)
            if run is not None:
                best = (share - cost, run)
        return best[1] if best else None

    def _own(self, number: int, place: int, form: Form, share: float) -> _Run | None:
        """The sentence with those before it that the form needs, and with the fragments that complete it."""
        read, first, last = self._parsed[number], place - _BEFORE[form], self._last_fragment(number, place)
        claim = read.opened(self._words(number, place, last))
        if first < 0 or not claim or any(not self._is_context(number, one, place) for one in range(first, place)):
            return None
        text = claim if first == place else read.opened(self._words(number, first, last))
        if not text or filters.is_unfit(text):
            return None
        is_possible = self._is_possible(number, place)
        return _Run(text, claim, (read.message.id,), read.message.speaker, share, is_possible)

    def _words(self, number: int, first: int, last: int) -> str:
        """The words of a message from one of its sentences to another."""
        read = self._parsed[number]
        if first == last:
            return read.sentences[first].text
        return run_text(read.message.content, read.sentences[first].start, read.sentences[last].end)

    def _last_fragment(self, number: int, place: int) -> int:
        """The place of the last fragment that completes a sentence; its own place without one."""
        last, places = place, len(self._parsed[number].sentences)
        for following in range(place + 1, min(place + 1 + FRAGMENTS_MAX, places)):
            if not self._is_context(number, following, place) or not self._completes(number, following):
                break
            last = following
        return last

    def _completes(self, number: int, place: int) -> bool:
        """Whether a sentence is a fragment, and neither a question nor an acknowledgement nor small talk."""
        read = self._parsed[number]
        text = read.opened(read.sentences[place].text)
        is_short = 0 < len(text.split()) <= FRAGMENT_WORDS_MAX
        is_small_talk = self._predictions[number][place].kinds["Z"] >= SMALL_TALK_MIN
        return is_short and not is_small_talk and not filters.is_question(text)

    def _reply(self, number: int, place: int) -> str:
        """The whole paragraph of a short reply, otherwise the sentence with the fragments that complete it."""
        places = range(len(self._parsed[number].sentences))
        same = [one for one in places if self._is_context(number, one, place)]
        whole = self._words(number, same[0], same[-1])
        if len(whole.split()) <= REPLY_WORDS_MAX:
            return whole
        return self._words(number, place, self._last_fragment(number, place))

    def _is_context(self, number: int, place: int, claim: int) -> bool:
        """Whether a sentence is in the same text as the claim and does not instruct the assistant."""
        sentence, claimed = (self._parsed[number].sentences[one] for one in (place, claim))
        is_same = (sentence.paragraph, sentence.role) == (claimed.paragraph, claimed.role)
        return is_same and self._strengths[number][place] != InstructionStrength.CERTAIN

    def _pair(self, number: int, place: int, answered: int, share: float) -> _Run | None:
        """A reply with the sentence of another speaker that it answers, word for word."""
        before, read = self._parsed[number - 1], self._parsed[number]
        answered_text = before.opened(before.sentences[answered].text) or before.sentences[answered].text
        reply = filters.strip_emoji(self._reply(number, place))
        label = f"{read.message.speaker}: " if read.message.speaker else ""
        text = f'"{answered_text}" – {label}{reply}'
        if filters.is_unfit(text) or self._strengths[number - 1][answered] == InstructionStrength.CERTAIN:
            return None
        is_possible = self._is_possible(number, place) or self._is_possible(number - 1, answered)
        is_clear = 1.0 - self._predictions[number - 1][answered].forms[Form.NONE]
        ids = (before.message.id, read.message.id)
        return _Run(text, text, ids, before.message.speaker, share * is_clear, is_possible)


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
    """Yield the first piece of each message, for a span without any statement; long ones end at a word.

    That of a message with instructions to the assistant is marked, because a span needs some text.
    """
    for message in messages:
        text = shorten(" ".join(message.content.split()), OPENING_CHARACTERS_MAX)
        label = f"{message.speaker}: " if message.speaker else ""
        yield Statement(
            f"{label}{text}",
            (message.id,),
            StatementKind.FACT,
            message.speaker,
            message.stated_on,
            worth=WORTH_MIN,
            is_possible_instruction=has_instructions(message.content),
        )


def shorten(text: str, characters: int) -> str:
    """Return the first `characters` of a text, up to the last space among them."""
    return text if len(text) <= characters else text[:characters].rsplit(" ", 1)[0]
