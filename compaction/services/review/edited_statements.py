"""The statements of a summary that a person edited (ADR-0071)."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from compaction.services.pipeline.statements.dates import date_text
from compaction.services.pipeline.statements.model import drop_repeated_day
from compaction.services.pipeline.stored_statements import CitedStatement, shared_stems

REVIEW_REASON_CHARACTERS_MAX = 500
SUMMARY_BYTES_MAX = 256 * 1024
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
#: The end of a sentence that is directly followed by a letter.
_RUN_ON = re.compile(r"[.!?](?=[^\W\d_])")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)]*$")
#: Separators between statements that share a sentence.
_JOINTS = " \t\r\n;"
#: The label that a statement opens with, such as "Assistant:".
_LABEL = re.compile(r"\w+(?: \w+)?:(?= )")
#: The maximum messages that a rewritten sentence cites, and the share of its words that they must contain.
_SOURCES_MAX = 3
SOURCE_SHARE_MIN = 0.34
#: Statements are looked up by this many last characters.
_END_CHARACTERS = 8


def parse_statements(text: str, before: Sequence[CitedStatement], messages: Mapping[str, str]) -> list[CitedStatement]:
    """Return a statement for each sentence of `text`: the former one if it is unchanged, else a person's.

    A former one may look as a summary shows it: under the heading of its day, and in a sentence that it shares with
    others of the same opening. A person's sentence cites the messages (texts by id) that contain most of its words, or
    none.
    """
    rest = text
    placed: list[tuple[int, CitedStatement]] = []
    for statement in sorted(before, key=lambda statement: -len(statement.text)):
        if span := _place_of(statement, rest):
            start, end = span
            placed.append((start, statement))
            rest = f"{rest[:start]}{chr(10) * (end - start)}{rest[end:]}"
    days = {f"{date_text(one.stated_on)}:": one.stated_on for one in before if one.stated_on}
    leads = {lead for one in before for lead in _leads(one)}
    former, sources = _Texts([one.text for one in before]), _Texts(list(messages.values()))
    ids = list(messages)
    for place, words, day in _sentences(rest, days, leads):
        if nearest := former.most_like(words, 1):
            old = replace(before[nearest[0]], is_from_earlier=False, is_possible_instruction=False)
            edited = replace(old, text=words, is_edited=True)
        else:
            cited = tuple(ids[number] for number in sources.most_like(words, _SOURCES_MAX))
            edited = CitedStatement(words, cited, stated_on=day, is_edited=True)
        placed.append((place, edited))
    return [statement for _, statement in sorted(placed, key=lambda pair: pair[0])]


def split_appended_text(text: str, before: Sequence[CitedStatement]) -> str:
    """Return the text with a line break where a person continued directly after a former statement, without a space.

    A lower-case letter there continues a name, such as `Node.js`, as does text that the former statement itself has
    there.
    """
    forms = sorted({form.rstrip(".!?") for one in before for several in _forms(one) for form in several} - {""})
    by_end: defaultdict[str, list[str]] = defaultdict(list)
    for form in forms:
        by_end[form[-_END_CHARACTERS:]].append(form)

    def is_end(found: re.Match[str], start: int) -> bool:
        form_and_letter = text[start : found.end() + 1]
        place = bisect_left(forms, form_and_letter)
        is_name = form_and_letter[-1].islower() or (place < len(forms) and forms[place].startswith(form_and_letter))
        return not is_name and not re.search(r"\w\Z", text[max(start - 1, 0) : start])

    def ended(found: re.Match[str]) -> str:
        end = found.start()
        ends = (text[max(end - length, 0) : end] for length in range(1, _END_CHARACTERS + 1))
        near = (form for some in dict.fromkeys(ends) for form in by_end.get(some, ()))
        starts = (end - len(form) for form in near if text.endswith(form, 0, end))
        return f"{found[0]}\n" if any(is_end(found, start) for start in starts) else found[0]

    return _RUN_ON.sub(ended, text)


def remove_from_text(text: str, statement: CitedStatement) -> str:
    """Return the text without the statement, and without its line if at most a heading is left of it."""
    place = _place_of(statement, text)
    if place is None:
        return text
    start, end = text.rfind("\n", 0, place[0]) + 1, text.find("\n", place[1])
    end = len(text) if end < 0 else end
    heading, rest = text[start : place[0]].strip(), text[place[1] : end].lstrip(_JOINTS + ".!?")
    if rest or (heading and not heading.endswith(":")):
        return f"{text[:start]}{' '.join(filter(None, [heading, rest]))}{text[end:]}"
    return f"{text[:start]}{text[end + 1 :]}".rstrip("\n")


def add_to_text(text: str, statement: CitedStatement, *, after: CitedStatement | None) -> str:
    """Return the text with the statement in a line of its own: below the line of `after`, first without it."""
    if after is None:
        return f"{statement.text}\n{text}"
    place = _place_of(after, text)
    end = text.find("\n", place[1]) if place else -1
    return f"{text}\n{statement.text}" if end < 0 else f"{text[:end]}\n{statement.text}{text[end:]}"


def _forms(statement: CitedStatement) -> tuple[tuple[str, str], list[str]]:
    """Return the statement alone and under the heading of its day, and both without their label."""
    whole = (statement.text, drop_repeated_day(statement.text, statement.stated_on))
    return whole, [form.removeprefix(lead).strip() for form in whole for lead in _leads(statement)]


def _place_of(statement: CitedStatement, text: str) -> tuple[int, int] | None:
    whole, bodies = _forms(statement)
    patterns = (*(rf"(?<!\w){re.escape(form)}(?!\w)" for form in whole), *map(_as_body, bodies))
    return next((found.span() for pattern in patterns if (found := re.search(pattern, text))), None)


def _as_body(body: str) -> str:
    end = r"(?=\s|$)" if _SENTENCE_END.search(body) else r"(?=[.;!?](?:\s|$)|\n|$)"
    return rf"(?:(?<=: )|(?<=; )|(?<=\w )|(?<=[\n.!?…\"'”’»)] ))(?<!\w){re.escape(body)}{end}"


def _leads(statement: CitedStatement) -> list[str]:
    label = f"{statement.subject}:"
    leads = [label] if statement.subject and statement.text.startswith(f"{label} ") else []
    return leads or [found[0] for found in [_LABEL.match(statement.text)] if found]


def _sentences(text: str, days: Mapping[str, date], leads: Collection[str]) -> Iterator[tuple[int, str, date | None]]:
    """The sentences left in the text, each with its place and the day whose heading it follows."""
    place = 0
    for piece in _BREAK.split(text):
        place = text.find(piece, place)
        words = piece.strip(_JOINTS)
        heading = next((heading for heading in days if words.startswith(heading)), "")
        words = words.removeprefix(heading).strip(_JOINTS)
        if words not in leads and any(character.isalnum() for character in words):
            yield place, words, days.get(heading)
        place += len(piece)


class _Texts:
    """Texts that are parsed once and compared with many sentences."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            for stem in shared_stems(text):
                self._numbers[stem].append(number)

    def most_like(self, sentence: str, count: int) -> list[int]:
        """Return the places of texts with at least `SOURCE_SHARE_MIN` of a sentence, most similar and earliest
        first."""
        stems = shared_stems(sentence)
        counts = Counter(number for stem in stems for number in self._numbers.get(stem, ()))
        like = [number for number, shared in counts.items() if shared >= SOURCE_SHARE_MIN * len(stems)]
        return sorted(like, key=lambda number: (-counts[number], number))[:count]
