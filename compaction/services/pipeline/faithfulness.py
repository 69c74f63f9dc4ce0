"""Whether a statement of a model says what its messages say: support, figures, names, negation, quotes (ADR-0104)."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property

from compaction.services.pipeline.retention.constraints import content_stems, is_negated
from compaction.services.pipeline.retention.dates import find_dates
from compaction.services.pipeline.retention.languages import language_name, rule_cues
from compaction.services.pipeline.retention.matches import FactMatch, blank_matches
from compaction.services.pipeline.retention.names import find_capitalised
from compaction.services.pipeline.retention.quantities import NUMBER_WORDS
from compaction.services.pipeline.retention.said import Standing, TurnSentence, turn_sentences
from compaction.services.pipeline.statements.languages import stop_words
from compaction.services.pipeline.stored_statements import (
    SUPPORTED_SHARE_MIN,
    CitedStatement,
    is_supported,
    shared_word_share,
)
from compaction.services.sessions.turns import SessionTurn

#: A date that no message names may be counted from "yesterday" or "next week": so many days around the message's own.
DAYS_AROUND_MAX = 31
#: Sentences that share almost as many words as the nearest one speak for or against a negation as well.
NEAREST_SHARE = 0.8
#: A short form of a name has at least so many letters.
SHORT_NAME_LETTERS = 3

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
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
    """What somebody said before a later message replaced it; both with the ids of their messages."""

    text: str
    message_ids: tuple[str, ...]
    newer_text: str
    newer_message_ids: tuple[str, ...]

    def is_asserted_by(self, statement: CitedStatement) -> bool:
        """Return whether a statement asserts the replaced text without the later one."""
        cited = set(statement.message_ids)
        if not cited.intersection(self.message_ids) or cited.intersection(self.newer_message_ids):
            return False
        gone = _tokens(self.text) - _tokens(self.newer_text)
        statement_words = _tokens(statement.text)
        return shared_word_share(statement.text, self.text) >= SUPPORTED_SHARE_MIN and (
            not gone or bool(gone & statement_words)
        )


@dataclass(frozen=True)
class CitedSources:
    """The messages that a statement cites. `speakers` are the names of the conversation; any statement may use them."""

    turns: Sequence[SessionTurn]
    speakers: Collection[str] = ()

    @cached_property
    def text(self) -> str:
        """Everything that they contain."""
        return "\n".join(f"{turn.name} {turn.content} {turn.tool_calls or ''}" for turn in self.turns)

    @cached_property
    def sentences(self) -> list[TurnSentence]:
        """Their sentences, in order."""
        return [sentence for turn in self.turns for sentence in turn_sentences(turn)]

    def with_standing(self, *standings: Standing) -> str:
        """Return their sentences of these standings after the names of who speaks."""
        sentences = [sentence.text for sentence in self.sentences if sentence.standing in standings]
        return "\n".join([*(turn.name for turn in self.turns), *sentences])


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
    by_id = {str(turn.id): [turn] for turn in turns}
    for one in earlier:
        source = SessionTurn("", "earlier", one.text, 0)
        for message_id in one.message_ids:
            by_id[message_id] = [*by_id.get(message_id, ()), source]
    speakers = {turn.name or turn.role for turn in turns if turn.role != "tool"} | {one.subject for one in earlier}
    kept, flaws = [], []
    for statement in statements:
        cited = [turn for message_id in statement.message_ids for turn in by_id.get(message_id, ())]
        flaw = find_flaw(statement.text, CitedSources(cited, speakers))
        if flaw is None and any(one.is_asserted_by(statement) for one in superseded):
            flaw = Flaw.SUPERSEDED
        if flaw is None:
            kept.append(statement)
        else:
            flaws.append(flaw)
    return CheckedStatements(tuple(kept), tuple(flaws))


def find_flaw(statement: str, sources: CitedSources) -> Flaw | None:
    """Return why the cited messages do not say the statement, None if they do. The first reason counts."""
    if statement.rstrip().endswith(("?", "？")):
        return Flaw.QUESTION
    if sources.turns and all(turn.role == "tool" for turn in sources.turns):
        return Flaw.TOOL
    if not is_supported(statement, [sources.text, *sources.speakers] if sources.turns else []):
        return Flaw.UNSUPPORTED
    if not _has_its_figures(statement, sources):
        return Flaw.FIGURE
    if not _has_its_names(statement, sources):
        return Flaw.NAME
    return _standing_flaw(statement, sources) or (None if _has_its_polarity(statement, sources) else Flaw.NEGATION)


def _standing_flaw(statement: str, sources: CitedSources) -> Flaw | None:
    """Whether the statement rests on what nobody states: an open question, a suggestion or somebody else's text."""
    standings = {sentence.standing for sentence in sources.sentences}
    allowed = [Standing.SAID]
    if rule_cues(language_name(statement)).attributions.search(statement.casefold()):
        allowed += [Standing.QUOTED, Standing.TOOL, Standing.HEDGED]
    if len(sources.turns) > 1:  # a question and its answer, a suggestion and who takes it up
        allowed += [Standing.QUESTION, Standing.HEDGED, Standing.TOOL]
    if standings <= set(allowed) or _is_said(statement, sources, allowed):
        return None
    reasons = {Standing.QUESTION: Flaw.QUESTION, Standing.HEDGED: Flaw.HEDGED, Standing.QUOTED: Flaw.QUOTE}
    return next(
        (flaw for standing, flaw in reasons.items() if _is_said(statement, sources, [*allowed, standing])), Flaw.TOOL
    )


def _is_said(statement: str, sources: CitedSources, standings: Sequence[Standing]) -> bool:
    source_text = sources.with_standing(*standings)
    return shared_word_share(statement, f"{source_text} {' '.join(sources.speakers)}") >= SUPPORTED_SHARE_MIN


def _has_its_figures(statement: str, sources: CitedSources) -> bool:
    text = f"{sources.text} {' '.join(sources.speakers)}"
    dates = list(find_dates(statement))
    source_dates = {normalised for found in find_dates(text) for normalised in found.told} if dates else set()
    days = [turn.created_at.date() for turn in sources.turns if turn.created_at]
    if not all(one.normalised in source_dates or any(_is_near(one.normalised, day) for day in days) for one in dates):
        return False
    return _figures(blank_matches(statement, dates)) <= _figures(text)


def _tokens(text: str) -> set[str]:
    return {word for word in _ANY_WORD.findall(text.casefold()) if word not in stop_words()}


def _figures(text: str) -> set[str]:
    folded = text.casefold()
    numbers = {found.replace(",", "") for found in _FIGURE.findall(folded)}
    numbers |= {part for found in _FIGURE.findall(folded) for part in re.split(r"[.,:]", found)} if numbers else set()
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
    known = {word.casefold() for word in _NAME_WORD.findall(f"{sources.text} {' '.join(sources.speakers)}")}
    return all(_is_known(word, known) for found in _names(statement) for word in _NAME_WORD.findall(found.text))


def _names(statement: str) -> list[FactMatch]:
    return [found for found, is_opening in find_capitalised(statement) if not is_opening]


def _is_known(word: str, known: Collection[str]) -> bool:
    folded = word.casefold()
    if folded in known or not word[0].isupper():
        return True
    stems = content_stems(folded)
    return any(
        stems & content_stems(other)
        or (
            min(len(folded), len(other)) >= SHORT_NAME_LETTERS
            and (folded.startswith(other) or other.startswith(folded))
        )
        for other in known
    )


def _has_its_polarity(statement: str, sources: CitedSources) -> bool:
    """Whether a sentence that shares most words with the statement denies as it does."""
    stems = content_stems(statement)
    shares = [(len(stems & content_stems(one.text)), one.text) for one in sources.sentences]
    most = max((share for share, _ in shares), default=0)
    if not most:
        return True
    nearest = [text for share, text in shares if share >= NEAREST_SHARE * most]
    is_negative = is_negated(statement)
    return any(is_negated(text) == is_negative for text in nearest)
