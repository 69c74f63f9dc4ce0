"""Parse rendered contexts and transcripts, so that tests can compare the result with the input."""

import json
import re

from compaction.services.sessions.transcript import ChatMessage
from context.services.rendering import (
    _CONFUSING,
    _MARKER,
    _XML_ENTITIES,
    DATED_KINDS,
    DEFAULT_STYLE,
    LINE_BREAK,
    MARKERS,
    NONCE_DIGITS,
    RENDER_STYLES,
    _frame,
)

_CALLS = "[calls]\n"
_SHOWN = re.compile(r"(\\*)(\[U\+([0-9A-F]{4,6})\])")

_KINDS = {marker: kind for kind, marker in MARKERS.items()}
_ESCAPED_LOOKALIKE = re.compile(rf"(?<={LINE_BREAK})\\(\\*{_CONFUSING})")
_ITEM_START = re.compile(rf"(?:\A|\n)({_MARKER})")
_XML_CHARACTERS = {entity: character for character, entity in _XML_ENTITIES.items()}
_XML_ESCAPE = re.compile(r'&(?:amp|lt|gt|#13);|<char code="(\d{1,6})"/>')
_XML_ITEM = re.compile(rf"\n<({'|'.join(MARKERS)})(?: day=\"([-\d]{{10}})\")?>(.*?)</\1>", re.DOTALL)
_DAY = re.compile(r"(\d{4}-\d\d-\d\d): ")

_ESCAPED = re.compile(rf"((?:\A|(?<={LINE_BREAK})))\\(\\*\[(?:system|user|assistant|tool|calls)\b)")
_MESSAGE_MARKER = re.compile(r'(?:\A|\n\n)\[(system|user|assistant|tool)((?: (?:name|call)="(?:[^"\\]|\\.)*")*)\]\n')
_LABEL = re.compile(r'(name|call)=("(?:[^"\\]|\\.)*")')


def parse_context(text: str, style: str = DEFAULT_STYLE) -> list[tuple[str, str]]:
    """Return the (kind, text) pairs of a rendered context without days, exactly as they were rendered.

    Raises `ValueError` for anything that `render_context` could not have written.
    """
    return [(kind, text) for kind, text, _ in parse_dated_context(text, style, has_days=False)]


def parse_dated_context(text: str, style: str = DEFAULT_STYLE, *, has_days: bool = True) -> list[tuple[str, str, str]]:
    """Return the (kind, text, day) triples of a rendered context; with days, each memory and nothing else has one."""
    if style not in RENDER_STYLES:
        raise ValueError(f"unknown style {style!r}; known: {', '.join(RENDER_STYLES)}")
    if not text:
        return []
    nonce = re.search(rf"\d{{{NONCE_DIGITS}}}", text)
    if nonce is None:
        raise ValueError("no fence")
    frame = _frame(style, nonce.group())
    is_whole = text.startswith(frame.head) and text.endswith(frame.tail) and text.count(nonce.group()) == 2
    if not is_whole:
        raise ValueError("the fence is not whole")
    items = _PARSERS[style](text[len(frame.head) : len(text) - len(frame.tail)])
    if style == "markdown" and has_days:
        items = [_with_day(kind, content) for kind, content, _ in items]
    if not items or f"{frame.head}{frame.joint.join(frame.write(*item) for item in items)}{frame.tail}" != text:
        raise ValueError(f"not a context in the {style} style")
    if any(bool(day) is not (has_days and kind in DATED_KINDS) for kind, _, day in items):
        raise ValueError("a day is missing or unexpected")
    return items


def without_marks(text: str) -> str:
    """Return the text whose hidden characters `show_hidden` made visible."""

    def unmarked(match: re.Match[str]) -> str:
        count = len(match[1])
        return "\\" * (count // 2) + (match[2] if count % 2 else chr(int(match[3], 16)))

    return _SHOWN.sub(unmarked, text)


def _with_day(kind: str, text: str) -> tuple[str, str, str]:
    """A day is expected only where one is written, because other texts may begin like one."""
    found = _DAY.match(text) if kind in DATED_KINDS else None
    return (kind, text[found.end() :], found[1]) if found else (kind, text, "")


def _parse_markdown(body: str) -> list[tuple[str, str, str]]:
    starts = list(_ITEM_START.finditer(body))
    ends = [*(start.start() for start in starts[1:]), len(body)][: len(starts)]
    return [
        (_KINDS[start.group(1)], without_marks(_ESCAPED_LOOKALIKE.sub(r"\1", body[start.end() : end])), "")
        for start, end in zip(starts, ends, strict=True)
    ]


def _parse_xml(body: str) -> list[tuple[str, str, str]]:
    return [(kind, _XML_ESCAPE.sub(_unescape_xml, text), day) for kind, day, text in _XML_ITEM.findall(f"\n{body}")]


def _unescape_xml(match: re.Match[str]) -> str:
    return chr(int(match.group(1))) if match.group(1) else _XML_CHARACTERS[match.group()]


def _parse_json(body: str) -> list[tuple[str, str, str]]:
    try:
        items = [(row["kind"], row["text"], row.get("day", "")) for row in json.loads(f"[{body}]")]
    except (TypeError, KeyError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError("not a context in the json style") from error
    return [item for item in items if all(isinstance(part, str) for part in item) and item[0] in MARKERS]


_PARSERS = {"markdown": _parse_markdown, "xml": _parse_xml, "json": _parse_json}


def parse_transcript(text: str) -> list[ChatMessage]:
    """Return the messages of a transcript, exactly as they were rendered.

    Raises `ValueError` for any other text.
    """
    if not text:
        return []
    marks = list(_MESSAGE_MARKER.finditer(text))
    if not marks or marks[0].start():
        raise ValueError("a transcript begins with a marker")
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [_parsed(mark, text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def _parsed(mark: re.Match[str], body: str) -> ChatMessage:
    labels = {label: json.loads(value) for label, value in _LABEL.findall(mark[2])}
    content, calls = body, ""
    if body.startswith(_CALLS):
        content, calls = "", body.removeprefix(_CALLS)
    elif f"\n{_CALLS}" in body:
        content, _, calls = body.partition(f"\n{_CALLS}")
    return ChatMessage(
        role=mark[1],
        content=without_marks(_ESCAPED.sub(r"\1\2", content)),
        name=labels.get("name", ""),
        tool_calls=tuple(json.loads(without_marks(_ESCAPED.sub(r"\1\2", calls)))) if calls else (),
        tool_call_id=labels.get("call", ""),
    )
