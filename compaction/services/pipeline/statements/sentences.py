"""The sentences of a message, each with its place and whether it is prose, code, a quotation, a list item and so on."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import sentencex

from compaction.services.pipeline.statements.languages import Language, all_words

#: Only this much of a message is read; what follows is a document rather than a statement.
CHARACTERS_READ_MAX = 60_000
#: Maximum characters that the splitter reads at a time.
RUN_CHARACTERS_MAX = 4_000
#: A line of at least this many characters may continue on the next one.
WRAPPED_LINE_CHARACTERS_MIN = 55
#: More words than this between quotation marks are a quoted text rather than a name.
QUOTED_WORDS_MAX = 5
#: A sentence is a quotation if at least this share of it is quoted.
QUOTED_SHARE_MIN = 0.4
_OPENER_CHARACTERS_MAX = 120
_TAIL_CHARACTERS = 60

#: Minimum words of an independent clause before or after a dash or semicolon.
CLAUSE_WORDS_MIN = 4

_CLAUSE_END = re.compile(r"\s[-–—]\s+|;\s+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•–]|\(?(?P<number>\d{1,3}[.)]|[a-hA-H]\.|[a-zA-Z]\)))\s+(?=\S)")
_HEADING = re.compile(r"\s*#{1,6}\s+(?=\S)")
_TABLE = re.compile(r"\s*\|.*\|\s*$")
_QUOTED_LINE = re.compile(r"\s*[>»](?!\S*<)")
#: Calls of tools, indented code, logs, stack traces, JSON and markup.
_CODE_LINE = re.compile(
    r"\[tool[ _]call\]|\t|    (?![-*+•\d])\S|\$ \S|>>> |Traceback \(most|File \"|[\[{][\s\"{\[]*$|\s*[}\]]+,?\s*$"
    r"|\s*\"[\w.-]+\":\s|\{\"|<[/!?a-zA-Z][^>]*>\s*$|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|---|===|@@ |[+-]{3} [ab]/"
    r"|#!/|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b[ :]|import [\w.]+$|from [\w.]+ import |(?:def|class) \w+\("
    r"|return \S*[(;\[{]|(?:const|let|var) \w+ ="
)
_QUOTE_MARKS = {"“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』", '"': '"'}
_QUOTE_MARK = re.compile(r"[“„«»「『\"]")
_TERMINAL = re.compile(r"[.!?…。！？:;][\"'”’»)\]]*\s*$")
_INITIAL_END = re.compile(r"(?:^|[\s(])[A-ZÀ-Þ]\.\s*$")
_ORDINAL_END = re.compile(r"(?<![\w.,:-])\d{1,2}\.\s*$")
_FIRST_WORD = re.compile(r"\w+")
_NUMBER_END = re.compile(r"\d\.\s*$")
_LAST_WORD = re.compile(r"([^\W\d_]+)\.\s*$")
_CJK_END = re.compile(r"(?<=[。！？])(?![」』”）)])")
_SYMBOLS = re.compile(r"^[^\w¿¡\"'“„«「『(\[`$€£¥#@/~+-]+")


class SentenceRole(StrEnum):
    """The text of which a sentence is a part."""

    PROSE = "prose"
    LIST_ITEM = "list_item"
    HEADING = "heading"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"


@dataclass(frozen=True)
class SourceSentence:
    """A run of a message: `text` is its content from `start` to `end` with single spaces.

    Sentences of one `paragraph` are in one block of lines; `number` is that of a numbered list item.
    """

    text: str
    start: int
    end: int
    role: SentenceRole
    paragraph: int
    number: str = ""


@dataclass(frozen=True)
class _Block:
    """Lines of one role that belong together: character ranges of the message."""

    start: int
    end: int
    role: SentenceRole
    paragraph: int
    number: str = ""


def split_sentences(content: str, language: Language) -> list[SourceSentence]:
    """Return the sentences of a message in order; code and tables are one piece for each line."""
    read = content[:CHARACTERS_READ_MAX]
    quoted = _quoted_spans(read)
    return [
        sentence for block in _blocks(read, language) for sentence in _block_sentences(read, block, language, quoted)
    ]


def _block_sentences(
    content: str, block: _Block, language: Language, quoted: Sequence[tuple[int, int]]
) -> Iterator[SourceSentence]:
    if block.role in (SentenceRole.CODE, SentenceRole.TABLE, SentenceRole.HEADING):
        spans: Iterator[tuple[int, int]] = iter([(block.start, block.end)])
    else:
        spans = _sentence_spans(content, block, language)
    for start, end in spans:
        role = block.role
        if role in (SentenceRole.PROSE, SentenceRole.LIST_ITEM) and _is_quoted(start, end, quoted):
            role = SentenceRole.QUOTE
        text = run_text(content, start, end)
        if any(character.isalnum() for character in text):
            yield SourceSentence(text, start, end, role, block.paragraph, block.number)


def run_text(content: str, start: int, end: int) -> str:
    """Return the words of a message from one place to another, without symbols before and dashes behind them.

    Marks of bold text stay in pairs only.
    """
    run = " ".join(content[start:end].split()).rstrip(" -–—;")
    text = _SYMBOLS.sub("", run)
    is_paired = text.count("**") == run.count("**") and text.count("**") % 2 == 0
    return text if is_paired else text.replace("**", "")


def _sentence_spans(content: str, block: _Block, language: Language) -> Iterator[tuple[int, int]]:
    text = content[block.start : block.end].replace("\n", " ")
    start = place = 0
    parts = (part for run in _split_runs(text) for part in sentencex.segment(language.name or "en", run))
    pieces = [part for piece in parts for part in _CJK_END.split(piece) if part]
    for index, piece in enumerate(pieces):
        place = text.index(piece, place) + len(piece)
        following = pieces[index + 1] if index + 1 < len(pieces) else ""
        tail = text[max(start, place - _TAIL_CHARACTERS) : place]
        is_cut = len(text) > RUN_CHARACTERS_MAX and not _TERMINAL.search(tail)
        if following and (is_cut or _continues(tail, following, language)):
            continue
        for end in (*_clause_ends(text, start, place, language.words("clause_starts")), place):
            yield block.start + start, block.start + end
            start = end


def _split_runs(text: str) -> Iterator[str]:
    """Return the text in runs for the splitter, whose time grows with the square of unclosed quotation marks."""
    start = 0
    while len(text) - start > RUN_CHARACTERS_MAX:
        space = text.rfind(" ", start, start + RUN_CHARACTERS_MAX)
        end = space + 1 if space > start else start + RUN_CHARACTERS_MAX
        yield text[start:end]
        start = end
    yield text[start:]


def _clause_ends(text: str, start: int, end: int, subjects: Collection[str]) -> Iterator[int]:
    """Return the places of dashes and semicolons before a clause of some length with its own subject."""
    marks = list(_CLAUSE_END.finditer(text, start, end))
    before = start
    for number, mark in enumerate(marks):
        following = marks[number + 1].start() if number + 1 < len(marks) else end
        clauses = (text[before : mark.start()], text[mark.end() : following])
        first = clauses[1].split(None, 1)[:1]
        if not first or first[0].lower().replace("’", "'") not in subjects or _opens_quotation(clauses[0]):
            continue
        if all(len(clause.split()) >= CLAUSE_WORDS_MIN for clause in clauses):
            yield mark.end()
            before = mark.end()


def _opens_quotation(text: str) -> bool:
    return text.count('"') % 2 == 1 or text.count("(") > text.count(")")


def _continues(tail: str, after: str, language: Language) -> bool:
    """Whether the splitter took the point of an abbreviation, initial or ordinal number for the end of a sentence."""
    if word := _LAST_WORD.search(tail):
        known = language.words("abbreviations") or all_words("abbreviations")
        return word[1].lower() in known or _INITIAL_END.search(tail) is not None
    if not _NUMBER_END.search(tail):
        return False
    following = _FIRST_WORD.match(after)
    first = following[0] if following else ""
    if first.islower() or first.lower() in language.words("days"):
        return True
    return (
        _ORDINAL_END.search(tail) is not None
        and language.given.get("has_ordinals", False)
        and first.lower() not in language.words("stop_words")
    )


def _blocks(content: str, language: Language) -> Iterator[_Block]:
    """Lines joined into blocks: a blank line, a list mark, or a short or ended line ends a block of prose."""
    reader = _LineReader(language)
    pending: _Block | None = None
    paragraph = place = 0
    for line in content.splitlines(keepends=True):
        start, place = place, place + len(line)
        if not line.strip():
            paragraph += 1
            if pending:
                yield pending
            pending = None
            continue
        role, mark, number = reader.read(line)
        block = _Block(start + mark, start + len(line.rstrip()), role, paragraph, number)
        if pending and not mark and _joins(content, pending, line, role):
            pending = replace(pending, end=block.end)
            continue
        if pending:
            yield pending
        pending = block
    if pending:
        yield pending


def _joins(content: str, before: _Block, line: str, role: SentenceRole) -> bool:
    """Whether a line continues the block before it: a wrapped sentence, or a list item's next line."""
    if role != before.role and before.role != SentenceRole.LIST_ITEM:
        return False
    if role not in (SentenceRole.PROSE, SentenceRole.QUOTE):
        return False
    last = content[max(content.rfind("\n", before.start, before.end) + 1, before.start) : before.end]
    if before.role == SentenceRole.LIST_ITEM:
        return line[:2].isspace()
    return len(last) >= WRAPPED_LINE_CHARACTERS_MIN or (not _TERMINAL.search(last) and line.lstrip()[:1].islower())


class _LineReader:
    """Determines the role of each line: fences, pasted text and announced quotations extend over several lines."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._is_in_fence = self._is_pasted = self._awaits_quote = False

    def read(self, line: str) -> tuple[SentenceRole, int, str]:
        """Return the role, the characters of the mark before the text, and the number of a list item."""
        if _FENCE.match(line):
            self._is_in_fence = not self._is_in_fence
            return SentenceRole.CODE, 0, ""
        if self._is_in_fence or _CODE_LINE.match(line):
            return SentenceRole.CODE, 0, ""
        if marks := _QUOTED_LINE.match(line):
            self._awaits_quote = False
            return SentenceRole.QUOTE, marks.end(), ""
        announced, self._awaits_quote = self._awaits_quote, False
        if (announced and not _QUOTE_MARK.match(line.lstrip())) or self._is_header(line):
            self._is_pasted = True
        if self._is_pasted:
            return SentenceRole.QUOTE, 0, ""
        self._awaits_quote = self._announces_quote(line)
        if _TABLE.match(line):
            return SentenceRole.TABLE, 0, ""
        if heading := _HEADING.match(line):
            return SentenceRole.HEADING, heading.end(), ""
        if item := _LIST_ITEM.match(line):
            return SentenceRole.LIST_ITEM, item.end(), (item["number"] or "").rstrip(".)").lower()
        return SentenceRole.PROSE, 0, ""

    def _is_header(self, line: str) -> bool:
        name, colon, rest = line.partition(":")
        return bool(colon and rest.strip()) and name.strip(" -*_").lower() in self._language.words("quote_headers")

    def _announces_quote(self, line: str) -> bool:
        opener = self._language.pattern("quote_openers")
        ended = line.rstrip()
        if opener is None or not ended.endswith(":"):
            return False
        tail = ended[-_OPENER_CHARACTERS_MAX:-1].lower()
        return any(found.end() == len(tail) for found in opener.finditer(tail))


def _quoted_spans(content: str) -> list[tuple[int, int]]:
    """The texts of more than `QUOTED_WORDS_MAX` words between quotation marks of one paragraph."""
    spans: list[tuple[int, int]] = []
    next_places: dict[str, int] = {}
    place = 0
    while opening := _QUOTE_MARK.search(content, place):
        start = opening.end()
        before = content[start - 2 : start - 1]
        limit = _next_place(content, "\n\n", start, next_places)
        end = min(_next_place(content, mark, start, next_places) for mark in _QUOTE_MARKS[opening[0]])
        place = start
        if end >= limit or (before.isalnum() and opening[0] == '"'):
            continue
        place = end + 1
        has_cjk_sentence = any(mark in content[start:end] for mark in "。！？")
        if len(content[start:end].split()) > QUOTED_WORDS_MAX or has_cjk_sentence:
            spans.append((start, end))
    return spans


def _next_place(content: str, mark: str, start: int, known: dict[str, int]) -> int:
    """The first place of a mark from `start`, the end of the text for none; `known` saves searching it twice."""
    if known.get(mark, -1) < start:
        found = content.find(mark, start)
        known[mark] = found if found >= 0 else len(content)
    return known[mark]


def _is_quoted(start: int, end: int, quoted: Sequence[tuple[int, int]]) -> bool:
    first = max(bisect_right(quoted, (start, end)) - 1, 0)
    inside = 0
    for quote_start, quote_end in quoted[first:]:
        if quote_start >= end:
            break
        inside += max(min(end, quote_end) - max(start, quote_start), 0)
    return inside > 0 and inside >= (end - start) * QUOTED_SHARE_MIN
