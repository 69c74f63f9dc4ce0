"""Pages show hidden characters of stored texts (ADR-0112)."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.html import format_html

from memories.services.store.hidden_characters import HIDDEN, code_point, has_hidden

MARKS_MAX = 8

_RUN = re.compile(rf"{HIDDEN}+")
#: Elements whose content is not text of the page, tags, and text.
_PIECES = re.compile(r"<(script|style|textarea|title|option)\b.*?</\1\s*>|<[^>]*>|[^<]+", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<=\s)([^\s"'<>/=]+)=("[^"]*"|'[^']*')""")
#: Attributes that browsers show or read aloud; `data-label` is the column's name in a narrow table.
_SHOWN_ATTRIBUTES = {"title", "aria-label", "aria-description", "alt", "placeholder", "label", "data-label"}
#: Types of `<input>` that show their value as text.
_TEXT_TYPES = {"text", "search", "url", "email", "tel"}


class HiddenTextMiddleware:
    """Shows hidden characters in every HTML response, so that no page needs code for it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(response, HttpResponse) and response.headers.get("Content-Type", "").startswith("text/html"):
            page = response.text
            if has_hidden(page):
                response.content = mark_hidden(page)
        return response


def mark_hidden(page: str) -> str:
    """Return an HTML page that shows the hidden characters of its text, its attributes and its form fields.

    Each run of them in text becomes a mark; in attributes and the title, where no element can be, its code points. The
    value of a form field stays as it is, because it is stored again: a note after the field lists its characters.
    """
    return _PIECES.sub(_shown, page)


def _shown(piece: re.Match[str]) -> str:
    text, element = piece[0], (piece[1] or "").lower()
    if not has_hidden(text):
        return text
    if not text.startswith("<"):
        return _RUN.sub(_mark, text)
    tag, end, rest = text.partition(">")
    attributes = {match[1].lower(): match[2][1:-1] for match in _ATTRIBUTE.finditer(tag)}
    tag = _ATTRIBUTE.sub(_shown_attribute, tag)
    content, closing = rest[: rest.rfind("</")], rest[rest.rfind("</") :]
    if element == "title":
        return tag + end + _RUN.sub(_written, content) + closing
    if element == "option":
        return tag + _option_label(attributes, content) + end + rest
    if element == "textarea":
        return _with_note(tag, end + rest, attributes, content)
    if tag[:6].lower() == "<input" and attributes.get("type", "text").lower() in _TEXT_TYPES:
        return _with_note(tag, end + rest, attributes, attributes.get("value", ""))
    return tag + end + rest


def _shown_attribute(attribute: re.Match[str]) -> str:
    return _RUN.sub(_written, attribute[0]) if attribute[1].lower() in _SHOWN_ATTRIBUTES else attribute[0]


def _option_label(attributes: Mapping[str, str], content: str) -> str:
    """Return the attribute that browsers show instead of, or next to, the text or value that the form sends."""
    text = content.strip() or attributes.get("value", "")
    return "" if "label" in attributes or not has_hidden(text) else f' label="{_RUN.sub(_written, text)}"'


def _with_note(tag: str, rest: str, attributes: Mapping[str, str], value: str) -> str:
    """Return a form field, followed by a note that describes it if its value has hidden characters."""
    counts = Counter(character for run in _RUN.findall(value) for character in run)
    if not counts:
        return tag + rest
    note_id = f"{attributes.get('id') or attributes.get('name', 'field')}-hidden"
    if "aria-describedby" in attributes:
        tag = re.sub(r"""(?<=\saria-describedby=["'])""", f"{note_id} ", tag)
    else:
        tag = f'{tag.removesuffix("/").rstrip()} aria-describedby="{note_id}"'
    note = format_html('<span class="form-hint" id="{}">{}</span>', note_id, _listed(counts))
    return tag + rest + note


def _listed(counts: Counter[str]) -> str:
    """Return a sentence with the code point, name and number of the most frequent hidden characters."""
    total = counts.total()
    listed = [
        f"{code_point(character)} {_name(character)}" + (f" \u00d7 {count:,}" if count > 1 else "")
        for character, count in counts.most_common(MARKS_MAX)
    ]
    if len(counts) > MARKS_MAX:
        listed.append(f"{len(counts) - MARKS_MAX:,} others")
    return f"{total:,} hidden character{'' if total == 1 else 's'}: {', '.join(listed)}."


def _name(character: str) -> str:
    return unicodedata.name(character, "control character").lower()


def _points(characters: str) -> str:
    shown = " ".join(map(code_point, characters[:MARKS_MAX]))
    return shown + (f" +{len(characters) - MARKS_MAX:,}" if len(characters) > MARKS_MAX else "")


def _written(run: re.Match[str]) -> str:
    return f"[{_points(run[0])}]"


def _mark(run: re.Match[str]) -> str:
    characters = run[0]
    title = f"Hidden: {_name(characters)}" if len(characters) == 1 else f"{len(characters):,} hidden characters"
    return format_html('<span class="hidden-mark" title="{}">{}</span>', title, _points(characters))
