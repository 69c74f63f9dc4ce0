"""Reading a model's answer: a JSON list of texts that cite numbered messages (ADR-0072)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)
_TEXT_CHARACTERS_MAX = 4_000


class CitationError(ValueError):
    """An answer that cannot be used: a stable `code`, a `detail` that quotes nothing of it."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class CitedItem:
    """One text of an answer, its kind, and the numbers of the lines it rests on, each once, lowest first."""

    text: str
    kind: str
    numbers: tuple[int, ...]


def parse_cited_items(answer: str, name: str, highest: int) -> list[CitedItem]:
    """The items of the answer's list `name`; every number is one of 1 to `highest`. Raises `CitationError`."""
    return list(_items(_listing(answer, name), highest))


def _listing(answer: str, name: str) -> list[Any]:
    fenced = _FENCE.match(answer)
    try:
        value = json.loads(fenced.group(1) if fenced else answer)
    except (ValueError, RecursionError) as error:
        raise CitationError("not_json", "The model's answer is not JSON.") from error
    listing = value.get(name) if isinstance(value, dict) else None
    if not isinstance(listing, list):
        raise CitationError("bad_shape", "The model's answer has not the form it was asked for.")
    return listing


def _items(listing: list[Any], highest: int) -> Iterator[CitedItem]:
    for item in listing:
        if not isinstance(item, dict) or not isinstance(item.get("text"), str):
            raise CitationError("bad_shape", "The model's answer has not the form it was asked for.")
        text = " ".join(item["text"].split())
        if not text or len(text) > _TEXT_CHARACTERS_MAX or not _is_storable(text):
            raise CitationError("bad_text", "A statement of the model's answer is empty, too long or not text.")
        yield CitedItem(text, str(item.get("kind", "fact"))[:32], _numbers(item.get("messages"), highest))


def _is_storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _numbers(value: Any, highest: int) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise CitationError("no_citation", "A statement of the model's answer cites no message.")
    if not all(type(number) is int and 1 <= number <= highest for number in value):
        raise CitationError("unknown_citation", "A statement of the model's answer cites a message there is not.")
    return tuple(sorted(set(value)))
