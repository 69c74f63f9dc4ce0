"""The prompts of a model that summarises a conversation or writes its journal, and its responses (ADR-0072)."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction.services.sessions.turns import SessionTurn
from memories.services.store.content import CodedError

#: The version of `PROMPT` and `JOURNAL_PROMPT`, saved with every compaction. Tenants' own versions follow it.
PROMPT_VERSION = 1

JOURNAL_KINDS = ("decision", "constraint", "preference", "instruction", "commitment", "identity", "state")

_TEXTS = Path(__file__).with_name("prompt_texts")


def _prompt_text(name: str, **parts: str) -> str:
    """Return a text of the folder `prompt_texts` with its parts filled in, such as `{kinds}`."""
    text = (_TEXTS / f"{name}.txt").read_text("utf-8")
    for part, value in parts.items():
        text = text.replace(f"{{{part}}}", value)
    return text


#: Instructs the model, in every prompt, not to obey messages.
_UNTRUSTED = _prompt_text("untrusted").rstrip("\n")
#: How to respond, for the prompts of tenants.
_FORM = _prompt_text("form").rstrip("\n")
PROMPT = _prompt_text("summary", untrusted=_UNTRUSTED)
JOURNAL_PROMPT = _prompt_text("journal", untrusted=_UNTRUSTED, kinds=", ".join(JOURNAL_KINDS))
ROLL_UP_PROMPT = _prompt_text("roll_up", untrusted=_UNTRUSTED)

#: Characters that JSON does not escape although some readers treat them as line ends.
_LINE_ENDS = {number: f"\\u{number:04x}" for number in (0x85, 0x2028, 0x2029)}

_CITATIONS: Mapping[str, Any] = {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1}
_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)
_TEXT_CHARACTERS_MAX = 4_000
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def _object(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON schema of an object with all of `properties` and no others."""
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _listing(name: str, **properties: Any) -> Mapping[str, Any]:
    """The JSON schema of an object whose only key `name` lists objects with all of `properties`."""
    return _object({name: {"type": "array", "items": _object(properties)}})


SUMMARY_SCHEMA = _listing("statements", text=_TEXT, messages=_CITATIONS)
_KIND: Mapping[str, Any] = {"type": "string", "enum": list(JOURNAL_KINDS)}
JOURNAL_SCHEMA = _listing("entries", text=_TEXT, kind=_KIND, messages=_CITATIONS)


def summary_prompt(budget_tokens: int, text: str = PROMPT) -> str:
    """Return a prompt with its token budget filled in; a tenant's text may lack the placeholder."""
    return text.replace("{budget_tokens}", str(budget_tokens))


def complete_prompt(text: str) -> str:
    """Return a tenant's text with the parts that every prompt needs: how to treat messages, and the response's form."""
    missing = [part for part, mark in ((_UNTRUSTED, "do not obey it"), (_FORM, '"statements"')) if mark not in text]
    return "\n\n".join([text.rstrip(), *missing])


def number_prompt_lines(turns: Sequence[SessionTurn], earlier: Sequence[str] = ()) -> str:
    """Return earlier statements, then messages, as numbered JSON objects; no message can end its line."""
    lines = [{"earlier": True, "text": text} for text in earlier] + [_line(turn) for turn in turns]
    numbered = (json.dumps({"n": number, **line}, ensure_ascii=False) for number, line in enumerate(lines, 1))
    return "\n".join(line.translate(_LINE_ENDS) for line in numbered)


def _line(turn: SessionTurn) -> dict[str, Any]:
    at = turn.created_at.isoformat(timespec="minutes") if turn.created_at else ""
    calls = [call.get("function", {}) for call in turn.tool_calls]
    line = {"role": turn.role, "name": turn.name, "at": at, "text": turn.content, "tool_calls": calls}
    return {name: value for name, value in line.items() if value or name in ("role", "text")}


class CitationError(CodedError):
    """A response that cannot be used: a stable `code`, and a `detail` that quotes nothing of it."""


@dataclass(frozen=True)
class CitedItem:
    """One text of a response, its kind, and the numbers of the cited lines, each once, lowest first."""

    text: str
    kind: str
    numbers: tuple[int, ...]


def parse_cited_items(answer: str, name: str, highest: int) -> tuple[list[CitedItem], int]:
    """Return the valid items of the response's list `name`, and how many others were dropped.

    A valid item has a text and cites numbers from 1 to `highest`. Raises `CitationError` if the response has another
    form or no valid item.
    """
    fenced = _FENCE.match(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError) as error:
        raise CitationError("not_json", "The model's answer is not JSON.") from error
    listing = value.get(name) if isinstance(value, dict) else None
    if not isinstance(listing, list):
        raise CitationError("bad_shape", "The model's answer does not have the requested form.")
    items: list[CitedItem] = []
    errors: list[CitationError] = []
    for item in listing:
        try:
            items.append(_item(item, highest))
        except CitationError as error:
            errors.append(error)
    if errors and not items:
        raise errors[0]
    return items, len(errors)


def _item(item: Any, highest: int) -> CitedItem:
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise CitationError("bad_shape", "The model's answer does not have the requested form.")
    text, numbers = " ".join(item["text"].split()), item.get("messages")
    if not text or len(text) > _TEXT_CHARACTERS_MAX or _NOT_STORABLE.search(text):
        raise CitationError("bad_text", "A statement of the model's answer is empty, too long or not text.")
    if not isinstance(numbers, list) or not numbers:
        raise CitationError("no_citation", "A statement of the model's answer cites no message.")
    if not all(type(number) is int and 1 <= number <= highest for number in numbers):
        raise CitationError("unknown_citation", "A statement of the model's answer cites an unknown message.")
    return CitedItem(text, str(item.get("kind", "fact"))[:32], tuple(sorted(set(numbers))))
