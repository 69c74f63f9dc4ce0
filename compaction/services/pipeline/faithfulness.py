"""Whether a model's statement agrees with its messages: support, figures, names, negation, quotes (ADR-0104)."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Self

from compaction.services.pipeline.retention.constraints import FIGURE, content_stems, is_negated
from compaction.services.pipeline.retention.dates import find_dates
from compaction.services.pipeline.retention.languages import language_name, rule_cues
from compaction.services.pipeline.retention.matches import blank_matches
from compaction.services.pipeline.retention.names import find_capitalised
from compaction.services.pipeline.retention.quantities import NUMBER_WORDS
from compaction.services.pipeline.retention.stated import SentenceStatus, TurnSentence, turn_sentences
from compaction.services.pipeline.statements.languages import stop_words
from compaction.services.pipeline.stored_statements import (
    SUPPORTED_SHARE_MIN,
    CitedStatement,
    is_supported_by,
    share_in,
    shared_stems,
)
from compaction.services.sessions.turns import SessionTurn
from memories.services.time_limits import in_time

#: A date that no message names may result from "yesterday" or "next week": at most this many days from the message's
#: date.
DAYS_AROUND_MAX = 31
#: Sentences that share almost as many words as the nearest one also count for or against a negation.
NEAREST_SHARE = 0.8
#: A statement is compared with sentences that contain its rarest words: the number of words, and sentences per word.
STEMS_COMPARED_MAX, COMPARED_PER_STEM_MAX = 6, 50
#: A short form of a name has at least this many letters.
SHORT_NAME_LETTERS = 3

_NAME_WORD = re.compile(r"[^\W\d_]+")
_ANY_WORD = re.compile(r"\w+")


class Flaw(StrEnum):
    """Why a statement is dropped."""

    QUESTION = "a question"
    TOOL = "tool output"
    UNSUPPORTED = "unsupported"
    FIGURE = "another number or date"
    NAME = "another name"
    NEGATION = "another negation"
    QUOTE = "an unattributed quote"
    HEDGED = "only suggested"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class SupersededText:
    """A statement that a later message replaced, and the replacement, both with the ids of their messages."""

    text: str
    message_ids: tuple[str, ...]
    newer_text: str
    newer_message_ids: tuple[str, ...]

    def is_asserted_by(self, statement: CitedStatement) -> bool:
        """Return whether a statement asserts the replaced text without the later one."""
        cited = set(statement.message_ids)
        if not cited.intersection(self.message_ids) or cited.intersection(self.newer_message_ids):
            return False
        removed = _tokens(self.text) - _tokens(self.newer_text)
        is_about = share_in(shared_stems(statement.text), shared_stems(self.text)) >= SUPPORTED_SHARE_MIN
        return is_about and (not removed or bool(removed & _tokens(statement.text)))


class Source:
    """A cited message, or the names of the speakers; parsed once for all statements that cite it."""

    def __init__(self, text: str, turn: SessionTurn | None = None, *, may_instruct: bool | None = None) -> None:
        self.turn = turn
        self._text = text
        self._may_instruct = may_instruct

    @classmethod
    def of(cls, turn: SessionTurn) -> Self:
        """Return a message as a source."""
        return cls(f"{turn.name} {turn.content} {turn.tool_calls or ''}", turn)

    @classmethod
    def of_earlier(cls, statement: CitedStatement) -> Self:
        """Return a statement of the earlier summary as a source. Its mark counts, which an approval removed."""
        turn = SessionTurn("", "earlier", statement.text, 0)
        return cls(f"{turn.name} {turn.content} ", turn, may_instruct=statement.is_possible_instruction)

    @cached_property
    def stems(self) -> Set[str]:
        """The stems of all its words."""
        return shared_stems(self._text)

    @cached_property
    def dates(self) -> Set[str]:
        """The dates that it names, in comparable form."""
        return {normalised for found in find_dates(self._text) for normalised in found.values}

    @cached_property
    def figures(self) -> Set[str]:
        """The numbers that it names."""
        return _figures(self._text)

    @cached_property
    def names(self) -> Sequence[str]:
        """Its words in lower case, sorted."""
        return sorted({word.casefold() for word in _NAME_WORD.findall(self._text)})

    @cached_property
    def name_stems(self) -> Set[str]:
        """The stems of its words."""
        return content_stems("\n".join(self.names))

    def sentences_like(self, stems: Set[str]) -> list[tuple[int, str]]:
        """Return its sentences with the rarest of the stems, each with the number of stems that it has."""
        of_stem = self._sentences_of_stem
        rarest = sorted(stems, key=lambda stem: (len(of_stem.get(stem, ())), stem))[:STEMS_COMPARED_MAX]
        numbers = {number for stem in rarest for number in of_stem.get(stem, ())[:COMPARED_PER_STEM_MAX]}
        return [(len(stems & self._sentence_stems[number]), self._sentences[number].text) for number in sorted(numbers)]

    @cached_property
    def _sentence_stems(self) -> Sequence[Set[str]]:
        return [content_stems(one.text) for one in self._sentences]

    @cached_property
    def _sentences_of_stem(self) -> Mapping[str, Sequence[int]]:
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, stems in enumerate(self._sentence_stems):
            for stem in stems:
                numbers[stem].append(number)
        return numbers

    @cached_property
    def stems_by_status(self) -> Mapping[SentenceStatus, Set[str]]:
        """The stems of its sentences by their status."""
        stems: defaultdict[SentenceStatus, set[str]] = defaultdict(set)
        for one in self._sentences:
            stems[one.status] |= shared_stems(one.text)
        return stems

    @cached_property
    def possible_instruction_stems(self) -> Set[str]:
        """The stems of its sentences that may instruct the assistant."""
        if self._may_instruct is not None:
            return self.stems if self._may_instruct else frozenset()
        return {stem for one in self._sentences if one.is_possible_instruction for stem in shared_stems(one.text)}

    @cached_property
    def speaker_stems(self) -> Set[str]:
        """The stems of the speaker's name."""
        return shared_stems(self.turn.name) if self.turn else self.stems

    @cached_property
    def _sentences(self) -> Sequence[TurnSentence]:
        return turn_sentences(self.turn) if self.turn else ()

    def has_name(self, word: str) -> bool:
        """Whether it contains a word in any case, an inflection of it or a short form."""
        if self._has(word) or content_stems(word) & self.name_stems:
            return True
        place = bisect_left(self.names, word)
        is_short = len(word) >= SHORT_NAME_LETTERS and place < len(self.names) and self.names[place].startswith(word)
        return is_short or any(self._has(word[:length]) for length in range(SHORT_NAME_LETTERS, len(word)))

    def _has(self, word: str) -> bool:
        place = bisect_left(self.names, word)
        return place < len(self.names) and self.names[place] == word


@dataclass(frozen=True)
class CitedSources:
    """The messages that a statement cites. `speakers` are the names of the conversation; any statement may use them."""

    messages: Sequence[Source]
    speakers: Source

    @property
    def turns(self) -> Sequence[SessionTurn]:
        """The messages as turns."""
        return [source.turn for source in self.messages if source.turn]

    @property
    def all(self) -> Sequence[Source]:
        """The messages and the names of their speakers."""
        return [*self.messages, self.speakers]


@dataclass(frozen=True)
class CheckedStatements:
    """The statements that their messages say, and the reasons of those that were dropped, one each."""

    kept: tuple[CitedStatement, ...]
    flaws: tuple[Flaw, ...] = ()


def check_statements(
    statements: Sequence[CitedStatement],
    turns: Sequence[SessionTurn],
    *,
    earlier: Sequence[CitedStatement] = (),
    superseded: Sequence[SupersededText] = (),
) -> CheckedStatements:
    """Return the statements of a model that the cited turns, or the earlier statements that they repeat, say.

    `superseded` are the texts that later messages of the conversation replaced.
    """
    by_id: defaultdict[str, list[Source]] = defaultdict(list)
    for turn in turns:
        by_id[str(turn.id)] = [Source.of(turn)]
    for one in earlier:
        source = Source.of_earlier(one)
        for message_id in one.message_ids:
            by_id[message_id].append(source)
    names = {turn.name or turn.role for turn in turns if turn.role != "tool"} | {one.subject for one in earlier}
    speakers = Source(" ".join(sorted(names)))
    kept, flaws = [], []
    for statement in in_time(statements):
        cited = [source for message_id in statement.message_ids for source in by_id.get(message_id, ())]
        flaw = find_flaw(statement.text, CitedSources(cited, speakers))
        if flaw is None and any(one.is_asserted_by(statement) for one in superseded):
            flaw = Flaw.SUPERSEDED
        if flaw is None:
            kept.append(replace(statement, is_possible_instruction=_may_instruct(statement.text, cited)))
        else:
            flaws.append(flaw)
    return CheckedStatements(tuple(kept), tuple(flaws))


def _may_instruct(statement: str, cited: Sequence[Source]) -> bool:
    """Whether the cited sentences that may instruct the assistant say it."""
    stems = [source.possible_instruction_stems for source in cited]
    return any(stems) and share_in(shared_stems(statement), *stems) >= SUPPORTED_SHARE_MIN


def find_flaw(statement: str, sources: CitedSources) -> Flaw | None:
    """Return why the cited messages do not support the statement, None if they do. The first reason counts."""
    if statement.rstrip().endswith(("?", "？")):
        return Flaw.QUESTION
    if sources.turns and all(turn.role == "tool" for turn in sources.turns):
        return Flaw.TOOL
    if not is_supported_by(shared_stems(statement), [source.stems for source in sources.all] if sources.turns else []):
        return Flaw.UNSUPPORTED
    if not _has_its_figures(statement, sources):
        return Flaw.FIGURE
    if not _has_its_names(statement, sources):
        return Flaw.NAME
    return _status_flaw(statement, sources) or (None if _has_its_polarity(statement, sources) else Flaw.NEGATION)


def _status_flaw(statement: str, sources: CitedSources) -> Flaw | None:
    """Whether the statement is based only on an open question, a suggestion or another person's text."""
    statuses = {status for source in sources.messages for status in source.stems_by_status}
    allowed = [SentenceStatus.STATED]
    if rule_cues(language_name(statement)).attributions.search(statement.casefold()):
        allowed += [SentenceStatus.QUOTED, SentenceStatus.TOOL, SentenceStatus.HEDGED]
    if len(sources.turns) > 1:  # a question and its answer, a suggestion and its acceptance
        allowed += [SentenceStatus.QUESTION, SentenceStatus.HEDGED, SentenceStatus.TOOL]
    if statuses <= set(allowed) or _is_supported(statement, sources, allowed):
        return None
    reasons = {
        SentenceStatus.QUESTION: Flaw.QUESTION,
        SentenceStatus.HEDGED: Flaw.HEDGED,
        SentenceStatus.QUOTED: Flaw.QUOTE,
    }
    return next(
        (flaw for status, flaw in reasons.items() if _is_supported(statement, sources, [*allowed, status])), Flaw.TOOL
    )


def _is_supported(statement: str, sources: CitedSources, statuses: Sequence[SentenceStatus]) -> bool:
    stems = [source.stems_by_status.get(one, frozenset()) for source in sources.messages for one in statuses]
    names = [source.speaker_stems for source in sources.all]
    return share_in(shared_stems(statement), *stems, *names) >= SUPPORTED_SHARE_MIN


def _has_its_figures(statement: str, sources: CitedSources) -> bool:
    dates = list(find_dates(statement))
    source_dates = {one for source in sources.all for one in source.dates} if dates else set()
    days = [turn.created_at.date() for turn in sources.turns if turn.created_at]
    if not all(one.normalised in source_dates or any(_is_near(one.normalised, day) for day in days) for one in dates):
        return False
    return all(
        any(one in source.figures for source in sources.all) for one in _figures(blank_matches(statement, dates))
    )


def _tokens(text: str) -> set[str]:
    return {word for word in _ANY_WORD.findall(text.casefold()) if word not in stop_words()}


def _figures(text: str) -> set[str]:
    folded = text.casefold()
    numbers = {found.replace(",", "") for found in FIGURE.findall(folded)}
    numbers |= {part for found in FIGURE.findall(folded) for part in re.split(r"[.,:]", found)} if numbers else set()
    return numbers | {str(NUMBER_WORDS[word]) for word in _ANY_WORD.findall(folded) if NUMBER_WORDS.get(word, 0) > 1}


def _is_near(normalised: str, day: date) -> bool:
    """Whether a date as it is compared (`2023-05-07`, `--05-07`, `2023-05`, `2023`) may be counted from a day."""
    parts = [int(part) for part in normalised.lstrip("-").split("-")]
    if normalised.startswith("-"):
        month, number = parts[0], parts[1] if len(parts) > 1 else None
        years = (day.year - 1, day.year, day.year + 1)
        return any(_is_within(year, month, number, day) for year in years)
    if len(parts) == 1:
        return abs(parts[0] - day.year) <= 1
    return _is_within(parts[0], parts[1], parts[2] if len(parts) > 2 else None, day)


def _is_within(year: int, month: int, number: int | None, day: date) -> bool:
    if number is None:
        return abs((year - day.year) * 12 + month - day.month) <= 1
    try:
        return abs((date(year, month, number) - day).days) <= DAYS_AROUND_MAX
    except ValueError:
        return False


def _has_its_names(statement: str, sources: CitedSources) -> bool:
    return all(
        not word[0].isupper() or any(source.has_name(word.casefold()) for source in sources.all)
        for found, is_opening in find_capitalised(statement)
        if not is_opening
        for word in _NAME_WORD.findall(found.text)
    )


def _has_its_polarity(statement: str, sources: CitedSources) -> bool:
    """Whether a sentence that shares most words with the statement denies as it does."""
    stems = content_stems(statement)
    shares = [like for source in sources.messages for like in source.sentences_like(stems)]
    most = max((share for share, _ in shares), default=0)
    if not most:
        return True
    nearest = [text for share, text in shares if share >= NEAREST_SHARE * most]
    is_negative = is_negated(statement)
    return any(is_negated(text) == is_negative for text in nearest)
