"""Pages show hidden characters of stored texts as marks (ADR-0112)."""

import re
import unicodedata
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.html import format_html

from memories.services.store.hidden_characters import HIDDEN, code_point, has_hidden

MARKS_MAX = 8

_RUN = re.compile(rf"{HIDDEN}+")
#: Elements whose content is not text of the page, tags, and text. A form field keeps the text to be stored.
_PIECES = re.compile(r"<(script|style|textarea|title)\b.*?</\1\s*>|<[^>]*>|[^<]+", re.DOTALL | re.IGNORECASE)


class HiddenTextMiddleware:
    """Marks hidden characters in the text of every HTML response, so that no page needs code for it."""

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
    """Return an HTML page with a mark for each run of hidden characters in its text."""
    return _PIECES.sub(lambda piece: piece[0] if piece[0].startswith("<") else _RUN.sub(_mark, piece[0]), page)


def _mark(run: re.Match[str]) -> str:
    characters = run[0]
    shown = " ".join(map(code_point, characters[:MARKS_MAX]))
    if len(characters) > MARKS_MAX:
        shown += f" +{len(characters) - MARKS_MAX:,}"
    name = unicodedata.name(characters[0], "control character").lower()
    title = f"Hidden: {name}" if len(characters) == 1 else f"{len(characters):,} hidden characters"
    return format_html('<span class="hidden-mark" title="{}">{}</span>', title, shown)
