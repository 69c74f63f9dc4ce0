"""The statements of a summary that a person has rewritten (ADR-0071)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from compaction.services.pipeline.citation_support import shared_word_share
from compaction.services.pipeline.statements.dates import date_text
from compaction.services.pipeline.statements.model import drop_repeated_day
from compaction.services.pipeline.stored_statements import CitedStatement

REVIEW_REASON_CHARACTERS_MAX = 500
SUMMARY_BYTES_MAX = 256 * 1024
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
#: The end of a sentence with a letter right behind it.
_RUN_ON = re.compile(r"[.!?](?=[^\W\d_])")
#: What stands between statements that share a sentence.
_JOINTS = " \t\r\n;"
#: What statements of one sentence open with in common: "Assistant:", or of a subject "Alex", "Alex's" and so on.
_SPEAKER = re.compile(r"\w+(?: \w+)?:(?= )")
_OF_SUBJECT = r"(?::|'s| and others| suggests)?(?= )"
#: Messages that a rewritten sentence is taken to rest on, and how much of it they must say.
_SOURCES_MAX = 3
SOURCE_SHARE_MIN = 0.34


def parse_statements(text: str, before: Sequence[CitedStatement], messages: Mapping[str, str]) -> list[CitedStatement]:
    """A statement for each sentence of `text`: the former one where it stands in it unchanged, else a person's.

    A former one may stand there as a summary shows it: under the heading of its day, and in a sentence that it shares
    with others of the same opening. A person's sentence cites the messages (texts by id) that say most of it; it may
    cite none.
    """
    rest = text
    told: list[tuple[int, CitedStatement]] = []
    for statement in sorted(before, key=lambda statement: -len(statement.text)):
        if place := _place_of(statement, rest):
            start, end = place
            told.append((start, statement))
            rest = f"{rest[:start]}{chr(10) * (end - start)}{rest[end:]}"
    days = {f"{date_text(one.stated_on)}:": one.stated_on for one in before if one.stated_on}
    leads = {lead for one in before for lead in _leads(one)}
    told += [(place, _edited(words, before, messages, day)) for place, words, day in _sentences(rest, days, leads)]
    return [statement for _, statement in sorted(told, key=lambda pair: pair[0])]


def split_appended_text(text: str, before: Sequence[CitedStatement]) -> str:
    """The text with a line break where somebody typed on from the end of a former statement, without a space.

    A small letter there goes on with a name, such as `Node.js`, and so does what a former statement has there itself.
    """
    forms = {form.rstrip(".!?") for one in before for several in _forms(one) for form in several} - {""}

    def ended(found: re.Match[str]) -> str:
        ends = (found.start() - len(form) for form in forms if text.endswith(form, 0, found.start()))
        is_end = any(_is_typed_behind(text[start : found.end() + 1], forms) for start in ends if _opens(text, start))
        return f"{found[0]}\n" if is_end else found[0]

    return _RUN_ON.sub(ended, text)


def _opens(text: str, start: int) -> bool:
    """Whether a word may begin there."""
    return not re.search(r"\w\Z", text[max(start - 1, 0) : start])


def _is_typed_behind(form_and_letter: str, forms: Collection[str]) -> bool:
    return not form_and_letter[-1].islower() and not any(form.startswith(form_and_letter) for form in forms)


def _forms(statement: CitedStatement) -> tuple[tuple[str, str], list[str]]:
    """How the statement reads alone and under the heading of its day, and both without what they open with."""
    whole = (statement.text, drop_repeated_day(statement.text, statement.stated_on))
    return whole, [form.removeprefix(lead).strip() for form in whole for lead in _leads(statement)]


def _place_of(statement: CitedStatement, text: str) -> tuple[int, int] | None:
    """Where the statement begins and ends in the text, as it reads alone or as a summary shows it."""
    whole, bodies = _forms(statement)
    for pattern in (*(rf"(?<!\w){re.escape(form)}(?!\w)" for form in whole), *map(_as_body, bodies)):
        if found := re.search(pattern, text):
            return found.span()
    return None


def _as_body(body: str) -> str:
    return rf"(?:(?<=: )|(?<=; )|(?<=\w ))(?<!\w){re.escape(body)}(?=[.;!?](?:\s|$)|\n|$)"


def _leads(statement: CitedStatement) -> list[str]:
    """What the statement may open with in common with its neighbours."""
    patterns = [_SPEAKER, *([re.compile(re.escape(statement.subject) + _OF_SUBJECT)] if statement.subject else [])]
    return [found[0] for pattern in patterns if (found := pattern.match(statement.text))]


def _sentences(text: str, days: Mapping[str, date], leads: Collection[str]) -> Iterator[tuple[int, str, date | None]]:
    """The sentences left in the text, each with its place and the day whose heading it stands under, if it opens it."""
    place = 0
    for piece in _BREAK.split(text):
        place = text.find(piece, place)
        words = piece.strip(_JOINTS)
        heading = next((heading for heading in days if words.startswith(heading)), "")
        words = words.removeprefix(heading).strip(_JOINTS)
        if words not in leads and any(character.isalnum() for character in words):
            yield place, words, days.get(heading)
        place += len(piece)


def _edited(
    sentence: str, before: Sequence[CitedStatement], messages: Mapping[str, str], day: date | None
) -> CitedStatement:
    former = max(before, key=lambda statement: shared_word_share(sentence, statement.text), default=None)
    if former is not None and shared_word_share(sentence, former.text) >= SOURCE_SHARE_MIN:
        return replace(former, text=sentence, is_edited=True, is_from_earlier=False)
    shares = {message_id: shared_word_share(sentence, content) for message_id, content in messages.items()}
    ranked = sorted((one for one in shares if shares[one] >= SOURCE_SHARE_MIN), key=lambda one: -shares[one])
    return CitedStatement(sentence, tuple(ranked[:_SOURCES_MAX]), stated_on=day, is_edited=True)
