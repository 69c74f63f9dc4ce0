"""Read a model's answer: a JSON list of texts that cite numbered messages (ADR-0072)."""

import json
import re
from dataclasses import dataclass
from typing import Any

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)
_TEXT_CHARACTERS_MAX = 4_000
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


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
    """Return the items of the answer's list `name`; every number is one of 1 to `highest`. Raises `CitationError`."""
    fenced = _FENCE.match(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError) as error:
        raise CitationError("not_json", "The model's answer is not JSON.") from error
    listing = value.get(name) if isinstance(value, dict) else None
    if not isinstance(listing, list) or not all(
        isinstance(item, dict) and isinstance(item.get("text"), str) for item in listing
    ):
        raise CitationError("bad_shape", "The model's answer does not have the requested form.")
    return [_item(item, highest) for item in listing]


def _item(item: dict[str, Any], highest: int) -> CitedItem:
    text, numbers = " ".join(item["text"].split()), item.get("messages")
    if not text or len(text) > _TEXT_CHARACTERS_MAX or _NOT_STORABLE.search(text):
        raise CitationError("bad_text", "A statement of the model's answer is empty, too long or not text.")
    if not isinstance(numbers, list) or not numbers:
        raise CitationError("no_citation", "A statement of the model's answer cites no message.")
    if not all(type(number) is int and 1 <= number <= highest for number in numbers):
        raise CitationError("unknown_citation", "A statement of the model's answer cites an unknown message.")
    return CitedItem(text, str(item.get("kind", "fact"))[:32], tuple(sorted(set(numbers))))
